#include "backend/profile/first_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>

#include "backend/core/text.h"
#include "backend/profile/spec_split.h"

namespace millrace::profile {

namespace {

enum class Use { kDense, kId, kList, kVector, kTime, kLabel, kLeftOut };

struct Choice {
    const ColumnProfile* column = nullptr;
    Use use = Use::kLeftOut;
    std::string why;
};

// Numbers with fewer different values are looked up in a table rather than taken by size.
constexpr double kFewValues = 64;
// Ids with more different values than this share of the rows repeat too rarely to learn from.
constexpr double kRowKeyShare = 0.98;
constexpr std::int64_t kLeastTable = 16, kMostTable = std::int64_t{1} << 24;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return text;
}

bool looksLikeId(const std::string& name) {
    const std::string small = lower(name);
    for (const char* ending : {"id", "_key", "_code", "_hash"}) {
        if (small.ends_with(ending)) {
            return true;
        }
    }
    return false;
}

bool looksLikeTime(const ColumnProfile& column) {
    const std::string name = lower(column.name());
    const bool isNamed = name.find("time") != std::string::npos || name == "ts" ||
                         name.ends_with("_ts") || name.ends_with("_at");
    const bool isEpoch = column.hasNumbers() && column.min() > 1e8 && column.max() < 5e18;
    return column.type().isTemporal() || (isNamed && isEpoch && column.type().isInteger());
}

// How much a column looks like what is to be predicted; 0: not at all.
int labelScore(const ColumnProfile& column) {
    static constexpr std::array<const char*, 14> kNames{
        "label",      "target",   "click",     "clicked", "is_click", "y",      "converted",
        "conversion", "purchase", "purchased", "liked",   "like",     "rating", "response"};
    if (column.type().isList || (!column.type().isNumber() && !column.type().isBool()) ||
        !column.hasNumbers()) {
        return 0;
    }
    const std::string name = lower(column.name());
    const auto named = std::find(kNames.begin(), kNames.end(), name);
    int score = named == kNames.end() ? 0 : 100 - static_cast<int>(named - kNames.begin());
    if (score == 0 && (name.starts_with("label") || name.ends_with("_label"))) {
        score = 80;
    }
    if (column.isZeroOne()) {
        return score + (score > 0 ? 100 : 20);
    }
    return score;
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", 100 * share);
    return text;
}

// All digits: a border of the label must not move.
std::string exactly(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.15g", value);
    return text;
}

// The next power of two that holds twice as many ids, so that few share a row.
std::int64_t tableRows(double distinct) {
    std::int64_t rows = kLeastTable;
    while (rows < kMostTable && static_cast<double>(rows) < 2 * distinct) {
        rows *= 2;
    }
    return rows;
}

Choice choose(const ColumnProfile& column) {
    const expr::DataType& type = column.type();
    const std::string values =
        strCat("about ", formatCount(static_cast<std::int64_t>(std::llround(column.distinct()))),
               " different values");
    if (column.rows() > 0 && column.nulls() == column.rows()) {
        return {&column, Use::kLeftOut, "only nulls"};
    }
    if (type.isList && type.listSize > 0 && !type.element().isInteger()) {
        return {&column, Use::kVector, strCat(type.listSize, " floats a row")};
    }
    if (type.isList) {
        const bool isFloat = type.element().isFloat();
        return {&column, isFloat ? Use::kLeftOut : Use::kList,
                isFloat ? "lists of floats of any length"
                        : strCat(values, ", ", number(column.meanLength()), " a row")};
    }
    if (looksLikeTime(column)) {
        return {&column, Use::kTime, "a time"};
    }
    if (type.isString()) {
        return {&column, Use::kId, values};
    }
    if (type.isBool()) {
        return {&column, Use::kDense, "true or false"};
    }
    if (type.isFloat() || type.kind == expr::TypeKind::kDecimal) {
        return {&column, Use::kDense,
                column.hasNumbers()
                    ? strCat(number(column.quantile(0.01)), " to ", number(column.quantile(0.99)))
                    : "no value seen"};
    }
    if (!type.isInteger()) {
        return {&column, Use::kLeftOut, strCat("type ", type.name())};
    }
    const bool isSmall = column.hasNumbers() && std::abs(column.max()) < 1000 &&
                         std::abs(column.min()) < 1000 && column.distinct() > kFewValues;
    return isSmall && !looksLikeId(column.name()) ? Choice{&column, Use::kDense, values}
                                                  : Choice{&column, Use::kId, values};
}

// A name as YAML: plain where that is safe.
std::string yamlText(const std::string& text) {
    const bool isPlain =
        !text.empty() &&
        std::all_of(text.begin(), text.end(),
                    [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; }) &&
        !std::isdigit(static_cast<unsigned char>(text.front())) && text.front() != '.' &&
        lower(text) != "null" && lower(text) != "true" && lower(text) != "false" &&
        lower(text) != "yes" && lower(text) != "no" && lower(text) != "on" &&
        lower(text) != "off" && lower(text) != "y" && lower(text) != "n";
    if (isPlain) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    }
    return quoted + "\"";
}

