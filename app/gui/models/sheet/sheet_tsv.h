#pragma once
// Parses tables from the clipboard in the format of spreadsheets: tabs between the cells, quotes
// around cells with tabs, quotes or line breaks.
//
// Threads: any.
#include <QString>
#include <QStringList>
#include <vector>

#include "app/gui/models/sheet/sheet_text.h"

namespace millrace::gui {

/// Rows of cells, without empty lines at the end. At most 10,000 rows.
std::vector<QStringList> parseTsv(const QString& text);
QString toTsv(const std::vector<QStringList>& rows);

/// The one edit that turns `before` into `after`; none if they are equal.
TextEdits wholeEdit(const QString& before, const QString& after);

}  // namespace millrace::gui
