#pragma once
// TextTable: a table for export from the console: cells as full texts.
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

/// For pasting into spreadsheets: tabs between cells; tabs in cells become blanks.
QString asTsv(const TextTable& table);
/// RFC 4180, with line feeds between rows.
QString asCsv(const TextTable& table);
/// A table of GitHub Flavored Markdown.
QString asMarkdown(const TextTable& table);

}  // namespace millrace::gui