class Writer {
 public:
    Writer(const DatasetProfile& profile, const FirstSpecOptions& options)
        : profile_(profile), options_(options) {}

    Result<FirstSpec> write() {
        RETURN_IF_ERROR(chooseLabel());
        for (const ColumnProfile& column : profile_.columns) {
            Choice choice = choose(column);
            if (&column == label_) {
                choice = {&column, Use::kLabel, ""};
            }
            choices_.push_back(std::move(choice));
        }
        alignSiblings();
        leaveOutKeys();
        const bool hasFeature =
            count(Use::kDense) + count(Use::kId) + count(Use::kList) + count(Use::kVector) > 0;
        if (!hasFeature) {
            return invalidArgument(options_.paths.front(),
                                   ": no column that a model could learn from");
        }
        RETURN_IF_ERROR(splitRows());
        head();
        recipe();
        labels();
        features();
        embeddings();
        rest();
        return std::move(spec_);
    }

 private:
    template <class... Parts>
    void line(const Parts&... parts) {
        strAppend(&spec_.text, parts..., "\n");
    }
    std::size_t count(Use use) const {
        return static_cast<std::size_t>(
            std::count_if(choices_.begin(), choices_.end(),
                          [use](const Choice& choice) { return choice.use == use; }));
    }

    Status chooseLabel() {
        int best = 0;
        for (const ColumnProfile& column : profile_.columns) {
            const int score = options_.label.empty() ? labelScore(column)
                                                     : (column.name() == options_.label ? 1000 : 0);
            if (score > best) {
                best = score;
                label_ = &column;
            }
        }
        if (label_ == nullptr) {
            std::vector<std::string> names;
            for (const ColumnProfile& column : profile_.columns) {
                names.push_back(column.name());
            }
            return options_.label.empty()
                       ? invalidArgument(options_.paths.front(),
                                         ": no column looks like a label; --label says which one "
                                         "is to be predicted")
                       : invalidArgument("--label: the dataset has no column '", options_.label,
                                         "'", nameHint(options_.label, names));
        }
        if (!label_->hasNumbers()) {
            return invalidArgument("--label: column '", label_->name(), "' of type ",
                                   label_->type().name(), " has no numbers to predict");
        }
        spec_.label = label_->name();
        return okStatus();
    }

    // s00, s01, ...: what most of such a family is, all of it is.
    void alignSiblings() {
        std::map<std::string, int> ids;
        const auto familyOf = [](const ColumnProfile& column) {
            const std::string& name = column.name();
            return name.substr(0, name.find_last_not_of("0123456789") + 1);
        };
        const auto isInteger = [](const Choice& choice) {
            return choice.column->type().isInteger() && choice.use != Use::kLabel;
        };
        for (const Choice& choice : choices_) {
            if (isInteger(choice)) {
                ids[familyOf(*choice.column)] += choice.use == Use::kId ? 1 : -1;
            }
        }
        for (Choice& choice : choices_) {
            const bool isFamily = familyOf(*choice.column) != choice.column->name();
            if (choice.use == Use::kDense && isInteger(choice) && isFamily &&
                ids[familyOf(*choice.column)] > 0) {
                choice.use = Use::kId;
            }
        }
    }

