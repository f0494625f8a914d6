#include "app/gui/models/spec/spec_syntax.h"

#include <QRegularExpression>
#include <algorithm>
#include <utility>

#include "app/gui/models/spec/spec_syntax_parser.h"

namespace millrace::gui {
namespace {

using Style = SyntaxNode::Style;

// Escapes of YAML 1.2, section 5.7. An unknown one is the character itself, because the text may
// still be being typed.
QString unescaped(QStringView text, int& i) {
    const QChar c = text[i];
    static const std::pair<char16_t, char16_t> kSimple[] = {
        {u'n', u'\n'}, {u't', u'\t'}, {u'r', u'\r'}, {u'0', u'\0'}, {u'e', u'\x1b'},
        {u'a', u'\a'}, {u'b', u'\b'}, {u'f', u'\f'}, {u'v', u'\v'}};
    for (const auto& [name, value] : kSimple) {
        if (c == name) {
            return QString(QChar(value));
        }
    }
    const int digits = c == u'x' ? 2 : c == u'u' ? 4 : c == u'U' ? 8 : 0;
    if (digits == 0 || i + digits >= text.size()) {
        return QString(c);
    }
    bool isNumber = false;
    const char32_t code = text.mid(i + 1, digits).toUInt(&isNumber, 16);
    i += isNumber ? digits : 0;
    return isNumber ? QString::fromUcs4(&code, 1) : QString(c);
}

/// A line break becomes a blank, an empty line a break.
void foldBreak(QStringView text, int& i, QString& out) {
    while (!out.isEmpty() && (out.back() == u' ' || out.back() == u'\t')) {
        out.chop(1);
    }
    int breaks = 0;
    while (i < text.size() && text[i].isSpace()) {
        breaks += text[i] == u'\n' ? 1 : 0;
        ++i;
    }
    --i;
    out += breaks > 1 ? QString(breaks - 1, u'\n') : QStringLiteral(" ");
}

QString unfolded(QStringView text, QChar quote) {
    QString out;
    out.reserve(text.size());
    for (int i = 0; i < text.size(); ++i) {
        const QChar c = text[i];
        if (c == u'\n') {
            foldBreak(text, i, out);
        } else if (quote == u'"' && c == u'\\' && i + 1 < text.size()) {
            ++i;
            if (text[i] == u'\n') {
                while (i + 1 < text.size() && text[i + 1].isSpace()) {
                    ++i;
                }
            } else {
                out += unescaped(text, i);
            }
        } else {
            out += c;
            i += quote == u'\'' && c == u'\'' && i + 1 < text.size() ? 1 : 0;
        }
    }
    return out;
}

// YAML 1.2, section 8.1: "|" keeps line breaks, ">" joins lines that begin at the indentation, and
// "-" drops the last break. The first line with content sets the indentation.
QString blockScalar(QStringView raw) {
    const int headEnd = static_cast<int>(raw.indexOf(u'\n'));
    if (headEnd < 0) {
        return {};
    }
    const QStringView head = raw.left(headEnd);
    const QList<QStringView> lines = raw.mid(headEnd + 1).split(u'\n');
    qsizetype indent = -1;
    for (const QStringView& line : lines) {
        if (indent < 0 && !line.trimmed().isEmpty()) {
            indent = 0;
            while (indent < line.size() && line[indent] == u' ') {
                ++indent;
            }
        }
    }
    QString out;
    for (const QStringView& line : lines) {
        const QStringView content = line.mid(std::min(std::max<qsizetype>(indent, 0), line.size()));
        const bool isFolded = head.startsWith(u'>') && !out.isEmpty() && !content.isEmpty() &&
                              content[0] != u' ' && out.endsWith(u'\n') &&
                              !out.endsWith(QStringLiteral("\n\n"));
        if (isFolded) {
            out.back() = u' ';
        }
        out += content;
        out += u'\n';
    }
    if (head.contains(u'-')) {
        out.chop(1);
    }
    return out;
}

/// Whether a plain scalar would be read as another type than text.
bool isOtherThanText(const QString& text) {
    static const QRegularExpression kNumber(QStringLiteral(
        "^[-+]?(\\.[0-9]+|[0-9][0-9_]*(\\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^0x[0-9a-fA-F]+$|"
        "^[-+]?\\.(inf|Inf|INF)$|^\\.(nan|NaN|NAN)$"));
    // Also the words of YAML 1.1 (yes, no, on, off): other readers of the file take them for bools.
    static const QStringList kWords = {QStringLiteral("true"), QStringLiteral("false"),
                                       QStringLiteral("null"), QStringLiteral("~"),
                                       QStringLiteral("yes"),  QStringLiteral("no"),
                                       QStringLiteral("on"),   QStringLiteral("off")};
    return kWords.contains(text.toLower()) || kNumber.match(text).hasMatch();
}

bool isPlainSafe(const QString& text, bool isFlow) {
    if (text.isEmpty() || text.front().isSpace() || text.back().isSpace() || text.contains(u'\n') ||
        text.contains(u'\t') || text.contains(QStringLiteral(": ")) ||
        text.contains(QStringLiteral(" #")) || text.endsWith(u':') ||
        text.startsWith(QStringLiteral("---")) || text.startsWith(QStringLiteral("..."))) {
        return false;
    }
    // YAML 1.2, section 5.3; "-" begins a plain scalar if a character follows it (section 7.3.3).
    static const QString kIndicators = QStringLiteral("[]{},#&*!|>'\"%@`?:-");
    const bool isIndicator = kIndicators.contains(text.front());
    const bool isDashWord = text.front() == u'-' && text.size() > 1 && !text[1].isSpace();
    if (isIndicator && !isDashWord) {
        return false;
    }
    const auto isControl = [](QChar c) { return c.category() == QChar::Other_Control; };
    if (std::ranges::any_of(text, isControl)) {
        return false;
    }
    const auto isMark = [](QChar c) {
        return c == u',' || c == u'[' || c == u']' || c == u'{' || c == u'}' || c == u'?';
    };
    return !isFlow || (std::ranges::none_of(text, isMark) && !text.contains(u':'));
}

QString doubleQuoted(const QString& text) {
    QString out = QStringLiteral("\"");
    for (const QChar c : text) {
        if (c == u'"' || c == u'\\') {
            out += u'\\';
            out += c;
        } else if (c == u'\n') {
            out += QStringLiteral("\\n");
        } else if (c == u'\t') {
            out += QStringLiteral("\\t");
        } else if (c.category() == QChar::Other_Control) {
            out += QStringLiteral("\\x%1").arg(c.unicode() & 0xff, 2, 16, QChar(u'0'));
        } else {
            out += c;
        }
    }
    return out + u'"';
}

}  // namespace

SpecSyntax::SpecSyntax(QString text) : text_(std::move(text)) {
    SyntaxParser(*this).run();
}

int SpecSyntax::member(int map, QStringView key) const {
    if (map < 0) {
        return -1;
    }
    for (const int child : node(map).children) {
        if (node(map).isMap() && node(child).key == key) {
            return child;
        }
    }
    return -1;
}

QString SpecSyntax::value(int index) const {
    const SyntaxNode& n = node(index);
    return n.isScalar() ? unquoted(QStringView(text_).mid(n.begin, n.end - n.begin)) : QString();
}

QString SpecSyntax::raw(int index) const {
    const SyntaxNode& n = node(index);
    return text_.mid(n.begin, n.end - n.begin);
}

QString SpecSyntax::inlined(int index) const {
    const SyntaxNode& n = node(index);
    if (n.isNull()) {
        return QStringLiteral("null");
    }
    const QString written = raw(index);
    if (!written.contains(u'\n') && n.style != Style::kBlock) {
        return written;
    }
    if (n.isScalar()) {
        return quotedScalar(value(index), true, n.style != Style::kPlain);
    }
    QStringList parts;
    for (const int child : n.children) {
        const SyntaxNode& c = node(child);
        QString part = c.isScalar() && c.style == Style::kPlain
                           ? quotedScalar(value(child), true, false)
                           : inlined(child);
        if (n.isMap()) {
            part = quotedScalar(c.key, true, false) + QStringLiteral(": ") + part;
        }
        parts << part;
    }
    const QString all = parts.join(QStringLiteral(", "));
    return n.isMap() ? u'{' + all + u'}' : u'[' + all + u']';
}

int SpecSyntax::at(int place) const {
    int found = -1, next = root();
    while (next >= 0) {
        found = next;
        next = -1;
        for (const int child : node(found).children) {
            const SyntaxNode& c = node(child);
            const int begin = c.keyBegin >= 0 ? c.keyBegin : c.entryBegin;
            // The end counts: completion asks for the word that ends at the cursor. Where two
            // children touch, the later one is meant.
            if (place >= begin && place <= std::max(c.end, c.keyEnd)) {
                next = child;
            }
        }
    }
    return found;
}

QString unquoted(QStringView raw) {
    if (raw.isEmpty()) {
        return {};
    }
    const QChar first = raw.front();
    if (first == u'|' || first == u'>') {
        return blockScalar(raw);
    }
    if (first == u'"' || first == u'\'') {
        const bool isClosed = raw.size() > 1 && raw.back() == first;
        return unfolded(raw.mid(1, raw.size() - (isClosed ? 2 : 1)), first);
    }
    return raw.contains(u'\n') ? unfolded(raw, u'\0') : raw.toString();
}

QString quotedScalar(const QString& text, bool isFlow, bool isText) {
    if (isPlainSafe(text, isFlow) && !(isText && isOtherThanText(text))) {
        return text;
    }
    const auto isControl = [](QChar c) { return c.category() == QChar::Other_Control; };
    // Only double quotes have escapes; single quotes keep quotes and backslashes readable.
    const bool hasControl = std::ranges::any_of(text, isControl);
    if (!hasControl && (text.contains(u'"') || text.contains(u'\\'))) {
        return u'\'' + QString(text).replace(u'\'', QStringLiteral("''")) + u'\'';
    }
    return doubleQuoted(text);
}

}  // namespace millrace::gui
