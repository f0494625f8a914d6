#include "app/gui/models/spec/spec_tokens.h"

#include <QSet>
#include <algorithm>

#include "backend/expr/functions.h"

namespace millrace::gui {
namespace {

using TokenKind = SpecToken::Kind;
using Role = Meaning::Role;
using spec::KeyType;

bool isWordStart(QChar c) {
    return c.isLetter() || c == u'_';
}

bool isOperatorWord(const QString& word) {
    static const QSet<QString> kWords = {
        QStringLiteral("and"),  QStringLiteral("or"),       QStringLiteral("not"),
        QStringLiteral("in"),   QStringLiteral("is"),       QStringLiteral("between"),
        QStringLiteral("like"), QStringLiteral("case"),     QStringLiteral("when"),
        QStringLiteral("then"), QStringLiteral("else"),     QStringLiteral("end"),
        QStringLiteral("as"),   QStringLiteral("cast"),     QStringLiteral("try_cast"),
        QStringLiteral("if"),   QStringLiteral("timestamp")};
    return kWords.contains(word);
}

bool isLiteralWord(const QString& word) {
    return word == QStringLiteral("true") || word == QStringLiteral("false") ||
           word == QStringLiteral("null");
}

int wordEnd(QStringView text, int i) {
    while (i < text.size() && (text[i].isLetterOrNumber() || text[i] == u'_')) {
        ++i;
    }
    return i;
}

int numberEnd(QStringView text, int i) {
    while (i < text.size() &&
           (text[i].isDigit() || text[i] == u'.' || text[i].toLower() == u'e' ||
            ((text[i] == u'-' || text[i] == u'+') && text[i - 1].toLower() == u'e'))) {
        ++i;
    }
    return i;
}

TokenKind wordKind(QStringView text, int begin, int end) {
    const QString word = text.mid(begin, end - begin).toString().toLower();
    int next = end;
    while (next < text.size() && text[next].isSpace()) {
        ++next;
    }
    const bool isCall = next < text.size() && text[next] == u'(';
    if (isLiteralWord(word)) {
        return TokenKind::kLiteral;
    }
    const bool isTime = word == QStringLiteral("timestamp") || word == QStringLiteral("date");
    if (isTime) {
        return next < text.size() && text[next] == u'\'' ? TokenKind::kOperator
                                                         : TokenKind::kColumn;
    }
    if (isOperatorWord(word)) {
        return TokenKind::kOperator;
    }
    return isCall ? TokenKind::kFunction : TokenKind::kColumn;
}

int stringEnd(QStringView text, int i, QChar quote) {
    for (++i; i < text.size(); ++i) {
        if (text[i] == quote) {
            if (i + 1 < text.size() && text[i + 1] == quote) {
                ++i;
            } else {
                return i + 1;
            }
        }
    }
    return static_cast<int>(text.size());
}

bool isNumber(const QString& text) {
    bool isOk = false;
    text.toDouble(&isOk);
    return isOk;
}

class Tokens {
 public:
    Tokens(const SpecSyntax& syntax, const std::vector<Meaning>& meanings,
           std::vector<SpecToken>& out)
        : syntax_(syntax), meanings_(meanings), out_(out) {}

    void add(int index) {
        const SyntaxNode& node = syntax_.node(index);
        const Meaning& meaning = meanings_[static_cast<std::size_t>(index)];
        if (node.keyBegin >= 0) {
            push(node.keyBegin, node.keyEnd, keyKind(node, meaning));
            if (node.hasColon) {
                markBefore(node.keyEnd);
            }
        } else if (node.parent >= 0 &&
                   syntax_.node(node.parent).style == SyntaxNode::Style::kBlock) {
            push(node.entryBegin, node.entryBegin + 1, TokenKind::kMark);
        }
        if (node.isFlow()) {
            push(node.begin, node.begin + 1, TokenKind::kMark);
        }
        if (node.isScalar()) {
            addScalar(index, node, meaning);
        }
        for (const int child : node.children) {
            add(child);
        }
        if (node.isFlow() && !node.isOpen) {
            push(node.end - 1, node.end, TokenKind::kMark);
        }
    }

 private:
    void push(int begin, int end, TokenKind kind) {
        if (end > begin) {
            out_.push_back({begin, end, kind});
        }
    }

    void markBefore(int keyEnd) {
        int colon = keyEnd;
        while (colon < syntax_.text().size() && syntax_.text()[colon] != u':') {
            ++colon;
        }
        push(colon, colon + 1, TokenKind::kMark);
    }

