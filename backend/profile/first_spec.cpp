#include "backend/profile/first_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <span>
#include <utility>

#include <absl/strings/str_join.h>

#include "backend/expr/expression.h"
#include "backend/profile/date_note.h"
#include "backend/profile/first_label.h"
#include "backend/profile/first_training.h"
#include "backend/profile/list_note.h"
#include "backend/profile/number_note.h"
#include "backend/profile/spec_split.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::profile {

namespace {

constexpr double kUsualTable = 65536;
constexpr std::int64_t kLeastTable = 16, kMostTable = std::int64_t{1} << 24;

// The next power of two that is large enough.
std::int64_t tableRows(double least) {
    std::int64_t rows = kLeastTable;
    while (rows < kMostTable && static_cast<double>(rows) < least) {
        rows *= 2;
    }
    return rows;
}

// A name in YAML: unquoted if that is safe.
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
    return dumpJson(text);  // a text of JSON is one of YAML
}

class Writer {
 public:
    Writer(const DatasetProfile& profile, const FirstSpecOptions& options)
        : profile_(profile), options_(options) {}

    Result<FirstSpec> write() {
        ASSIGN_OR_RETURN(label_, FirstLabel::choose(profile_, options_));
        spec_.label = label_.text();
        spec_.notes = label_.notes();
        for (const ColumnProfile& column : profile_.columns) {
            guesses_.push_back(label_.reads(column)
                                   ? Guess{&column, Use::kLabel, label_.why(), false}
                                   : guessOf(column));
        }
        alignSiblings();
        fillNulls();
        leaveOutRequest();
        leaveOutNameOfBlock();
        const std::vector<std::string> notes = textNotes();
        if (numFeatures() == 0) {
            std::vector<std::string> ways = notes;
            for (const Guess& guess : guesses_) {
                if (guess.use == Use::kTime) {
                    ways.push_back(strCat(
                        "'", guess.column->name(),
                        "' is a time, and a spec that you write makes features "
                        "of it: `derive: {hour: ",
                        yamlQuoted(strCat("hour(", timeExpression(*guess.column), ")")), "}`"));
                }
            }
            return invalidArgument(options_.paths.front(),
                                   ": no column that a model could learn from",
                                   ways.empty() ? "" : strCat("; ", absl::StrJoin(ways, "; ")));
        }
        RETURN_IF_ERROR(splitRows());
        spec_.notes.insert(spec_.notes.end(), notes.begin(), notes.end());
        for (const Guess& guess : guesses_) {
            const std::string why = strCat(guess.why, guess.fill.empty() ? "" : nullsOf(guess));
            spec_.uses.push_back({guess.column->name(), nameOfUse(guess.use), why});
        }
        for (const expr::RefusedColumn& column : profile_.refused) {
            if (!column.hasFields) {
                spec_.uses.push_back({column.name, nameOfUse(Use::kLeftOut), column.why});
            }
        }
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
        std::string text = strCat(parts...);
        std::replace(text.begin(), text.end(), '\n', ' ');  // of a name, in a comment
        strAppend(&spec_.text, text, "\n");
    }
    // Notes on texts that are dates, numbers or lists.
    std::vector<std::string> textNotes() const {
        std::vector<std::string> notes;
        for (const Guess& guess : guesses_) {
            const ColumnProfile& column = *guess.column;
            const bool isText = column.type().isString() && !column.type().isList;
            for (std::string note :
                 {dateNote(column), numberNote(column),
                  isText ? listNote(column.name(), column.examples()) : std::string()}) {
                if (!note.empty()) {
                    notes.push_back(std::move(note));
                }
            }
        }
        return notes;
    }
    std::size_t count(Use use) const {
        return static_cast<std::size_t>(
            std::count_if(guesses_.begin(), guesses_.end(),
                          [use](const Guess& guess) { return guess.use == use; }));
    }

    std::size_t numFeatures() const {
        return count(Use::kDense) + count(Use::kId) + count(Use::kList) + count(Use::kVector);
    }

