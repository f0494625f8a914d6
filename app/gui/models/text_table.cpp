#include "app/gui/models/text_table.h"

#include <algorithm>
#include <functional>

namespace millrace::gui {
namespace {

QString lined(const TextTable& table, const QString& between,
              const std::function<QString(QString)>& cellOf) {
    QString text;
    const auto add = [&](const QStringList& cells) {
        QStringList line;
        std::ranges::transform(cells, std::back_inserter(line), cellOf);
        text += line.join(between) + '\n';
    };
    add(table.header);
    std::ranges::for_each(table.rows, add);
    return text;
}

}  // namespace

QString asTsv(const TextTable& table) {
    return lined(table, QStringLiteral("\t"), [](QString cell) {
        return cell.replace('\t', ' ').replace('\n', ' ').remove('\r');
    });
}

QString asCsv(const TextTable& table) {
    return lined(table, QStringLiteral(","), [](QString cell) {
        const bool isPlain = std::ranges::none_of(
            cell, [](QChar c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; });
        return isPlain ? cell : '"' + cell.replace('"', QStringLiteral("\"\"")) + '"';
    });
}

QString asMarkdown(const TextTable& table) {
    TextTable ruled = table;
    QStringList rule;
    std::ranges::for_each(table.header, [&](const QString&) { rule.append("---"); });
    ruled.rows.insert(ruled.rows.begin(), rule);
    const QString inner = lined(ruled, QStringLiteral(" | "), [](QString cell) {
        return cell.replace('\\', QStringLiteral("\\\\"))
            .replace('|', QStringLiteral("\\|"))
            .replace('\n', QStringLiteral("<br>"))
            .remove('\r');
    });
    QString text;
    for (const QString& line : inner.chopped(1).split('\n')) {
        text += "| " + line + " |\n";
    }
    return text;
}

}  // namespace millrace::gui
