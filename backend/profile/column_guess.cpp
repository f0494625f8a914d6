#include "backend/profile/column_guess.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

#include "backend/profile/date_note.h"
#include "backend/text/text.h"

namespace millrace::profile {
namespace {

// Integers with fewer distinct values get a table instead of counting as numbers.
constexpr double kFewValues = 64;
// Integers with up to this many values count as numbers if the values are far apart.
constexpr double kFewFarApart = 256;
// In a dataset that was read completely, up to this many values are counted and get a row each.
constexpr double kMostCounted = 65536;
// Integers spread this widely, relative to their number of values, count as measurements, not ids.
constexpr double kWideSpread = 10;
constexpr double kSmallNumber = 1000;
// A value in fewer rows than this teaches a model nothing by itself.
constexpr double kFewRepeats = 5;
// A column of almost only distinct values identifies rows and is useless as a feature.
constexpr double kRowKeyShare = 0.98, kFreeTextShare = 0.5;
// An id of more values than this that rarely repeat costs a table of gigabytes and teaches nothing.
constexpr double kMostRareIds = 500'000;
// Among fewer values, many that differ say little.
constexpr std::int64_t kEnoughValues = 100;
constexpr double kLongText = 64;  // bytes on average
// From here on a double does not hold every whole number.
constexpr double kLeastInexact = 9007199254740992;

// Words that mark a name as an id's at any position.
constexpr std::array<std::string_view, 14> kIdWords{"id",   "ids",   "uid",  "uuid", "guid",
                                                    "pid",  "token", "hash", "sku",  "key",
                                                    "code", "zip",   "isbn", "asin"};
// Things with ids: as the last word of a name, or before "id" ("userid").
constexpr std::array<std::string_view, 30> kThings{
    "user",     "item",       "movie",     "product",  "article",  "ad",     "banner",   "creative",
    "campaign", "advertiser", "publisher", "device",   "site",     "app",    "category", "brand",
    "store",    "shop",       "seller",    "merchant", "customer", "client", "query",    "doc",
    "page",     "session",    "city",      "country",  "region",   "channel"};
// The last word of a name whose values are counts or measurements.
constexpr std::array<std::string_view, 30> kMeasures{
    "count",  "counts", "num",     "age",    "price",  "amount",  "qty",     "quantity",
    "score",  "rate",   "ratio",   "days",   "hours",  "minutes", "seconds", "duration",
    "length", "size",   "width",   "height", "weight", "total",   "sum",     "mean",
    "cost",   "salary", "balance", "gain",   "loss",   "float"};

bool has(std::span<const std::string_view> words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// The words of a name in lower case: "movieId", "movie_id" and "movie id" have two.
std::vector<std::string> wordsOf(const std::string& name) {
    std::vector<std::string> words;
    bool isOpen = false, wasLower = false;
    for (const char raw : name) {
        const auto c = static_cast<unsigned char>(raw);
        if (std::isalpha(c) == 0) {
            isOpen = wasLower = false;
            continue;
        }
        if (!isOpen || (wasLower && std::isupper(c) != 0)) {
            words.emplace_back();
        }
        isOpen = true;
        wasLower = std::islower(c) != 0;
        words.back() += static_cast<char>(std::tolower(c));
    }
    return words;
}

bool isNamedLikeMeasure(const std::string& name) {
    const std::vector<std::string> words = wordsOf(name);
    return !words.empty() && has(kMeasures, words.back());
}

// All values are seconds since 1970 in the years 2001 to 2033; few other numbers are all in there.
bool isUnixTime(const ColumnProfile& column) {
    constexpr double kLeast = 1e9, kMost = 2e9;
    return (column.type().isInteger() || column.type().isFloat()) && column.hasNumbers() &&
           column.nans() == 0 && column.min() >= kLeast && column.max() <= kMost &&
           !isNamedLikeId(column.name()) && !isNamedLikeMeasure(column.name());
}

bool isTime(const ColumnProfile& column) {
    const std::vector<std::string> words = wordsOf(column.name());
    const bool isNamed = std::ranges::any_of(words, [](const std::string& word) {
        return word.find("time") != std::string::npos || word == "ts" || word == "at";
    });
    const bool isEpoch = column.hasNumbers() && column.min() > 1e8 && column.max() < 5e18;
    return column.type().isTemporal() ||
           (isNamed && isEpoch && (column.type().isInteger() || column.type().isFloat()));
}

std::string counted(double count) {
    return formatCount(static_cast<std::int64_t>(std::llround(count)));
}

double valuesOf(const ColumnProfile& column) {
    return static_cast<double>(column.rows() - column.nulls());
}

double repeatsOf(const ColumnProfile& column) {
    return valuesOf(column) / std::max(1.0, column.distinct());
}

std::string different(const ColumnProfile& column) {
    return column.distinct() == 1 ? "one value"
                                  : strCat(column.isDistinctExact() ? "" : "about ",
                                           counted(column.distinct()), " different values");
}

double spreadOf(const ColumnProfile& column) {
    return column.max() - column.min() + 1;
}

bool isRowKey(const ColumnProfile& column) {
    return column.rows() - column.nulls() > kEnoughValues &&
           column.distinct() > kRowKeyShare * valuesOf(column);
}

Guess leftOut(const ColumnProfile& column, std::string why) {
    return {&column, Use::kLeftOut, std::move(why), false};
}

Guess rowKey(const ColumnProfile& column) {
    return {&column, Use::kLeftOut, "nearly every row has its own value", true};
}

Guess ofList(const ColumnProfile& column) {
    const expr::DataType element = column.type().element();
    if (element.isTemporal()) {
        return leftOut(column, strCat("lists of ", element.name(),
                                      "s: only the `time` of a sequence takes them "
                                      "(features.sequences)"));
    }
    if (column.type().listSize > 0 && element.isFloat()) {
        return {&column, Use::kVector, strCat(column.type().listSize, " floats a row"), false};
    }
    if (!element.isInteger() && !element.isString()) {
        return leftOut(column, strCat("lists of ", element.name(), "s of any length"));
    }
    return {&column, Use::kList,
            strCat("lists of ids: ", different(column), ", ", shortNumber(column.meanLength()),
                   " a row"),
            false};
}

Guess ofText(const ColumnProfile& column) {
    if (isRowKey(column)) {
        return rowKey(column);
    }
    const bool isRare = column.rows() - column.nulls() > kEnoughValues &&
                        column.distinct() > kFreeTextShare * valuesOf(column);
    if ((isRare && column.distinct() > kMostRareIds) ||
        (!isNamedLikeId(column.name()) && (isRare || column.meanLength() > kLongText))) {
        return leftOut(column, strCat("free text: ", different(column), " in ",
                                      counted(valuesOf(column)), " texts"));
    }
    return {&column, Use::kId, strCat("texts, ", different(column)), false};
}

Guess ofDateTexts(const ColumnProfile& column) {
    const std::string expression = timeOfTexts(column);
    if (expression.empty()) {
        return leftOut(column, "dates, but the values do not tell which number is the day");
    }
    return {&column, Use::kTime,
            strCat("dates as text, which `", expression,
                   "` reads: what matters is the weekday, the month or an age, which a derive step "
                   "makes"),
            false};
}

Guess ofFloat(const ColumnProfile& column) {
    if (!column.hasNumbers()) {
        return leftOut(column, "no value seen");
    }
    // pandas stores whole numbers with nulls among them as floats.
    const bool isExact = column.nans() == 0 && column.type().isFloat() &&
                         std::max(std::abs(column.min()), std::abs(column.max())) < kLeastInexact;
    if (isNamedLikeId(column.name()) && column.isWhole() && isExact) {
        return isRowKey(column)
                   ? rowKey(column)
                   : Guess{.column = &column,
                           .use = Use::kId,
                           .why = strCat("named like an id, whole numbers stored as ",
                                         column.type().name(), ", ", different(column)),
                           .isReadAsInt64 = true};
    }
    if (isNamedLikeId(column.name()) && column.isWhole()) {
        return leftOut(column, strCat("named like an id, but stored as ", column.type().name(),
                                      ": with `dataset.types: {", yamlScalar(column.name(), true),
                                      ": int64}` it can be one of features.ids"));
    }
    return {&column, Use::kDense,
            strCat("numbers, ", shortNumber(column.min()), " to ", shortNumber(column.max())),
            false};
}

Guess ofInteger(const ColumnProfile& column) {
    const auto dense = [&](std::string_view why) {
        return Guess{
            &column, Use::kDense,
            strCat(why, ", ", shortNumber(column.min()), " to ", shortNumber(column.max())), false};
    };
    const auto id = [&](std::string_view why) {
        return Guess{&column, Use::kId, strCat(why, ", ", different(column)), false};
    };
    if (!column.hasNumbers()) {
        return leftOut(column, "no value seen");
    }
    if (isNamedLikeId(column.name())) {
        return isRowKey(column) ? rowKey(column) : id("named like an id");
    }
    if (isNamedLikeMeasure(column.name())) {
        return dense("named like a measure");
    }
    // Values 0, 1, 2, ... are row numbers.
    if (isRowKey(column) && spreadOf(column) < 1.05 * static_cast<double>(column.rows())) {
        return rowKey(column);
    }
    if (column.isZeroOne()) {
        return dense("a flag");
    }
    const double spread = spreadOf(column) / std::max(1.0, column.distinct());
    const bool isWide = column.min() < 0 || spread > kWideSpread;
    if (column.distinct() <= kFewValues && !isWide) {
        return id("a small set");
    }
    if (std::max(std::abs(column.min()), std::abs(column.max())) < kSmallNumber) {
        return dense("small numbers");
    }
    if (repeatsOf(column) < kFewRepeats) {
        return dense("a wide range with few repeats");
    }
    return column.min() < 0 || (isWide && column.distinct() <= kFewFarApart)
               ? dense("a wide range of which few values occur")
               : id("values that repeat");
}

}  // namespace

std::string lower(std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
    return small;
}

std::string shortNumber(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string_view nameOfUse(Use use) {
    switch (use) {
        case Use::kDense:
            return "dense";
        case Use::kId:
            return "id";
        case Use::kList:
            return "list of ids";
        case Use::kVector:
            return "vector";
        case Use::kTime:
            return "time";
        case Use::kLabel:
            return "label";
        case Use::kLeftOut:
            return "left out";
    }
    return "";
}

bool isNamedLikeId(const std::string& name) {
    const std::vector<std::string> words = wordsOf(name);
    if (words.empty()) {
        return false;
    }
    const auto isId = [](const std::string& word) {
        return has(kIdWords, word) ||
               (word.ends_with("id") && has(kThings, word.substr(0, word.size() - 2)));
    };
    return std::ranges::any_of(words, isId) || has(kThings, words.back());
}

bool isCounted(const ColumnProfile& column, bool isComplete) {
    return isComplete && column.distinct() <= kMostCounted;
}

Guess guessOf(const ColumnProfile& column) {
    const expr::DataType& type = column.type();
    if (column.rows() > 0 && column.nulls() == column.rows()) {
        return leftOut(column, "only nulls");
    }
    // pandas stores an index without a name as __index_level_0__.
    if (column.name() == "row_names" || column.name().starts_with("__index_level_")) {
        return leftOut(column, "the names of the rows");
    }
    if (!type.isList && column.rows() > 1 && column.nulls() == 0 && column.distinct() == 1) {
        return leftOut(column, "the same value in every row");
    }
    if (type.isList) {
        return ofList(column);
    }
    if (isTime(column)) {
        return {&column, Use::kTime,
                "a time: what matters is the hour, the day or an age, which a derive step makes",
                false};
    }
    if (!type.isList && isUnixTime(column)) {
        return {&column, Use::kTime,
                "all values are like seconds since 1970: a time, of which a derive step makes the "
                "hour, the day or an age",
                false};
    }
    if (type.isString()) {
        return column.dateFormats().empty() ? ofText(column) : ofDateTexts(column);
    }
    if (type.isBool()) {
        return {&column, Use::kDense, "true or false", false};
    }
    if (type.isFloat() || type.kind == expr::TypeKind::kDecimal) {
        return ofFloat(column);
    }
    return type.isInteger() ? ofInteger(column) : leftOut(column, strCat("type ", type.name()));
}

std::vector<std::string> missingTexts(const ColumnProfile& column) {
    static constexpr std::array<std::string_view, 9> kMissing{"",     "na",   "n/a", "nan", "null",
                                                              "<na>", "#n/a", "?",   "."};
    std::vector<std::string> missing;
    for (const auto& [text, count] : column.texts()) {
        if (has(kMissing, lower(text))) {
            missing.push_back(text);
        }
    }
    return column.texts().size() == missing.size() + 2 ? missing : std::vector<std::string>();
}

std::string positiveText(const ColumnProfile& column) {
    static constexpr std::array<std::string_view, 7> kYes{"yes", "true", "y",       "t",
                                                          "1",   "pos",  "positive"};
    auto texts = column.texts();
    for (const std::string& missing : missingTexts(column)) {
        texts.erase(missing);
    }
    const bool isWhole = column.distinct() == static_cast<double>(column.texts().size());
    if (!column.type().isString() || texts.size() != 2 || !isWhole) {
        return "";
    }
    const auto &first = *texts.begin(), &second = *texts.rbegin();
    const bool isFirst = has(kYes, lower(first.first)), isSecond = has(kYes, lower(second.first));
    if (isFirst != isSecond) {
        return isFirst ? first.first : second.first;
    }
    return first.second < second.second ? first.first : second.first;
}

bool hasTwoClasses(const ColumnProfile& column) {
    return !column.type().isList && (column.isZeroOne() || !positiveText(column).empty());
}

int labelScore(const ColumnProfile& column) {
    static constexpr std::array<std::string_view, 23> kNames{
        "label",      "target",   "click",     "clicked", "y",       "converted",
        "conversion", "purchase", "purchased", "liked",   "like",    "fraud",
        "churn",      "churned",  "survived",  "default", "outcome", "class",
        "response",   "rating",   "income",    "stars",   "score"};
    const expr::DataType& type = column.type();
    const bool isTwo = hasTwoClasses(column);
    if (!isTwo && (type.isList || (!type.isNumber() && !type.isBool()) || !column.hasNumbers())) {
        return 0;
    }
    std::string name = lower(column.name().substr(0, column.name().find(':')));
    const bool isQuestion = name.starts_with("is_") || name.starts_with("has_");
    if (isQuestion && isTwo) {
        name = name.substr(name.find('_') + 1);
    }
    const auto named = std::ranges::find(kNames, name);
    int score = named == kNames.end() ? 0 : 100 - static_cast<int>(named - kNames.begin());
    if (score == 0 && (name.starts_with("label") || name.ends_with("_label"))) {
        score = 80;
    }
    if (score == 0 && isQuestion && isTwo) {
        score = kNamedLabel;
    }
    // Two classes are worth more than the best name of a column that has not.
    return score > 0 ? score + (isTwo ? 100 : 0) : column.isZeroOne() ? kNamedLabel / 2 : 0;
}

std::vector<std::string> guessRules() {
    const auto whole = [](double value) { return counted(value); };
    return {
        "named like an id (id, token, key, code, user, item, ...): an id; named like a measure "
        "(count, age, price, ...): a number",
        strCat("other integers: an id up to ", whole(kFewValues),
               " different values that are close together, a number if all are below ",
               whole(kSmallNumber), ", if a value occurs in fewer than ", whole(kFewRepeats),
               " rows on average, if some are negative, or if up to ", whole(kFewFarApart),
               " values are ", whole(kWideSpread), " times as far apart as they are many"),
        strCat("texts: ids, unless more than ", whole(100 * kFreeTextShare), " % of more than ",
               whole(kEnoughValues), " differ or they have more than ", whole(kLongText),
               " bytes on average"),
        strCat("left out: columns of more than ", whole(kEnoughValues),
               " values of which more than ", whole(100 * kRowKeyShare),
               " % differ, unless they are measurements; nulls are not counted"),
        "times: dates and times; numbers that are all seconds of 2001 to 2033 since 1970, unless "
        "named like an id or a measure; texts that one date format reads",
        strCat("up to ", whole(kMostCounted),
               " values in a dataset that was read whole: a counted vocabulary, a row for each "
               "value; more: hashed into at least 65,536 rows"),
    };
}

}  // namespace millrace::profile