    TokenKind keyKind(const SyntaxNode& node, const Meaning& meaning) const {
        const Meaning& holder = meanings_[static_cast<std::size_t>(std::max(node.parent, 0))];
        if (holder.role == Role::kChanges) {
            return meaning.role == Role::kUnknown ? TokenKind::kUnknownKey : TokenKind::kChange;
        }
        if (holder.role == Role::kNames) {
            return TokenKind::kName;
        }
        if (!node.hasColon && !syntax_.node(node.parent).isFlow()) {
            return TokenKind::kText;  // being typed
        }
        const bool isKnown = meaning.role != Role::kUnknown || holder.role == Role::kUnknown ||
                             holder.role == Role::kValue;
        return isKnown ? TokenKind::kKey : TokenKind::kUnknownKey;
    }

    void addScalar(int index, const SyntaxNode& node, const Meaning& meaning) {
        const bool isShortLabel = meaning.role == Role::kKeys && meaning.path == "labels.*";
        if (meaning.role == Role::kExpression || isShortLabel) {
            const bool isQuoted = node.style == SyntaxNode::Style::kSingle ||
                                  node.style == SyntaxNode::Style::kDouble;
            const int begin = node.begin + (isQuoted ? 1 : 0);
            const int end = node.end - (isQuoted && !node.isOpen ? 1 : 0);
            push(node.begin, begin, TokenKind::kMark);
            expressionTokens(QStringView(syntax_.text()).mid(begin, end - begin), begin, out_);
            push(end, node.end, TokenKind::kMark);
            return;
        }
        push(node.begin, node.end, scalarKind(index, node, meaning));
    }

    TokenKind scalarKind(int index, const SyntaxNode& node, const Meaning& meaning) const {
        if (node.style != SyntaxNode::Style::kPlain) {
            return isName(node, meaning) ? TokenKind::kVariation : TokenKind::kText;
        }
        const QString value = syntax_.value(index);
        if (isNumber(value)) {
            return TokenKind::kNumber;
        }
        if (isLiteralWord(value)) {
            return TokenKind::kWord;
        }
        if (isName(node, meaning)) {
            return TokenKind::kVariation;
        }
        const bool isChoice = meaning.key != nullptr && !meaning.key->limits.choices.empty();
        return isChoice ? TokenKind::kWord : TokenKind::kText;
    }

    static bool isName(const SyntaxNode& node, const Meaning& meaning) {
        return node.key == QStringLiteral("name") &&
               (meaning.path == "variations.name" || meaning.path == "recipe.name");
    }

    const SpecSyntax& syntax_;
    const std::vector<Meaning>& meanings_;
    std::vector<SpecToken>& out_;
};

}  // namespace

void expressionTokens(QStringView text, int begin, std::vector<SpecToken>& out) {
    int i = 0;
    while (i < text.size()) {
        const QChar c = text[i];
        int end = i + 1;
        TokenKind kind = TokenKind::kOperator;
        if (isWordStart(c)) {
            end = wordEnd(text, i);
            kind = wordKind(text, i, end);
        } else if (c.isDigit()) {
            end = numberEnd(text, i);
            kind = TokenKind::kNumber;
        } else if (c == u'\'' || c == u'"') {
            end = stringEnd(text, i, c);
            kind = c == u'"' ? TokenKind::kColumn : TokenKind::kLiteral;
        } else if (c.isSpace()) {
            ++i;
            continue;
        } else if (c == u'(' || c == u')' || c == u',' || c == u'[' || c == u']') {
            kind = TokenKind::kMark;
        }
        out.push_back({begin + i, begin + end, kind});
        i = end;
    }
}

std::vector<SpecToken> specTokens(const SpecSyntax& syntax, const std::vector<Meaning>& meanings) {
    std::vector<SpecToken> out;
    out.reserve(static_cast<std::size_t>(syntax.numNodes()) * 3);
    if (syntax.root() >= 0) {
        Tokens(syntax, meanings, out).add(syntax.root());
    }
    for (const TextRange& comment : syntax.comments()) {
        out.push_back({comment.begin, comment.end, TokenKind::kComment});
    }
    std::ranges::sort(out,
                      [](const SpecToken& a, const SpecToken& b) { return a.begin < b.begin; });
    return out;
}

}  // namespace millrace::gui
