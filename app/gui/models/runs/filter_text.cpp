#include "app/gui/models/runs/filter_text.h"

#include <QRegularExpression>
#include <algorithm>

namespace millrace::gui {
namespace {

enum class Expect { kKey, kOperator, kValue, kAnd };

struct Place {
    Expect expect = Expect::kKey;
    QString key;    ///< of the clause at the cursor
    int start = 0;  ///< of the word at the cursor
};

const QStringList& attributes() {
    static const QStringList kNames = {
        "name",         "state",   "variation",   "id",        "project",     "owner",     "host",
        "note",         "created", "started",     "end_time",  "attempt",     "step",      "epoch",
        "rows_trained", "seed",    "base_run_id", "spec_hash", "stream_hash", "git_commit"};
    return kNames;
}

bool isNumericKey(const QString& key) {
    static const QStringList kNumeric = {"created", "started", "end_time",     "attempt",
                                         "step",    "epoch",   "rows_trained", "seed"};
    return key.startsWith("metric") || kNumeric.contains(key);
}

bool isBreak(QChar c) {
    return c.isSpace() || QStringView(u"=!<>(),").contains(c);
}

// Reads clauses up to the cursor; the last word is what is being typed.
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
        if (place.expect == Expect::kKey) {
            place.key = word;
            place.expect = Expect::kOperator;
        } else if (place.expect == Expect::kOperator) {
            const bool isMore = lower == "is" || lower == "not";
            place.expect = isMore ? Expect::kOperator : Expect::kValue;
            place.expect = lower == "null" ? Expect::kAnd : place.expect;
        } else if (place.expect == Expect::kValue) {
            const bool isInList = word == "(" || word == ",";
            place.expect = isInList ? Expect::kValue : Expect::kAnd;
        } else {
            place.expect = lower == "and" ? Expect::kKey
                           : word == ","  ? Expect::kValue
                                          : Expect::kAnd;
        }
    }
    place.start = static_cast<int>(before.size());
    return place;
}

QStringList keyCandidates(const FilterNames& names) {
    QStringList keys = attributes();
    for (const QString& name : names.metrics) {
        keys.append(filterKey("metrics", name));
    }
    for (const QString& name : names.params) {
        keys.append(filterKey("params", name));
    }
    for (const QString& name : names.tags) {
        keys.append(filterKey("tags", name));
    }
    return keys;
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
            return {};
        case Expect::kAnd:
            break;
    }
    return {"AND "};
}

}  // namespace

bool isFilterExpression(const QString& text) {
    static const QRegularExpression kOperator(
        R"([=<>!]|\b(i?like\b\s*['"]|is\s+(not\s+)?null\b|(not\s+)?in\s*\())",
        QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression kEntity(
        R"(^\s*(metrics?|params?|parameters?|tags?|attributes?|attr|run)\.)");
    return kOperator.match(text).hasMatch() || kEntity.match(text).hasMatch();
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