    // The request tells rows apart that are to be judged together: no feature.
    void leaveOutKeys() {
        for (Choice& choice : choices_) {
            const bool isRequest = profile_.request &&
                                   choice.column->name() == profile_.request->column &&
                                   lower(choice.column->name()).find("user") == std::string::npos;
            const bool isRowKey = choice.use == Use::kId && choice.column->rows() > 1000 &&
                                  choice.column->distinct() >
                                      kRowKeyShare * static_cast<double>(choice.column->rows());
            if (isRequest && choice.use == Use::kId) {
                choice.use = Use::kLeftOut;
                choice.why = "the request: it says which rows belong together";
            } else if (isRowKey) {
                choice.use = Use::kLeftOut;
                choice.why = "nearly every row has its own value";
            }
        }
    }

    void head() {
        line("# A first spec, made from the columns of the dataset. Read it, change it, then:");
        line("#   millrace check FILE     what is wrong with it");
        line("#   millrace sample FILE    rows before and after each step");
        line("#   millrace preview FILE   what it would keep and cost");
        line("#   millrace run FILE       train on it");
        line("# Figures are from ", formatCount(profile_.rowsRead), " of ",
             formatCount(profile_.rows), " rows.");
        line("name: ", yamlText(options_.name));
        std::string paths;
        for (const std::string& path : options_.paths) {
            strAppend(&paths, paths.empty() ? "" : ", ", yamlText(path));
        }
        line("dataset:");
        line("  path: ", options_.paths.size() == 1 ? paths : strCat("[", paths, "]"));
        if (!options_.format.empty()) {
            line("  format: ", options_.format);
        }
        line("  # ", split_.why);
        if (!split_.instead.empty()) {
            line("  # A part by a hash instead: ", split_.instead, " < 0.9, below >= 0.9.");
        }
        line("  where: ", yamlQuoted(split_.train));
    }

    static std::string yamlQuoted(const std::string& text) {
        std::string quoted = "'";
        for (const char c : text) {
            quoted += c == '\'' ? std::string("''") : std::string(1, c);
        }
        return quoted + "'";
    }

    // What may tell rows apart: ids first, then what is no feature, then any value.
    Status splitRows() {
        std::vector<const ColumnProfile*> times, keys;
        const auto addKeys = [&](auto fits) {
            for (const Choice& choice : choices_) {
                const bool isNew = std::find(keys.begin(), keys.end(), choice.column) == keys.end();
                if (isNew && choice.use != Use::kLabel && fits(choice)) {
                    keys.push_back(choice.column);
                }
            }
        };
        for (const Choice& choice : choices_) {
            if (choice.use == Use::kTime) {
                times.push_back(choice.column);
            }
        }
        addKeys([](const Choice& c) { return c.use == Use::kId && looksLikeId(c.column->name()); });
        addKeys([](const Choice& c) { return c.use == Use::kId || c.use == Use::kLeftOut; });
        addKeys([](const Choice&) { return true; });
        auto split = chooseSplit(profile_, times, keys);
        RETURN_IF_ERROR(annotate(split.status(), options_.paths.front()));
        split_ = std::move(*split);
        return okStatus();
    }

    void recipe() {
        const bool hasNull = label_->nulls() > 0;
        line("recipe:");
        line("  # Steps run in this order. Variations switch them on, or change their numbers.");
        if (hasNull) {
            line("  - {name: labelled, filter: ",
                 yamlQuoted(strCat(sqlName(label_->name()), " is not null")), "}");
        }
        line("  - {name: negatives, sample: {where: ",
             yamlQuoted(strCat("not (", labelExpr(), ")")), ", keep: 1.0, weight: inverse}}");
        if (count(Use::kTime) > 0) {
            line(
                "  # Times are no features as they stand: what matters is the hour, the day, an "
                "age.");
        }
    }

    // As a condition: what a positive is.
    std::string labelExpr() const {
        const std::string name = sqlName(label_->name());
        if (label_->type().isBool()) {
            return name;
        }
        if (label_->isZeroOne()) {
            return strCat(name, " = 1");
        }
        return strCat(name, " >= ", exactly(label_->quantile(0.5)));
    }

