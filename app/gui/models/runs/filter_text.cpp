#include "app/gui/models/runs/filter_text.h"

#include <QRegularExpression>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "backend/search/attributes.h"

namespace millrace::gui {
namespace {

enum class Expect { kKey, kOperator, kValue, kAnd };

struct Place {
    Expect expect = Expect::kKey;
    QString key;    ///< of the clause at the cursor
    int start = 0;  ///< of the word at the cursor
};

const search::Attribute* attributeOf(const QString& key) {
    return search::attributeOf(key.toStdString());
}

bool isNumericKey(const QString& key) {
    const search::Attribute* attribute = attributeOf(key);
    return key.startsWith("metric") ||
           (attribute != nullptr && attribute->kind >= search::AttributeKind::kNumber);
}

bool isTimeKey(const QString& key) {
    const search::Attribute* attribute = attributeOf(key);
    return attribute != nullptr && attribute->kind == search::AttributeKind::kTime;
}

// Words that are valid where a key is.
const QStringList& keyWords() {
    static const QStringList kWords = {"since ", "before ", "not ", "not ("};
    return kWords;
}

bool isBreak(QChar c) {
    return c.isSpace() || QStringView(u"=!<>(),").contains(c);
}

// Parses clauses up to the cursor; the last word is being typed.
Place placeAt(const QString& before) {
    static const QRegularExpression kToken(
        R"(\s*((?:[^\s=!<>(),'"`]|\."[^"]*"?|\.`[^`]*`?)+|[=!<>]+|'[^']*'?|"[^"]*"?|[(),]))");
    Place place;
    int at = 0;
    while (at < before.size()) {
        const auto match = kToken.match(before, at, QRegularExpression::NormalMatch,
                                        QRegularExpression::AnchorAtOffsetMatchOption);
        if (!match.hasMatch()) {
            break;
        }
        const QString word = match.captured(1);
        const QString lower = word.toLower();
        const bool isLast = match.capturedEnd(1) == before.size();
        if (isLast && !isBreak(word.back())) {
            place.start = static_cast<int>(match.capturedStart(1));
            return place;
        }
        at = static_cast<int>(match.capturedEnd(1));
        if (place.expect == Expect::kKey && (lower == "since" || lower == "before")) {
            place.key = "created";
            place.expect = Expect::kValue;
        } else if (place.expect == Expect::kKey) {
            const bool isBeforeKey = lower == "not" || word == "(";
            place.key = isBeforeKey ? QString() : word;
            place.expect = isBeforeKey ? Expect::kKey : Expect::kOperator;
        } else if (place.expect == Expect::kOperator) {
            const bool isMore = lower == "is" || lower == "not";
            place.expect = isMore ? Expect::kOperator : Expect::kValue;
            place.expect = lower == "null" ? Expect::kAnd : place.expect;
        } else if (place.expect == Expect::kValue) {
            const bool isInList = word == "(" || word == ",";
            place.expect = isInList ? Expect::kValue : Expect::kAnd;
        } else {
            place.expect = lower == "and" || lower == "or" ? Expect::kKey
                           : word == ","                   ? Expect::kValue
                                                           : Expect::kAnd;
        }
    }
    place.start = static_cast<int>(before.size());
    return place;
}

QStringList keyCandidates(const FilterNames& names) {
    QStringList keys;
    for (const search::Attribute& attribute : search::attributes()) {
        keys.append(qtext(std::string(attribute.name)));
    }
    for (const QString& name : names.metrics) {
        keys.append(filterKey("metrics", name));
    }
    for (const QString& name : names.params) {
        keys.append(filterKey("params", name));
    }
    for (const QString& name : names.tags) {
        keys.append(filterKey("tags", name));
    }
    return keys + keyWords();
}

QStringList candidatesOf(const Place& place, const FilterNames& names) {
    switch (place.expect) {
        case Expect::kKey:
            return keyCandidates(names);
        case Expect::kOperator:
            return isNumericKey(place.key)
                       ? QStringList{">", ">=", "<", "<=", "=", "!=", "IS NULL", "IS NOT NULL"}
                       : QStringList{"=",    "!=",       "LIKE",    "ILIKE",
                                     "IN (", "NOT IN (", "IS NULL", "IS NOT NULL"};
        case Expect::kValue:
            if (place.key == "state") {
                return {"'running'", "'finished'", "'failed'",  "'cancelled'",
                        "'queued'",  "'starting'", "'stopping'"};
            }
            return isTimeKey(place.key)
                       ? QStringList{"today", "yesterday", "1h", "24h", "7d", "30d"}
                       : QStringList{};
        case Expect::kAnd:
            break;
    }
    return {"AND ", "OR "};
}

}  // namespace

bool isFilterExpression(const QString& text) {
    static const QRegularExpression kOperator(
        R"([=<>!]|\b(i?like\b\s*['"]|is\s+(not\s+)?null\b|(not\s+)?in\s*\())",
        QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression kEntity(
        R"(^\s*(metrics?|params?|parameters?|tags?|attributes?|attr|run)\.)");
    static const QRegularExpression kTime(
        R"(^\s*(not\s+)?\(?\s*(since|before)\s+['"]?(\d|now|today|yesterday))",
        QRegularExpression::CaseInsensitiveOption);
    return kOperator.match(text).hasMatch() || kEntity.match(text).hasMatch() ||
           kTime.match(text).hasMatch();
}

bool isFilterStart(const QString& text) {
    static const QRegularExpression kBegun(
        R"(^\s*(?:not\b\s*|\(\s*)*(\w*)(?:\s+(?:i?l?i?k?e?|i[ns]?|not?|is\s+\w*|not\s+\w*))?\s*$)",
        QRegularExpression::CaseInsensitiveOption);
    const auto match = kBegun.match(text);
    if (!match.hasMatch()) {
        return false;
    }
    const QString word = match.captured(1);
    const bool isWhole = !text.endsWith(word);
    const auto begins = [&](const QString& key) {
        return isWhole ? key == word : key.startsWith(word, Qt::CaseInsensitive);
    };
    const QStringList keys = keyCandidates({});
    static const QStringList kEntities = {"metrics.", "params.", "tags.", "attributes."};
    return std::ranges::any_of(keys, begins) || std::ranges::any_of(kEntities, begins);
}

QString filterKey(const QString& entity, const QString& name) {
    static const QRegularExpression kPlain(R"(^[A-Za-z0-9_.\-]+$)");
    return kPlain.match(name).hasMatch() ? entity + '.' + name : entity + ".\"" + name + '"';
}

FilterCompletion completeFilter(const QString& text, int cursor, const FilterNames& names) {
    const QString before = text.left(cursor);
    const Place place = placeAt(before);
    const QString typed = before.mid(place.start);
    FilterCompletion completion{place.start, static_cast<int>(typed.size()), {}};
    QStringList inside;
    for (const QString& candidate : candidatesOf(place, names)) {
        if (candidate.compare(typed, Qt::CaseInsensitive) == 0) {
            continue;
        }
        if (candidate.startsWith(typed, Qt::CaseInsensitive)) {
            completion.candidates.append(candidate);
        } else if (candidate.contains(typed, Qt::CaseInsensitive)) {
            inside.append(candidate);
        }
    }
    completion.candidates += inside;
    return completion;
}

}  // namespace millrace::gui