    // s00, s01, ...: what most of such a family is, all of it is.
    void alignSiblings() {
        std::map<std::string, int> ids;
        const auto familyOf = [](const ColumnProfile& column) {
            const std::string& name = column.name();
            return name.substr(0, name.find_last_not_of("0123456789") + 1);
        };
        const auto isInteger = [](const Guess& guess) {
            return guess.column->type().isInteger() && guess.use != Use::kLabel;
        };
        for (const Guess& guess : guesses_) {
            if (isInteger(guess)) {
                ids[familyOf(*guess.column)] += guess.use == Use::kId ? 1 : -1;
            }
        }
        for (Guess& guess : guesses_) {
            const bool isFamily = familyOf(*guess.column) != guess.column->name();
            if (guess.use == Use::kDense && isInteger(guess) && isFamily &&
                ids[familyOf(*guess.column)] > 0) {
                guess.use = Use::kId;
                guess.why = "like most columns of its family";
            }
        }
    }

    // A model takes a null for 0, which may be far from all other values.
    void fillNulls() {
        for (Guess& guess : guesses_) {
            const ColumnProfile& column = *guess.column;
            if (guess.use == Use::kDense && column.nulls() > 0 && std::isfinite(column.mean())) {
                guess.fill = fillText(column.mean(), column.max() - column.min());
            }
        }
    }

    // The request only tells which rows are judged together: it is not a feature.
    void leaveOutRequest() {
        for (Guess& guess : guesses_) {
            const bool isRequest = profile_.request &&
                                   guess.column->name() == profile_.request->column &&
                                   lower(guess.column->name()).find("user") == std::string::npos;
            if (isRequest && guess.use == Use::kId) {
                guess.use = Use::kLeftOut;
                guess.why = "the request: it says which rows belong together";
            }
        }
    }

    // Dense features are one block with this name in a batch.
    void leaveOutNameOfBlock() {
        for (Guess& guess : guesses_) {
            const bool isFeature =
                guess.use == Use::kId || guess.use == Use::kList || guess.use == Use::kVector;
            if (guess.column->name() == "dense" && isFeature && count(Use::kDense) > 0) {
                guess.use = Use::kLeftOut;
                guess.why =
                    "in a batch the block of dense features has this name: a derive step "
                    "can copy the column under another";
            }
        }
    }

