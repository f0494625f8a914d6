// Edits of the sheet: cells, rows, columns and the clipboard, all as edits of the spec's text.
#include <algorithm>
#include <map>

#include "app/gui/models/sheet/sheet_model.h"
#include "app/gui/models/sheet/sheet_tsv.h"
#include "app/gui/models/spec/spec_local_check.h"

namespace millrace::gui {

bool SheetModel::edit(const TextEdits& edits, const QString& what) {
    if (!why().isEmpty()) {
        Q_EMIT refused(why());
        return false;
    }
    if (edits.empty()) {
        return false;
    }
    Q_EMIT textEdits(edits, what);
    return true;
}

TextEdits SheetModel::cellEdit(const QModelIndex& index, const QString& value) const {
    const SheetEditor editor(syntax_, sheet_);
    if (index.column() == kNameColumn) {
        return isBase(index.row()) ? TextEdits{} : editor.rename(index.row() - 1, value);
    }
    const QString key = keyOf(index.column());
    return isBase(index.row()) ? editor.setBase(key, value)
                               : editor.setCell(index.row() - 1, key, value);
}

bool SheetModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (!index.isValid()) {
        return false;
    }
    if (role == Qt::CheckStateRole && index.column() == kNameColumn) {
        setTicked(index.row(), value.toInt() == Qt::Checked);
        return true;
    }
    if (role != Qt::EditRole || (flags(index) & Qt::ItemIsEditable) == 0) {
        return false;
    }
    const QString text = value.toString().trimmed();
    if (text == data(index, Qt::EditRole).toString()) {
        return false;
    }
    if (index.column() != kNameColumn) {
        return edit(cellEdit(index, text), tr("Change of %1").arg(keyOf(index.column())));
    }
    const QString problem = nameProblem(index.row(), text);
    if (!problem.isEmpty()) {
        Q_EMIT refused(problem);
        return false;
    }
    if (ticked_.remove(nameOf(index.row()))) {  // ticks are kept by name
        ticked_.insert(text);
    }
    return edit(cellEdit(index, text), tr("Rename"));
}

QString SheetModel::nameProblem(int row, const QString& name) const {
    if (name.isEmpty()) {
        return tr("A variation needs a name.");
    }
    for (int other = 1; other < rowCount(); ++other) {
        if (other != row && nameOf(other) == name) {
            return tr("There is a variation '%1' already.").arg(name);
        }
    }
    return {};
}

QString SheetModel::problemWith(const QModelIndex& index, const QString& value) const {
    if (index.column() == kNameColumn) {
        return nameProblem(index.row(), value.trimmed());
    }
    const TextEdits edits = cellEdit(index, value);
    if (edits.empty()) {
        return {};
    }
    values::SpecSource source;
    source.text = applyEdits(syntax_.text(), edits).toStdString();
    SheetModel after;  // what the reader finds in the text as it would be
    after.setText(QString::fromStdString(source.text));
    after.setErrors(checkOneLocally(source, nameOf(index.row()).toStdString()).errors);
    const QString error = after.errorOf(index.row(), keyOf(index.column()));
    return error.isEmpty() ? after.errorOf(index.row(), {}) : error;
}

void SheetModel::addRow(const QString& name) {
    const QString free = freeName(name, names());
    edit(SheetEditor(syntax_, sheet_).append({{free, {}}}), tr("New variation"));
}

void SheetModel::duplicateRow(int row) {
    if (isBase(row)) {
        addRow();
        return;
    }
    const QString name = freeName(nameOf(row), names());
    edit(SheetEditor(syntax_, sheet_).duplicate(row - 1, name), tr("Duplicate"));
}

void SheetModel::removeRows(const std::vector<int>& rows) {
    std::vector<int> variations;
    for (const int row : rows) {
        if (!isBase(row)) {
            variations.push_back(row - 1);
        }
    }
    if (variations.empty() && !rows.empty()) {
        Q_EMIT refused(tr("The base is the spec itself; untick it to leave it out."));
        return;
    }
    edit(SheetEditor(syntax_, sheet_).remove(variations), tr("Remove"));
}

bool SheetModel::addColumn(const QString& key) {
    const QString path = key.trimmed();
    if (changeMeaning(path, steps_).role == Meaning::Role::kUnknown) {
        Q_EMIT refused(tr("'%1' is not a key that a variation can set.").arg(path));
        return false;
    }
    if (!columns_.contains(path)) {
        ownColumns_ << path;
        const int at = columnCount();
        beginInsertColumns({}, at, at);
        columns_ << path;
        endInsertColumns();
    }
    return true;
}

void SheetModel::removeColumnOfKey(const QString& key) {
    const bool wasOwn = ownColumns_.removeAll(key) > 0;
    const TextEdits edits = SheetEditor(syntax_, sheet_).removeColumn(key);
    if (!edit(edits, tr("Remove %1").arg(key)) && wasOwn) {  // no cell had it: the text stays
        setText(syntax_.text());
        placeErrors();
    }
}

