#pragma once
// Tables as spreadsheets put them on the clipboard: tabs between the cells, quotes around cells
// with tabs, quotes or line breaks.
//
// Threads: any.
#include <QString>
#include <QStringList>
#include <vector>

#include "app/gui/models/sheet/sheet_text.h"

namespace millrace::gui {

/// Rows of cells; empty lines at the end are left out. At most 10,000 rows.
std::vector<QStringList> parseTsv(const QString& text);
QString toTsv(const std::vector<QStringList>& rows);

/// The one edit that makes `after` of `before`; none where they are the same.
TextEdits wholeEdit(const QString& before, const QString& after);

}  // namespace millrace::gui
