#include "app/gui/models/spec/spec_completion.h"

#include <algorithm>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_values.h"

namespace millrace::gui {
namespace {

using Role = Meaning::Role;
using spec::KeyType;
constexpr char16_t kCursor = u'\uE000';

int lineStartOf(const QString& text, int place) {
    return place <= 0 ? 0 : static_cast<int>(text.lastIndexOf(u'\n', place - 1)) + 1;
}

/// 0 is the best; -1: the word does not fit.
int fit(const QString& prefix, const QString& label) {
    if (prefix.isEmpty() || label.startsWith(prefix)) {
        return 0;
    }
    if (label.startsWith(prefix, Qt::CaseInsensitive)) {
        return 1;
    }
    const auto place = label.indexOf(prefix, 0, Qt::CaseInsensitive);
    if (place < 0) {
        return -1;
    }
    const QChar before = label[place - 1];
    return before == u'.' || before == u'_' || before == u'-' ? 2 : 3;
}

void keepFitting(CompletionList& list) {
    std::vector<std::pair<int, Completion>> fitting;
    for (Completion& item : list.items) {
        const int score = fit(list.prefix, item.label);
        if (score >= 0) {
            fitting.emplace_back(score, std::move(item));
        }
    }
    std::ranges::stable_sort(fitting,
                             [](const auto& a, const auto& b) { return a.first < b.first; });
    list.items.clear();
    for (auto& [score, item] : fitting) {
        list.items.push_back(std::move(item));
    }
}

/// A position in the tree, with a marker inserted at the cursor.
class Place {
 public:
    Place(const QString& text, int place, const KnownColumns& columns)
        : place_(place),
          syntax_(QString(text).insert(place, QChar(kCursor))),
          steps_(recipeSteps(syntax_)),
          meanings_(meaningsOf(syntax_)),
          columns_(columns) {}

    CompletionList complete() {
        list_.begin = list_.end = place_;
        if (syntax_.root() < 0 || isInComment()) {
            return list_;
        }
        const int index = syntax_.at(place_);
        const SyntaxNode& node = syntax_.node(index);
        if (node.keyBegin >= 0 && place_ >= node.keyBegin && place_ < node.keyEnd) {
            atKey(node);
        } else if (node.isScalar() && place_ >= node.begin && place_ < node.end) {
            atValue(index, node);
        }
        keepFitting(list_);
        return list_;
    }

    /// If the cursor is in an expression: its text up to the cursor.
    std::optional<std::pair<int, QString>> expression() const {
        const int index = syntax_.root() < 0 || isInComment() ? -1 : syntax_.at(place_);
        if (index < 0) {
            return std::nullopt;
        }
        const SyntaxNode& node = syntax_.node(index);
        const Meaning& meaning = meaningOf(index);
        const bool isInside = node.isScalar() && place_ >= node.begin && place_ < node.end;
        if (!isInside || !isExpression(meaning)) {
            return std::nullopt;
        }
        const bool isQuoted =
            node.style == SyntaxNode::Style::kDouble || node.style == SyntaxNode::Style::kSingle;
        const int begin = node.begin + (isQuoted ? 1 : 0);
        return std::pair(begin, syntax_.text().mid(begin, place_ - begin));
    }

 private:
    const Meaning& meaningOf(int index) const { return meanings_[static_cast<std::size_t>(index)]; }
    static bool isExpression(const Meaning& m) {
        return m.role == Role::kExpression || (m.role == Role::kKeys && m.path == "labels.*");
    }
    bool isInComment() const {
        return std::ranges::any_of(syntax_.comments(), [&](const TextRange& c) {
            return place_ > c.begin && place_ < c.end;
        });
    }
    void range(int begin, int end) {
        list_.begin = begin;
        list_.end = end;
        list_.prefix = syntax_.text().mid(begin, place_ - begin);
    }

