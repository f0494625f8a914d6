#pragma once
// A table that leaves the console: cells as whole texts.
//
// Threads: any.
#include <QString>
#include <QStringList>
#include <vector>

namespace millrace::gui {

struct TextTable {
    QStringList header;
    std::vector<QStringList> rows;  ///< each as long as the header
};

/// For spreadsheets by the clipboard: tabs between cells, blanks for those within.
QString asTsv(const TextTable& table);
/// RFC 4180, with line feeds between rows.
QString asCsv(const TextTable& table);
/// A table of GitHub Flavored Markdown.
QString asMarkdown(const TextTable& table);

}  // namespace millrace::gui