    // Each of its values is in one part only: evaluation could never judge what is learned from
    // them.
    void leaveOutKey() {
        for (Guess& guess : guesses_) {
            const bool isKey = guess.column->name() == split_.key && guess.use == Use::kId;
            if (isKey && numFeatures() > 1) {
                guess.use = Use::kLeftOut;
                guess.why = "the key of the split: no value is in both parts";
                spec_.notes.push_back(
                    strCat("split: rows are told apart by '", split_.key,
                           "', which is therefore no feature; split by something else to use it"));
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
        if (!options_.csv.empty()) {
            line("  csv: ", options_.csv);
        }
        types();
        line("  # ", split_.why);
        if (!split_.instead.empty()) {
            line("  # A part by a hash instead: ", split_.instead, " < 0.9, below >= 0.9.");
        }
        line("  where: ", yamlQuoted(split_.train));
    }

    // Columns that are not read as they are stored.
    void types() {
        std::string types;
        for (const Guess& guess : guesses_) {
            if (guess.isReadAsInt64) {
                strAppend(&types, types.empty() ? "" : ", ", yamlText(guess.column->name()),
                          ": int64");
            }
        }
        if (!types.empty()) {
            line("  # These ids are whole numbers that are stored as floats.");
            line("  types: {", types, "}");
        }
    }

    static std::string yamlQuoted(const std::string& text) {
        const bool isLine = std::none_of(text.begin(), text.end(),
                                         [](unsigned char c) { return std::iscntrl(c) != 0; });
        if (!isLine) {
            return dumpJson(text);
        }
        std::string quoted = "'";
        for (const char c : text) {
            quoted += c == '\'' ? std::string("''") : std::string(1, c);
        }
        return quoted + "'";
    }

    // Prefers keys that are not features, then the column with the most values.
    Status splitRows() {
        std::vector<SplitTime> times;
        std::vector<const ColumnProfile*> keys;
        for (const Guess& guess : guesses_) {
            if (guess.use == Use::kTime) {
                addTime(*guess.column, times);
            } else if (guess.use != Use::kLabel) {
                keys.push_back(guess.column);
            }
        }
        const auto isRowKey = [this](const ColumnProfile* column) {
            return std::ranges::any_of(guesses_, [column](const Guess& guess) {
                return guess.column == column && guess.isRowKey && column->nulls() == 0;
            });
        };
        std::ranges::stable_sort(keys, [&](const auto* a, const auto* b) {
            return std::pair(isRowKey(a), a->distinct()) > std::pair(isRowKey(b), b->distinct());
        });
        // Times of birth say little about what happened when.
        std::ranges::stable_partition(times, [](const SplitTime& time) {
            return lower(time.profile.name()).find("birth") == std::string::npos;
        });
        if (!options_.splitsByTime && !times.empty()) {
            spec_.notes.push_back(strCat("split: by '", times.front().profile.name(),
                                         "' one part has a single value of the label, so a hash "
                                         "decides what is kept for evaluation"));
        }
        auto split = chooseSplit(profile_, options_.splitsByTime ? times : decltype(times)(), keys,
                                 options_.evalShare);
        RETURN_IF_ERROR(annotate(split.status(), options_.paths.front()));
        split_ = std::move(*split);
        leaveOutKey();
        return okStatus();
    }

    // The column's name in SQL; for a text, what makes a time of it.
    static std::string timeExpression(const ColumnProfile& column) {
        const std::string read = timeOfTexts(column);
        return read.empty() ? expr::sqlName(column.name()) : read;
    }

    void addTime(const ColumnProfile& column, std::vector<SplitTime>& times) {
        constexpr std::int64_t kMostNulls = 100;  // one in this many rows
        const ColumnProfile time = column.times().value_or(column);
        if (time.nulls() * kMostNulls <= time.rows()) {
            // Texts that were not read may show no time.
            const bool isRead = column.type().isTemporal() || profile_.isComplete();
            times.push_back({time, timeExpression(column), time.nulls() > 0 || !isRead});
            return;
        }
        spec_.notes.push_back(strCat("split: '", time.name(), "' has ", formatCount(time.nulls()),
                                     " nulls of ", formatCount(time.rows()),
                                     " rows, so it does not decide what is kept for evaluation"));
    }

    // Names the times that texts show, for the steps that a user adds.
    void deriveTimes() {
        for (const Guess& guess : guesses_) {
            const std::string read =
                guess.use == Use::kTime ? timeOfTexts(*guess.column) : std::string();
            if (read.empty()) {
                continue;
            }
            std::string name = guess.column->name() + "_time";
            while (std::ranges::any_of(profile_.columns, [&name](const ColumnProfile& column) {
                return column.name() == name;
            })) {
                name += '_';
            }
            line("  - derive: {", yamlText(name), ": ", yamlQuoted(read), "}");
        }
    }

    void recipe() {
        line("recipe:");
        line("  # Steps run in this order. Variations switch them on, or change their numbers.");
        deriveTimes();
        const std::string labelled = label_.labelled();
        if (!labelled.empty()) {
            line("  - {name: labelled, filter: ", yamlQuoted(labelled), "}");
        }
        line("  - {name: negatives, sample: {where: ",
             yamlQuoted(strCat("not (", label_.expression(), ")")),
             ", keep: 1.0, weight: inverse}}");
        if (count(Use::kTime) > 0) {
            line(
                "  # Raw times are not features: what matters is the hour, the day, an "
                "age.");
        }
    }

    void labels() {
        if (!label_.comment().empty()) {
            line("# ", label_.comment());
        }
        line("labels:");
        line("  ", yamlText(label_.head()), ": ", yamlQuoted(label_.expression()));
    }

    void list(const char* key, Use use) {
        if (count(use) == 0) {
            return;
        }
        line("  ", key, ":");
        for (const Guess& guess : guesses_) {
            if (guess.use == use) {
                const std::string comment = commentOf(guess);
                const std::string name = yamlText(guess.column->name());
                line("    - ",
                     guess.fill.empty() ? name
                                        : strCat("{column: ", name, ", fill: ", guess.fill, "}"),
                     comment.empty() ? "" : strCat("  # ", comment));
            }
        }
    }
    std::string commentOf(const Guess& guess) const {
        std::string text = guess.why.empty() ? "" : strCat(guess.why, nullsOf(guess));
        const auto remark = options_.remarks.find(guess.column->name());
        if (remark != options_.remarks.end()) {
            strAppend(&text, text.empty() ? "" : "; ", remark->second);
        }
        return text;
    }
    static std::string nullsOf(const Guess& guess) {
        const ColumnProfile& column = *guess.column;
        return column.nulls() == 0
                   ? ""
                   : strCat(
                         ", ",
                         shortNumber(100.0 * static_cast<double>(column.nulls()) /
                                     static_cast<double>(std::max<std::int64_t>(1, column.rows()))),
                         " % nulls", guess.fill.empty() ? "" : ", which count as the mean");
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
        for (const Guess& guess : guesses_) {
            if (guess.use == Use::kLeftOut || guess.use == Use::kTime) {
                line("  # left out: ", guess.column->name(), " (", guess.why, ")");
            }
        }
        for (const ColumnUse& unread : std::span(spec_.uses).subspan(guesses_.size())) {
            line("  # left out: ", unread.column, " (", unread.why, ")");
        }
    }

    // The only place that decides how ids become rows of a table.
    void embeddings() {
        std::string counted, hashed;
        for (const Guess& guess : guesses_) {
            if (guess.use != Use::kId && guess.use != Use::kList) {
                continue;
            }
            const ColumnProfile& column = *guess.column;
            const std::string name = yamlText(column.name());
            if (isCounted(column, profile_.isComplete())) {
                strAppend(&counted, "  ", name, ": {vocabulary: auto}\n");
            } else {
                strAppend(&hashed, "  ", name,
                          ": {rows: ", tableRows(std::max(2 * column.distinct(), kUsualTable)),
                          "}\n");
            }
        }
        if (counted.empty() && hashed.empty()) {
            return;
        }
        line("embeddings:");
        if (!counted.empty()) {
            line(
                "  # Each value of the training rows has a row of its own; row 0 is for all "
                "others.");
            strAppend(&spec_.text, counted);
        }
        if (!hashed.empty()) {
            line(
                "  # Ids are hashed into this many rows: at least twice as many as there are "
                "values,");
            line("  # so that few values share a row.");
            strAppend(&spec_.text, hashed);
        }
        if (!profile_.isComplete()) {
            spec_.notes.push_back(strCat("embeddings: sized from ", formatCount(profile_.rowsRead),
                                         " rows; more rows have more ids"));
        }
    }

    TrainingShape trainingShape() const {
        TrainingShape shape;
        shape.trainedRows = options_.trainedRows;
        shape.idAuc = options_.idAuc;
        shape.rows = std::llround(static_cast<double>(profile_.rows) * label_.labelledShare());
        for (const Guess& guess : guesses_) {
            const bool isVector = guess.use == Use::kVector;
            if (guess.use == Use::kDense || isVector) {
                shape.hasDense = true;
                shape.values += isVector ? guess.column->type().listSize : 1;
            } else if (guess.use == Use::kId || guess.use == Use::kList) {
                shape.hasIds = true;
                shape.values += guess.column->distinct();
                shape.mostValues = std::max(shape.mostValues, guess.column->distinct());
            }
        }
        return shape;
    }

    void rest() {
        const FirstTraining training = firstTraining(trainingShape());
        line("batch: {rows: ", training.batch, ", micro_rows: ", training.batch / 2,
             ", epochs: ", training.epochs, ", seed: 1, shuffle: ",
             profile_.request && profile_.request->adjacentShare() >= 0.9 ? "requests" : "rows",
             "}");
        line("model: ", training.model);
        line("train: ", training.train);
        line("eval:");
        // The recipe's filters are for training: rows without a label are left out here, too.
        const std::string& known = label_.known();
        line("  dataset: {where: ",
             yamlQuoted(known.empty() ? split_.eval : strCat(split_.eval, " and ", known)), "}");
        line("  metrics: [auc, normalized_entropy, calibration]");
        line("variations:");
        line("  - {name: keep-50, set: {recipe.negatives.keep: 0.5}}");
    }

    const DatasetProfile& profile_;
    const FirstSpecOptions& options_;
    FirstLabel label_;
    std::vector<Guess> guesses_;
    SpecSplit split_;
    FirstSpec spec_;
};

}  // namespace

std::string fillText(double mean, double spread) {
    constexpr double kMostPlain = 1e15;
    if (!(spread > 0) || spread > kMostPlain || std::abs(mean) > kMostPlain) {
        return dumpJson(Json(mean));
    }
    const double digits = 2 - std::floor(std::log10(spread));
    const double unit = std::pow(10, -digits);
    char text[64];
    const int length =
        std::snprintf(text, sizeof text, "%.*f", static_cast<int>(std::max(0.0, digits)),
                      std::round(mean / unit) * unit);
    std::string number(text, static_cast<std::size_t>(length));
    if (number.find('.') != std::string::npos) {
        number.erase(number.find_last_not_of('0') + 1);
        number.erase(number.find_last_not_of('.') + 1);
    }
    return number == "-0" ? "0" : number;
}

Result<FirstSpec> firstSpec(const DatasetProfile& profile, const FirstSpecOptions& options) {
    return Writer(profile, options).write();
}

}  // namespace millrace::profile