    void atKey(const SyntaxNode& node) {
        const SyntaxNode& map = syntax_.node(node.parent);
        // The marker is inside the word; in the text the word is one character shorter.
        range(node.keyBegin, node.hasColon ? node.keyEnd - 1 : place_);
        if (list_.prefix.startsWith(u'"')) {
            list_.prefix.remove(0, 1);
        }
        offerKeys(meaningOf(node.parent), node.parent, map.isFlow(), node.hasColon, {});
    }

    void atValue(int index, const SyntaxNode& node) {
        const Meaning& meaning = meaningOf(index);
        if (isExpression(meaning)) {
            atExpression(meaning);
            return;
        }
        const bool isQuoted = node.style != SyntaxNode::Style::kPlain;
        range(node.begin + (isQuoted ? 1 : 0), place_);
        const bool holdsKeys = meaning.role == Role::kKeys || meaning.role == Role::kNames ||
                               meaning.role == Role::kStep || meaning.role == Role::kVariation ||
                               meaning.role == Role::kChanges;
        const bool holdsItems = meaning.role == Role::kSteps || meaning.role == Role::kItems ||
                                meaning.role == Role::kVariations;
        const bool isOwnLine =
            node.keyBegin < 0 || lineStartOf(syntax_.text(), node.begin) > node.keyEnd;
        if (holdsKeys && isOwnLine) {
            offerKeys(meaning, -1, false, false, {});
        } else if (holdsItems && isOwnLine) {
            offerKeys(itemMeaning(meaning), -1, false, false, QStringLiteral("- "));
        } else if (!holdsKeys && !holdsItems) {
            list_.items = valuesFor(meaning, syntax_, columns_);
        }
    }

    void atExpression(const Meaning& meaning) {
        const auto text = expression();
        if (!text || isInString(text->second)) {
            return;
        }
        int begin = place_;
        while (begin > text->first && (syntax_.text()[begin - 1].isLetterOrNumber() ||
                                       syntax_.text()[begin - 1] == u'_')) {
            --begin;
        }
        range(begin, place_);
        if (!list_.prefix.isEmpty() && list_.prefix[0].isDigit()) {
            return;
        }
        const bool hasCall = syntax_.text().mid(place_ + 1, 1) == QStringLiteral("(");
        list_.items = expressionWords(meaning, columns_, hasCall);
    }

    static bool isInString(const QString& text) { return text.count(u'\'') % 2 == 1; }

    QString indentAt(int place) const {
        const int start = lineStartOf(syntax_.text(), place);
        int i = start;
        while (i < place && (syntax_.text()[i] == u' ' || syntax_.text()[i] == u'-')) {
            ++i;
        }
        return QString(i - start, u' ');
    }

    void offerKeys(const Meaning& map, int node, bool isFlow, bool hasColon, const QString& dash) {
        QStringList present;
        for (const int child : node >= 0 ? syntax_.node(node).children : std::vector<int>()) {
            present << syntax_.node(child).key;
        }
        KeyPlace place;
        place.isFlow = isFlow;
        place.hasColon = hasColon;
        place.indent = indentAt(list_.begin) + QString(dash.size(), u' ');
        list_.items = keysFor(map, present, place, syntax_, columns_);
        for (Completion& item : list_.items) {
            item.insert = dash + item.insert;
        }
    }