    void labels() {
        if (label_->isZeroOne()) {
            line("# ", percent(label_->onesShare()), " % of the rows are positive.");
        } else {
            line("# '", label_->name(), "' goes from ", number(label_->min()), " to ",
                 number(label_->max()),
                 ": positive is its upper half. Change it to what you mean.");
            spec_.notes.push_back(
                strCat("label: positive is ", labelExpr(), "; change it to what you mean"));
        }
        line("labels:");
        line("  ", yamlText(headName()), ": ", yamlQuoted(labelExpr()));
    }

    std::string headName() const {
        std::string name;
        for (const char c : label_->name()) {
            name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
        }
        return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "label"
                                                                                           : name;
    }

    void list(const char* key, Use use) {
        if (count(use) == 0) {
            return;
        }
        line("  ", key, ":");
        for (const Choice& choice : choices_) {
            if (choice.use == use) {
                line("    - ", yamlText(choice.column->name()),
                     choice.why.empty() ? "" : strCat("  # ", choice.why, nullsOf(choice)));
            }
        }
    }
    static std::string nullsOf(const Choice& choice) {
        const ColumnProfile& column = *choice.column;
        return column.nulls() == 0
                   ? ""
                   : strCat(", ",
                            number(100.0 * static_cast<double>(column.nulls()) /
                                   static_cast<double>(std::max<std::int64_t>(1, column.rows()))),
                            " % nulls");
    }

    void features() {
        line("features:");
        list("dense", Use::kDense);
        list("vectors", Use::kVector);
        list("ids", Use::kId);
        list("lists", Use::kList);
        if (profile_.request) {
            line("  # Rows with one of these have the same lists: they are kept once.");
            line("  request: ", yamlText(profile_.request->column));
        }
        for (const Choice& choice : choices_) {
            if (choice.use == Use::kLeftOut || choice.use == Use::kTime) {
                line("  # left out: ", choice.column->name(), " (", choice.why, ")");
            }
        }
    }

    void embeddings() {
        if (count(Use::kId) + count(Use::kList) == 0) {
            return;
        }
        line("# Ids are hashed into this many rows: twice as many as there are different ones.");
        line("embeddings:");
        for (const Choice& choice : choices_) {
            if (choice.use == Use::kId || choice.use == Use::kList) {
                line("  ", yamlText(choice.column->name()),
                     ": {rows: ", tableRows(choice.column->distinct()), "}");
            }
        }
        if (!profile_.isComplete()) {
            spec_.notes.push_back(strCat("embeddings: sized from ", formatCount(profile_.rowsRead),
                                         " rows; more rows have more ids"));
        }
    }

    void rest() {
        const std::int64_t batch = profile_.rows < 100'000 ? 256 : 4096;
        line("batch: {rows: ", batch, ", micro_rows: ", batch / 2,
             ", epochs: 1, seed: 1, shuffle: ",
             profile_.request && profile_.request->adjacentShare() >= 0.9 ? "requests" : "rows",
             "}");
        const bool hasDense = count(Use::kDense) + count(Use::kVector) > 0;
        if (count(Use::kId) + count(Use::kList) > 0 && hasDense) {
            line("model: {type: dlrm, embedding_dim: 16, bottom: [64, 16], top: [64, 1]}");
        } else {
            line("model: {type: mlp, hidden: [64, 32]}");
        }
        line("train: {optimizer: adamw, learning_rate: 0.001, checkpoint: {every_steps: 200}}");
        line("eval:");
        line("  dataset: {where: ", yamlQuoted(split_.eval), "}");
        line("  metrics: [auc, normalized_entropy, calibration]");
        line("variations:");
        line("  - {name: keep-50, set: {recipe.negatives.keep: 0.5}}");
    }

    const DatasetProfile& profile_;
    const FirstSpecOptions& options_;
    const ColumnProfile* label_ = nullptr;
    std::vector<Choice> choices_;
    SpecSplit split_;
    FirstSpec spec_;
};

}  // namespace

Result<FirstSpec> firstSpec(const DatasetProfile& profile, const FirstSpecOptions& options) {
    return Writer(profile, options).write();
}

}  // namespace millrace::profile
