#include "app/gui/models/sheet/sheet_text.h"

#include <QObject>
#include <QRegularExpression>
#include <algorithm>

namespace millrace::gui {
namespace {

using Role = Meaning::Role;
using Style = SyntaxNode::Style;

int lineStart(const QString& text, int place) {
    return place <= 0 ? 0 : static_cast<int>(text.lastIndexOf(u'\n', place - 1)) + 1;
}

int lineEndOf(const QString& text, int place) {
    const auto end = text.indexOf(u'\n', place);
    return static_cast<int>(end < 0 ? text.size() : end);
}

/// The position after the comment that follows on the line, if any.
int withComment(const QString& text, int place) {
    int i = place;
    while (i < text.size() && (text[i] == u' ' || text[i] == u'\t')) {
        ++i;
    }
    return i < text.size() && text[i] == u'#' ? lineEndOf(text, i) : place;
}

SheetRow readRow(const SpecSyntax& syntax, int item) {
    SheetRow row;
    row.node = item;
    row.nameNode = syntax.member(item, u"name");
    row.setNode = syntax.member(item, u"set");
    row.name = row.nameNode >= 0 ? syntax.value(row.nameNode) : QString();
    if (row.setNode >= 0 && syntax.node(row.setNode).isMap()) {
        for (const int cell : syntax.node(row.setNode).children) {
            if (syntax.node(cell).hasColon) {
                row.cells.emplace_back(syntax.node(cell).key, cell);
            }
        }
    }
    return row;
}

/// Whether a text is one whole flow collection: "[64, 32]".
bool isFlowText(const QString& text) {
    if (!text.startsWith(u'[') && !text.startsWith(u'{')) {
        return false;
    }
    const SpecSyntax syntax(text);
    return syntax.root() >= 0 && syntax.node(0).isFlow() && !syntax.node(0).isOpen &&
           syntax.node(0).end == text.size() && !text.contains(u'\n');
}

bool isQuotedText(const QString& text) {
    if (!text.startsWith(u'"') && !text.startsWith(u'\'')) {
        return false;
    }
    const SpecSyntax syntax(text);
    return syntax.root() >= 0 && syntax.node(0).isScalar() && !syntax.node(0).isOpen &&
           syntax.node(0).end == text.size();
}

}  // namespace

int SheetRow::cell(const QString& key) const {
    for (const auto& [name, node] : cells) {
        if (name == key) {
            return node;
        }
    }
    return -1;
}

Sheet readSheet(const SpecSyntax& syntax) {
    Sheet sheet;
    const int root = syntax.root();
    if (root < 0 || !syntax.node(root).isMap()) {
        sheet.why =
            QObject::tr("The text is not a spec yet: it needs keys such as dataset and model.");
        return sheet;
    }
    sheet.listNode = syntax.member(root, u"variations");
    if (sheet.listNode < 0 || syntax.node(sheet.listNode).isNull()) {
        return sheet;
    }
    const SyntaxNode& list = syntax.node(sheet.listNode);
    if (!list.isSequence() || list.isOpen) {
        sheet.why = QObject::tr("variations must be a list of {name: x, set: {key.path: value}}.");
        return sheet;
    }
    for (const int item : list.children) {
        if (!syntax.node(item).isMap()) {
            continue;
        }
        sheet.rows.push_back(readRow(syntax, item));
        for (const auto& [key, node] : sheet.rows.back().cells) {
            if (!sheet.columns.contains(key)) {
                sheet.columns << key;
            }
        }
    }
    return sheet;
}

QString cellText(const SpecSyntax& syntax, int node) {
    if (node < 0) {
        return {};
    }
    return syntax.node(node).isScalar() ? syntax.value(node) : syntax.inlined(node);
}

QString SheetEditor::written(const QString& key, const QString& value, bool isFlow) const {
    const QString text = value.trimmed();
    const Meaning meaning = changeMeaning(key, steps_);
    const bool isKeyText =
        meaning.role == Role::kValue && meaning.key != nullptr &&
        (meaning.key->type == spec::KeyType::kText || meaning.key->type == spec::KeyType::kChoice);
    const bool isVerbatim = isKeyText || meaning.role == Role::kExpression;
    if (!isVerbatim && (isFlowText(text) || isQuotedText(text))) {
        return text;
    }
    return quotedScalar(text, isFlow, isKeyText);
}

/// Keeps the double quotes of the old value around `text`, if they change nothing else.
QString SheetEditor::keptQuotes(const SyntaxNode& old, const QString& text) const {
    const bool isPlain =
        !isQuotedText(text) && !isFlowText(text) && !text.contains(u'\\') && !text.contains(u'"');
    const bool wasQuoted = old.isScalar() && old.style == Style::kDouble;
    return wasQuoted && isPlain ? u'"' + text + u'"' : text;
}

QString SheetEditor::indentOf(int place) const {
    const QString& text = syntax_.text();
    const int start = lineStart(text, place);
    return QString(place - start, u' ');
}

TextEdit SheetEditor::replaceValue(int node, const QString& text) const {
    const SyntaxNode& n = syntax_.node(node);
    if (n.isNull()) {
        const QString& all = syntax_.text();
        int colon = std::max(n.keyEnd, 0);
        while (colon < all.size() && all[colon] != u':') {
            ++colon;
        }
        return {colon + 1, colon + 1, u' ' + text};
    }
    const bool isBlock = n.style == Style::kBlock && (n.isMap() || n.isSequence());
    const QString& all = syntax_.text();
    if (isBlock && n.keyEnd >= 0) {
        int colon = n.keyEnd;
        while (all[colon] != u':') {
            ++colon;
        }
        return {colon + 1, n.end, u' ' + text};
    }
    return {n.begin, n.end, text};
}

TextEdits SheetEditor::setExisting(const SheetRow& row, int node, const QString& key,
                                   const QString& value) const {
    if (cellText(syntax_, node) == value.trimmed()) {
        return {};
    }
    const bool isFlow = syntax_.node(row.setNode).isFlow();
    const QString text = keptQuotes(syntax_.node(node), written(key, value, isFlow));
    return {replaceValue(node, text)};
}

TextEdits SheetEditor::addTo(const SheetRow& row, const Cells& cells) const {
    const SyntaxNode& item = syntax_.node(row.node);
    const bool hasMap = row.setNode >= 0 && syntax_.node(row.setNode).isMap();
    const bool isFlow = hasMap ? syntax_.node(row.setNode).isFlow() : true;
    QStringList parts;
    for (const auto& [key, value] : cells) {
        parts << quotedScalar(key, isFlow, true) + QStringLiteral(": ") +
                     written(key, value, isFlow);
    }
    const QString flow = parts.join(QStringLiteral(", "));
    if (!hasMap) {
        const QString map = u'{' + flow + u'}';
        if (row.setNode >= 0) {
            return {replaceValue(row.setNode, map)};
        }
        if (item.isFlow()) {
            const QString comma = item.children.empty() ? QString() : QStringLiteral(", ");
            return {{item.end - 1, item.end - 1, comma + QStringLiteral("set: ") + map}};
        }
        const int at = withComment(syntax_.text(), item.end);
        return {{at, at, u'\n' + QString(item.column, u' ') + QStringLiteral("set: ") + map}};
    }
    const SyntaxNode& set = syntax_.node(row.setNode);
    if (isFlow) {
        int at = set.end - 1;
        if (!set.children.empty()) {
            const SyntaxNode& last = syntax_.node(set.children.back());
            at = std::max(last.end, last.keyEnd);
        }
        return {{at, at, (set.children.empty() ? QString() : QStringLiteral(", ")) + flow}};
    }
    const QString indent = u'\n' + QString(set.column, u' ');
    const int at = withComment(syntax_.text(), set.end);
    return {{at, at, indent + parts.join(indent)}};
}

TextEdit SheetEditor::removeFlowEntry(int node) const {
    const SyntaxNode& n = syntax_.node(node);
    const std::vector<int>& siblings = syntax_.node(n.parent).children;
    const auto here = std::ranges::find(siblings, node);
    const int begin = n.keyBegin >= 0 ? n.keyBegin : n.entryBegin;
    if (here + 1 != siblings.end()) {
        const SyntaxNode& next = syntax_.node(*(here + 1));
        return {begin, next.keyBegin >= 0 ? next.keyBegin : next.entryBegin, {}};
    }
    const int end = std::max(n.end, n.keyEnd);
    if (here != siblings.begin()) {
        const SyntaxNode& before = syntax_.node(*(here - 1));
        return {std::max(before.end, before.keyEnd), end, {}};
    }
    return {begin, end, {}};
}

/// Removes the lines of a block entry, with the comment on its last line.
TextEdit SheetEditor::removeLines(int node) const {
    const SyntaxNode& n = syntax_.node(node);
    const QString& text = syntax_.text();
    const int begin = lineStart(text, n.entryBegin);
    const int end = lineEndOf(text, std::max({n.end, n.keyEnd, n.entryBegin}));
    if (end < text.size()) {
        return {begin, end + 1, {}};
    }
    return {std::max(begin - 1, 0), end, {}};
}

TextEdits SheetEditor::removeFrom(const SheetRow& row, int node) const {
    const SyntaxNode& set = syntax_.node(row.setNode);
    if (set.isFlow()) {
        return {removeFlowEntry(node)};
    }
    if (set.children.size() == 1) {
        return {replaceValue(row.setNode, QStringLiteral("{}"))};
    }
    const SyntaxNode& n = syntax_.node(node);
    const QString& text = syntax_.text();
    const QString before =
        text.mid(lineStart(text, n.entryBegin), n.entryBegin - lineStart(text, n.entryBegin));
    if (before.trimmed().isEmpty()) {
        return {removeLines(node)};
    }
    const SyntaxNode& next =
        syntax_.node(set.children[1]);  // the first child follows "set:" or "-"
    return {{n.entryBegin, next.entryBegin, {}}};
}

TextEdits SheetEditor::setCell(int rowIndex, const QString& key, const QString& value) const {
    const SheetRow& row = sheet_.rows[static_cast<std::size_t>(rowIndex)];
    const int node = row.cell(key);
    if (value.trimmed().isEmpty()) {
        return node >= 0 ? removeFrom(row, node) : TextEdits{};
    }
    return node >= 0 ? setExisting(row, node, key, value) : addTo(row, {{key, value}});
}

TextEdits SheetEditor::setBase(const QString& key, const QString& value) const {
    const int node = baseNode(syntax_, key, steps_);
    if (node < 0 || value.trimmed().isEmpty() || cellText(syntax_, node) == value.trimmed()) {
        return {};
    }
    const SyntaxNode& n = syntax_.node(node);
    const bool isFlow = n.parent >= 0 && syntax_.node(n.parent).isFlow();
    return {replaceValue(node, keptQuotes(n, written(key, value, isFlow)))};
}

TextEdits SheetEditor::rename(int rowIndex, const QString& name) const {
    const SheetRow& row = sheet_.rows[static_cast<std::size_t>(rowIndex)];
    const SyntaxNode& item = syntax_.node(row.node);
    const QString text = quotedScalar(name.trimmed(), item.isFlow(), true);
    if (row.nameNode >= 0) {
        return {replaceValue(row.nameNode, text)};
    }
    const int first = item.children.empty() ? -1 : syntax_.node(item.children.front()).entryBegin;
    if (item.isFlow()) {
        const QString comma = first >= 0 ? QStringLiteral(", ") : QString();
        return {{item.begin + 1, item.begin + 1, QStringLiteral("name: ") + text + comma}};
    }
    return {{first, first, QStringLiteral("name: ") + text + u'\n' + QString(item.column, u' ')}};
}

QString SheetEditor::rowText(const NewRow& row) const {
    QStringList parts;
    for (const auto& [key, value] : row.cells) {
        if (!value.trimmed().isEmpty()) {
            parts << quotedScalar(key, true, true) + QStringLiteral(": ") +
                         written(key, value, true);
        }
    }
    return QStringLiteral("{name: ") + quotedScalar(row.name, true, true) +
           QStringLiteral(", set: {") + parts.join(QStringLiteral(", ")) + QStringLiteral("}}");
}

TextEdits SheetEditor::append(const std::vector<NewRow>& rows) const {
    const QString& text = syntax_.text();
    QStringList items;
    for (const NewRow& row : rows) {
        items << rowText(row);
    }
    if (items.isEmpty()) {
        return {};
    }
    const auto asLines = [&](const QString& indent) {
        const QString start = u'\n' + indent + QStringLiteral("- ");
        return start + items.join(start);
    };
    if (sheet_.listNode < 0) {
        const int end = static_cast<int>(text.size());
        const QString gap =
            text.isEmpty() || text.endsWith(u'\n') ? QString() : QStringLiteral("\n");
        return {{end, end,
                 gap + QStringLiteral("variations:") + asLines(QStringLiteral("  ")) + u'\n'}};
    }
    const SyntaxNode& list = syntax_.node(sheet_.listNode);
    if (list.isNull()) {
        const TextEdit place = replaceValue(sheet_.listNode, {});
        return {{place.begin, place.end, asLines(QStringLiteral("  "))}};
    }
    if (!list.isFlow()) {
        const int at = withComment(text, list.end);
        return {{at, at, asLines(QString(list.column, u' '))}};
    }
    if (list.children.empty()) {
        int colon = list.keyEnd;
        while (text[colon] != u':') {
            ++colon;
        }
        return {{colon + 1, list.end, asLines(QStringLiteral("  "))}};
    }
    const int at = syntax_.node(list.children.back()).end;
    return {{at, at, QStringLiteral(", ") + items.join(QStringLiteral(", "))}};
}

TextEdits SheetEditor::duplicate(int rowIndex, const QString& name) const {
    const SheetRow& row = sheet_.rows[static_cast<std::size_t>(rowIndex)];
    const SyntaxNode& item = syntax_.node(row.node);
    const QString& text = syntax_.text();
    QString copy = text.mid(item.begin, item.end - item.begin);
    TextEdits inside = rename(rowIndex, name);
    for (TextEdit& edit : inside) {
        edit.begin -= item.begin;
        edit.end -= item.begin;
    }
    copy = applyEdits(copy, inside);
    if (syntax_.node(sheet_.listNode).isFlow()) {
        return {{item.end, item.end, QStringLiteral(", ") + copy}};
    }
    const int at = withComment(text, item.end);
    const QString between = text.mid(item.entryBegin, item.begin - item.entryBegin);
    const QString start =
        between.contains(u'\n') ? QStringLiteral("-\n") + QString(item.column, u' ') : between;
    return {{at, at, u'\n' + indentOf(item.entryBegin) + start + copy}};
}

TextEdits SheetEditor::remove(const std::vector<int>& rows) const {
    std::vector<int> chosen = rows;
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    if (chosen.empty()) {
        return {};
    }
    const SyntaxNode& list = syntax_.node(sheet_.listNode);
    if (chosen.size() >= list.children.size()) {
        return {replaceValue(sheet_.listNode, QStringLiteral("[]"))};
    }
    TextEdits edits;
    for (const int index : chosen) {
        const int node = sheet_.rows[static_cast<std::size_t>(index)].node;
        TextEdit edit = list.isFlow() ? removeFlowEntry(node) : removeLines(node);
        if (!edits.empty()) {
            edit.begin = std::max(edit.begin, edits.back().end);
        }
        edits.push_back(edit);
    }
    return edits;
}

TextEdits SheetEditor::removeColumn(const QString& key) const {
    TextEdits edits;
    for (const SheetRow& row : sheet_.rows) {
        const int node = row.cell(key);
        if (node >= 0) {
            for (const TextEdit& edit : removeFrom(row, node)) {
                edits.push_back(edit);
            }
        }
    }
    return edits;
}

QString freeName(const QString& wanted, const QStringList& taken) {
    if (!wanted.isEmpty() && !taken.contains(wanted)) {
        return wanted;
    }
    static const QRegularExpression kNumber(QStringLiteral("-(\\d{1,6})$"));
    const QRegularExpressionMatch match = kNumber.match(wanted);
    QString stem = wanted.isEmpty() ? QStringLiteral("variation") : wanted;
    int number = 2;
    if (match.hasMatch() && taken.contains(wanted)) {
        const QString before = wanted.left(match.capturedStart());
        if (taken.contains(before)) {
            stem = before;
            number = match.captured(1).toInt() + 1;
        }
    }
    if (wanted.isEmpty() && !taken.contains(QStringLiteral("variation-1"))) {
        return QStringLiteral("variation-1");
    }
    while (taken.contains(stem + u'-' + QString::number(number))) {
        ++number;
    }
    return stem + u'-' + QString::number(number);
}

int placeAt(const QString& text, int line, int column) {
    qsizetype start = 0;
    for (int i = 1; i < line && start >= 0; ++i) {
        start = text.indexOf(u'\n', start);
        start = start < 0 ? text.size() : start + 1;
    }
    int place = static_cast<int>(start);
    for (int i = 1; i < column && place < text.size() && text[place] != u'\n'; ++i) {
        place += text[place].isHighSurrogate() ? 2 : 1;
    }
    return place;
}

}  // namespace millrace::gui