    const int place_;
    const SpecSyntax syntax_;
    const std::vector<RecipeStep> steps_;
    const std::vector<Meaning> meanings_;
    const KnownColumns& columns_;
    CompletionList list_;
};

/// The position of the innermost open bracket and the number of commas after it; -1: none is open.
std::pair<int, int> openCall(const QString& text) {
    std::vector<std::pair<int, int>> open;
    bool isInString = false;
    for (int i = 0; i < text.size(); ++i) {
        const QChar c = text[i];
        isInString = c == u'\'' ? !isInString : isInString;
        if (isInString) {
            continue;
        }
        if (c == u'(') {
            open.emplace_back(i, 0);
        } else if (c == u')' && !open.empty()) {
            open.pop_back();
        } else if (c == u',' && !open.empty()) {
            ++open.back().second;
        }
    }
    return open.empty() ? std::pair(-1, 0) : open.back();
}

/// Marks the argument `index` inside the brackets of a signature.
void markArgument(CallHint& hint, int index) {
    int begin = static_cast<int>(hint.signature.indexOf(u'(')) + 1;
    const int stop = static_cast<int>(hint.signature.lastIndexOf(u')'));
    for (; index > 0; --index) {
        const auto comma = hint.signature.indexOf(u',', begin);
        if (comma < 0 || comma > stop) {
            break;  // the last argument may be repeated
        }
        begin = static_cast<int>(comma) + 1;
    }
    const auto comma = hint.signature.indexOf(u',', begin);
    hint.argumentEnd = comma < 0 || comma > stop ? stop : static_cast<int>(comma);
    while (begin < hint.argumentEnd && hint.signature[begin] == u' ') {
        ++begin;
    }
    hint.argumentBegin = begin;
}

}  // namespace

KnownColumns knownColumns(const values::CheckReply& reply) {
    KnownColumns known;
    for (const values::ColumnInfo& column : reply.columns) {
        known.dataset.emplace_back(QString::fromStdString(column.name),
                                   QString::fromStdString(column.type));
    }
    for (const values::ColumnInfo& column : reply.derived) {
        known.derived.emplace_back(QString::fromStdString(column.name),
                                   QString::fromStdString(column.type));
    }
    return known;
}

CompletionList completionsAt(const QString& text, int place, const KnownColumns& columns) {
    return Place(text, place, columns).complete();
}

std::optional<CallHint> callHintAt(const QString& text, int place) {
    const auto expression = Place(text, place, {}).expression();
    if (!expression) {
        return std::nullopt;
    }
    const auto [bracket, commas] = openCall(expression->second);
    int begin = bracket;
    while (begin > 0 && (expression->second[begin - 1].isLetterOrNumber() ||
                         expression->second[begin - 1] == u'_')) {
        --begin;
    }
    if (bracket < 0 || begin == bracket) {
        return std::nullopt;
    }
    const QString name = expression->second.mid(begin, bracket - begin);
    CallHint hint;
    for (const expr::Function* function : expr::findFunctions(name.toStdString())) {
        const int numParams = static_cast<int>(function->params.size() + function->optional.size());
        hint.signature = name + u'(' + qtext(function->arguments) + u')';
        hint.doc = qtext(function->doc);
        if (commas < numParams || function->isVariadic) {
            break;
        }
    }
    if (hint.signature.isEmpty()) {
        return std::nullopt;
    }
    hint.callPlace = expression->first + begin;
    markArgument(hint, commas);
    return hint;
}

KeyHelp keyHelpAt(const SpecSyntax& syntax, const std::vector<Meaning>& meanings, int place) {
    KeyHelp help;
    for (int index = syntax.at(place); index >= 0; index = syntax.node(index).parent) {
        const Meaning& meaning = meanings[static_cast<std::size_t>(index)];
        const bool isOwn = syntax.node(index).keyBegin >= 0 || meaning.role == Role::kExpression;
        if (meaning.key == nullptr || !isOwn) {
            continue;
        }
        help.path = QString::fromStdString(meaning.path);
        help.kind = meaning.role == Role::kExpression ? QStringLiteral("expression")
                                                      : kindText(*meaning.key);
        help.fallback = qtext(meaning.key->fallback);
        help.doc = qtext(meaning.key->doc);
        return help;
    }
    return help;
}

std::vector<Completion> valueCompletions(const SpecSyntax& syntax, const QString& changePath,
                                         const KnownColumns& columns) {
    const Meaning meaning = changeMeaning(changePath, recipeSteps(syntax));
    if (meaning.role == Role::kExpression || meaning.path == "labels.*") {
        return expressionWords(meaning, columns, false);
    }
    return valuesFor(meaning, syntax, columns);
}

}  // namespace millrace::gui
