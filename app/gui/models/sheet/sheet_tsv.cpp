#include "app/gui/models/sheet/sheet_tsv.h"

#include <algorithm>

namespace millrace::gui {
namespace {

constexpr std::size_t kRowsMax = 10'000;

}  // namespace

std::vector<QStringList> parseTsv(const QString& text) {
    std::vector<QStringList> rows;
    QStringList row;
    QString cell;
    bool isQuoted = false;
    const auto endRow = [&] {
        row << cell;
        cell.clear();
        rows.push_back(std::move(row));
        row.clear();
    };
    for (qsizetype i = 0; i < text.size() && rows.size() < kRowsMax; ++i) {
        const QChar c = text[i];
        if (isQuoted && c == u'"') {
            const bool isDoubled = i + 1 < text.size() && text[i + 1] == u'"';
            cell += isDoubled ? QStringLiteral("\"") : QString();
            i += isDoubled ? 1 : 0;
            isQuoted = isDoubled;
        } else if (isQuoted) {
            cell += c;
        } else if (c == u'"' && cell.isEmpty()) {
            isQuoted = text.indexOf(u'"', i + 1) >= 0;
            cell += isQuoted ? QString() : QString(c);
        } else if (c == u'\t') {
            row << cell;
            cell.clear();
        } else if (c == u'\n') {
            endRow();
        } else if (c != u'\r') {
            cell += c;
        }
    }
    if (!cell.isEmpty() || !row.isEmpty()) {
        endRow();
    }
    const auto isEmpty = [](const QStringList& r) { return r.join(QString()).trimmed().isEmpty(); };
    while (!rows.empty() && isEmpty(rows.back())) {
        rows.pop_back();
    }
    return rows;
}

QString toTsv(const std::vector<QStringList>& rows) {
    QStringList lines;
    for (const QStringList& row : rows) {
        QStringList cells;
        for (QString cell : row) {
            const bool isSpecial =
                cell.contains(u'\t') || cell.contains(u'\n') || cell.startsWith(u'"');
            cells << (isSpecial ? u'"' + cell.replace(u'"', QStringLiteral("\"\"")) + u'"' : cell);
        }
        lines << cells.join(u'\t');
    }
    return lines.join(u'\n') + u'\n';
}

TextEdits wholeEdit(const QString& before, const QString& after) {
    if (before == after) {
        return {};
    }
    const auto most = std::min(before.size(), after.size());
    qsizetype head = 0, tail = 0;
    while (head < most && before[head] == after[head]) {
        ++head;
    }
    while (tail < most - head &&
           before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
        ++tail;
    }
    return {{static_cast<int>(head), static_cast<int>(before.size() - tail),
             after.mid(head, after.size() - head - tail)}};
}

}  // namespace millrace::gui