void SheetModel::clearCells(const QModelIndexList& cells) {
    std::map<int, TextEdit> byPlace;  // ascending, as a set of edits must be
    const SheetEditor editor(syntax_, sheet_);
    for (const QModelIndex& cell : cells) {
        if (cell.column() < kFirstKey || isBase(cell.row())) {
            continue;
        }
        for (TextEdit& made : editor.setCell(cell.row() - 1, keyOf(cell.column()), {})) {
            byPlace.emplace(made.begin, std::move(made));
        }
    }
    TextEdits edits;
    for (auto& [place, made] : byPlace) {
        if (edits.empty() || edits.back().end <= made.begin) {  // and without overlaps
            edits.push_back(std::move(made));
        }
    }
    edit(edits, tr("Clear"));
}

bool SheetModel::paste(const QModelIndex& current, const QString& tsv) {
    std::vector<QStringList> rows = parseTsv(tsv);
    if (rows.empty()) {
        Q_EMIT refused(tr("The clipboard holds no table."));
        return false;
    }
    const QStringList& head = rows.front();
    const auto isKey = [&](const QString& text) {
        return changeMeaning(text.trimmed(), steps_).role != Meaning::Role::kUnknown;
    };
    const QString first = head.front().trimmed().toLower();
    const bool isNamed = first == QStringLiteral("name") || first == QStringLiteral("variation");
    const bool areKeys = head.size() > 1 && std::all_of(head.begin() + 1, head.end(), isKey);
    if (rows.size() > 1 && areKeys && (isNamed || first.isEmpty())) {
        return pasteWithHeader(rows);
    }
    return pasteCells(current, rows);
}

bool SheetModel::pasteWithHeader(const std::vector<QStringList>& rows) {
    const QStringList& head = rows.front();
    // Each row is applied to the text that the previous one left.
    QString text = syntax_.text();
    for (std::size_t r = 1; r < rows.size(); ++r) {
        const QString name = rows[r].value(0).trimmed();
        if (name == QLatin1String("base") || (name.isEmpty() && rows[r].size() < 2)) {
            continue;
        }
        for (qsizetype c = 1; c < std::min(head.size(), rows[r].size()); ++c) {
            const SpecSyntax syntax(text);
            const Sheet sheet = readSheet(syntax);
            const SheetEditor editor(syntax, sheet);
            int at = -1;
            for (std::size_t i = 0; i < sheet.rows.size(); ++i) {
                at = sheet.rows[i].name == name ? static_cast<int>(i) : at;
            }
            const QString key = head[c].trimmed(), value = rows[r][c];
            text = applyEdits(text, at >= 0 ? editor.setCell(at, key, value)
                                            : editor.append({{name, {{key, value}}}}));
        }
    }
    return edit(wholeEdit(syntax_.text(), text), tr("Paste"));  // one step of undo
}

bool SheetModel::pasteCells(const QModelIndex& current, const std::vector<QStringList>& rows) {
    QString text = syntax_.text();
    const int top = current.isValid() ? current.row() : rowCount();
    const int left = current.isValid() ? current.column() : int(kNameColumn);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const int row = top + static_cast<int>(r);
        for (int c = 0; c < rows[r].size(); ++c) {
            // Computed columns cannot be edited: cells continue after them.
            int column = left + c;
            column += left == kNameColumn && column >= kCheckColumn ? kFirstKey - kCheckColumn : 0;
            const QString key = keyOf(column);
            const SpecSyntax syntax(text);
            const Sheet sheet = readSheet(syntax);
            const SheetEditor editor(syntax, sheet);
            const int at = std::min(row - 1, static_cast<int>(sheet.rows.size()));
            const bool isNew = at == static_cast<int>(sheet.rows.size());
            QStringList taken;
            for (const SheetRow& known : sheet.rows) {
                taken << known.name;
            }
            TextEdits edits;
            if (column == kNameColumn && row > 0) {
                const QString name = rows[r][c].trimmed();
                const bool isSame = !isNew && sheet.rows[static_cast<std::size_t>(at)].name == name;
                edits = isNew    ? editor.append({{freeName(name, taken), {}}})
                        : isSame ? TextEdits{}
                                 : editor.rename(at, freeName(name, taken));
            } else if (!key.isEmpty() && row == 0) {
                edits = editor.setBase(key, rows[r][c]);
            } else if (!key.isEmpty()) {
                edits = isNew ? editor.append({{freeName({}, taken), {{key, rows[r][c]}}}})
                              : editor.setCell(at, key, rows[r][c]);
            }
            text = applyEdits(text, edits);
        }
    }
    return edit(wholeEdit(syntax_.text(), text), tr("Paste"));  // one step of undo
}

QString SheetModel::copy(const QModelIndexList& cells) const {
    std::map<int, std::map<int, QString>> table;
    QSet<int> columns;
    for (const QModelIndex& cell : cells) {
        table[cell.row()][cell.column()] = data(cell, Qt::DisplayRole).toString();
        columns.insert(cell.column());
    }
    QList<int> order(columns.begin(), columns.end());
    std::ranges::sort(order);
    std::vector<QStringList> rows;  // with names also the header that paste() looks for
    if (order.contains(int(kNameColumn))) {
        order.removeIf([](int column) { return column > kNameColumn && column < kFirstKey; });
        QStringList head;
        for (const int column : order) {
            head << (column == kNameColumn ? QStringLiteral("name") : keyOf(column));
        }
        rows.push_back(head);
    }
    for (const auto& [row, values] : table) {
        QStringList line;
        for (const int column : order) {
            const auto found = values.find(column);
            line << (found == values.end() ? QString() : found->second);
        }
        rows.push_back(line);
    }
    return toTsv(rows);
}

}  // namespace millrace::gui
