#include "backend/csv/csv_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <absl/strings/str_join.h>

#include "backend/csv/csv_records.h"
#include "backend/csv/csv_values.h"
#include "backend/text/json.h"
#include "backend/text/numbers.h"
#include "backend/text/text.h"

namespace millrace::csv {
namespace {

using F = files::CsvForm;
using K = expr::TypeKind;

constexpr std::size_t kHeaderShown = 60;  ///< bytes of a header in a note
constexpr std::int64_t kFewBad = 3, kOneIn = 100, kManyGood = 20;

/// A candidate type of numbers or times, and the forms that do not fit it.
struct Candidate {
    K kind;
    std::vector<F> bad;
};

const std::vector<Candidate>& candidates() {
    static const std::vector<Candidate> all = {
        {K::kInt64, {F::kUint, F::kDouble, F::kBool, F::kDate, F::kTime, F::kTooLarge, F::kText}},
        {K::kUint64,
         {F::kDouble, F::kBool, F::kDate, F::kTime, F::kTooLarge, F::kText, F::kNegative}},
        {K::kDouble, {F::kUint, F::kBool, F::kDate, F::kTime, F::kTooLarge, F::kText, F::kInexact}},
        {K::kDate, {F::kInt, F::kUint, F::kDouble, F::kBool, F::kTime, F::kTooLarge, F::kText}},
        {K::kTimestamp, {F::kInt, F::kUint, F::kDouble, F::kBool, F::kTooLarge, F::kText}}};
    return all;
}

std::int64_t numValues(const files::CsvColumn& column) {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < files::kCsvValueForms; ++i) {
        all += column.counts[i];
    }
    return all;
}

std::int64_t numBad(const files::CsvColumn& column, const Candidate& candidate) {
    std::int64_t bad = 0;
    for (const F form : candidate.bad) {
        bad += column.count(form);
    }
    return bad;
}

/// The candidate with the fewest bad values.
struct Most {
    const Candidate* candidate = nullptr;
    std::int64_t bad = 0, good = 0;

    bool hasManyGood() const { return good >= kManyGood && good >= bad; }
    bool hasFewBad() const { return good >= kManyGood && bad <= std::max(kFewBad, good / kOneIn); }
};

Most candidateOfMost(const files::CsvColumn& column) {
    Most most;
    for (const Candidate& candidate : candidates()) {
        const std::int64_t bad = numBad(column, candidate);
        if (most.candidate == nullptr || bad < most.bad) {
            most.candidate = &candidate;
            most.bad = bad;
        }
    }
    most.good = numValues(column) - most.bad;
    return most;
}

/// A column over all files.
struct Totals {
    files::CsvColumn sum;
    std::array<std::size_t, files::kCsvForms> fileOf{};  ///< by form: the first file with one
    std::map<K, std::size_t> firstOf;                    ///< by type of a file alone: the first one
};

void add(const files::CsvColumn& column, std::size_t file, Totals& totals) {
    totals.firstOf.try_emplace(csvKind(column), file);
    for (std::size_t i = 0; i < files::kCsvForms; ++i) {
        totals.sum.counts[i] += column.counts[i];
    }
    for (const std::string& text : column.texts) {
        totals.sum.addText(text);
    }
    for (const files::CsvPlace& place : column.firsts) {
        if (totals.sum.first(place.form) == nullptr) {
            totals.sum.firsts.push_back(place);
            totals.fileOf[static_cast<std::size_t>(place.form)] = file;
        }
    }
}

std::string shown(const std::vector<files::DataFile>& files, const Totals& totals,
                  const files::CsvPlace& place) {
    return strCat(files[totals.fileOf[static_cast<std::size_t>(place.form)]].path, ":", place.line);
}

/// How to read a column's texts as null; "" if the bad value is another value than a text (such as
/// True among 0 and 1), or if there are many texts, or one cannot be written in the spec unchanged.
std::string asNull(const Totals& totals, const files::CsvPlace& bad) {
    std::vector<std::string> values = totals.sum.texts;
    const bool isWritten = std::ranges::none_of(values, [](const std::string& value) {
        return value.find('\'') != std::string::npos || value.ends_with("…");
    });
    if (bad.form != F::kText || values.size() > files::CsvColumn::kFewTexts || !isWritten) {
        return "";
    }
    const char* const reads = values.size() > 1 ? "them" : "it";
    // The list replaces the usual words.
    if (const files::CsvPlace* word = totals.sum.first(F::kWord)) {
        values.push_back(word->value);
    }
    return strCat("{null_values: ['", absl::StrJoin(values, "', '"), "']} reads ", reads,
                  " as null, and no longer NA, NaN, null and their like, ");
}

/// The first value that is not of the candidate's type.
const files::CsvPlace& firstBad(const Totals& totals, const Candidate& most) {
    const files::CsvPlace* first = nullptr;
    const auto fileOf = [&](const files::CsvPlace& one) {
        return totals.fileOf[static_cast<std::size_t>(one.form)];
    };
    for (const F form : most.bad) {
        const files::CsvPlace* place = totals.sum.first(form);
        const bool isBefore =
            place != nullptr && (first == nullptr || std::pair(fileOf(*place), place->line) <
                                                         std::pair(fileOf(*first), first->line));
        first = isBefore ? place : first;
    }
    return *first;
}

bool isCommaNumber(const files::ReadOptions& options, const files::CsvPlace* text) {
    double number = 0;
    return text != nullptr && !options.csvHasDecimalComma && options.csvDelimiter != ',' &&
           text->value.find(',') != std::string::npos && csvCommaNumber(text->value, number);
}

Status badValue(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
                const std::string& name, const Totals& totals, const Most& most) {
    const files::CsvPlace& first = firstBad(totals, *most.candidate);
    return invalidArgument(
        shown(files, totals, first), ": column '", name, "': '", first.value, "' is not of type ",
        expr::DataType{most.candidate->kind}.name(), ", as the ", formatCount(most.good),
        " other values are",
        most.bad > 1 ? strCat(" (there are ", formatCount(most.bad), " such values)") : "",
        "; correct it, or say in ", options.csvKey, csvOption(options, "KEY=VALUE"),
        " what it is: ",
        isCommaNumber(options, &first) ? "{decimal_comma: true} reads it as a number, " : "",
        "{on_bad_row: drop} leaves the row out, ", asNull(totals, first), "{types: {",
        yamlScalar(name, true), ": string}} reads all as text");
}

/// Why a column is text although most of its values, or all in some of its files, are not.
void noteMixture(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
                 const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    const auto typed = std::ranges::min_element(totals.firstOf, [](const auto& a, const auto& b) {
        const auto isText = [](K kind) { return kind == K::kString || kind == K::kNull; };
        return std::pair(isText(a.first), a.second) < std::pair(isText(b.first), b.second);
    });
    const files::CsvPlace* text = totals.sum.first(F::kText);
    const Most most = candidateOfMost(totals.sum);
    if (isCommaNumber(options, text)) {
        notes.push_back(strCat(shown(files, totals, *text), ": column '", name, "' is text, but '",
                               text->value, "' looks like a number; ", options.csvKey,
                               ".decimal_comma: true", csvOption(options, "decimal_comma=true"),
                               " reads it as one"));
    } else if (totals.firstOf.size() > 1 && typed->first != K::kString &&
               typed->first != K::kNull && text != nullptr) {
        notes.push_back(strCat(
            shown(files, totals, *text), ": column '", name, "' is text because of '", text->value,
            "', but ", expr::DataType{typed->first}.name(), " in ", files[typed->second].path, "; ",
            options.csvKey, ".types: {", yamlScalar(name, true), ": string}",
            csvOption(options, strCat("types.", name, "=string")), " says that it is meant"));
    } else if (most.hasManyGood()) {
        const files::CsvPlace& first = firstBad(totals, *most.candidate);
        notes.push_back(strCat(
            shown(files, totals, first), ": column '", name, "' is text because of '", first.value,
            "': ", formatCount(most.bad), " of ", formatCount(most.good + most.bad),
            " values are not of type ", expr::DataType{most.candidate->kind}.name(), "; ",
            options.csvKey, ": ", asNull(totals, first), "{types: {", yamlScalar(name, true),
            ": string}} says that it is meant"));
    }
}

/// Words for a missing value that a text column has as values.
void noteWords(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
               const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    const files::CsvPlace* word = totals.sum.first(F::kWord);
    if (word == nullptr || !options.csvNullValues.empty()) {
        return;
    }
    notes.push_back(strCat(shown(files, totals, *word), ": column '", name, "' is text, and '",
                           word->value, "' is a value of it (",
                           formatCount(totals.sum.count(F::kWord)), " such values); ",
                           options.csvKey, ".null_values: ['", word->value, "'] reads it as null"));
}

/// Zip codes and the like, whose zeros are lost when they are numbers.
void noteZeros(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
               const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    if (const files::CsvPlace* code = totals.sum.first(F::kZeros)) {
        notes.push_back(strCat(shown(files, totals, *code), ": column '", name, "': '", code->value,
                               "' is read as a number, without its leading zero (",
                               formatCount(totals.sum.count(F::kZeros)), " such values); ",
                               options.csvKey, ".types: {", yamlScalar(name, true), ": string}",
                               csvOption(options, strCat("types.", name, "=string")),
                               " keeps it as text"));
    }
}

/// The forms that no value of a given type has.
std::vector<F> neverFits(K kind) {
    const expr::DataType type{kind};
    if (type.isInteger()) {
        return {F::kText, F::kBool, F::kDate, F::kTime, F::kDouble, F::kTooLarge};
    }
    if (type.isFloat() || kind == K::kBool) {
        return {F::kText, F::kDate, F::kTime, kind == K::kBool ? F::kDouble : F::kBool};
    }
    return type.isTemporal() ? std::vector<F>{F::kText, F::kBool, F::kDouble} : std::vector<F>();
}

/// Values that are not of the type that the spec gives: a run fails at them.
void noteGiven(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
               const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    const Candidate given{csvKindGiven(options, name), neverFits(csvKindGiven(options, name))};
    const std::int64_t bad = numBad(totals.sum, given);
    if (bad == 0 || options.csvDropsBadRows) {
        return;
    }
    const files::CsvPlace& first = firstBad(totals, given);
    if (csvFits(given.kind, first.value, options.csvHasDecimalComma)) {
        return;  // 1.0 is an integer; values with a fraction may follow, and then a run says so
    }
    notes.push_back(strCat(
        shown(files, totals, first), ": column '", name, "': '", first.value, "' is not of type ",
        expr::DataType{given.kind}.name(), ", which the spec gives (", formatCount(bad),
        bad == 1 ? " such value)" : " such values)", ": a run that reads the column fails there"));
}

Result<K> resolve(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
                  const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    const auto given = options.csvTypes.find(name);
    const bool isGiven = given != options.csvTypes.end();
    noteGiven(files, options, name, totals, notes);
    K kind = csvKind(totals.sum);
    const Most most = candidateOfMost(totals.sum);
    if (!isGiven && kind == K::kString && most.hasFewBad()) {
        if (!options.csvDropsBadRows) {
            return badValue(files, options, name, totals, most);
        }
        kind = most.candidate->kind;
    }
    if (!isGiven && kind == K::kString) {
        noteMixture(files, options, name, totals, notes);
    }
    if (!isGiven && kind == K::kInt64) {
        noteZeros(files, options, name, totals, notes);
    }
    if (isGiven ? given->second == "string" : kind == K::kString) {
        noteWords(files, options, name, totals, notes);
    }
    return kind;
}

}  // namespace

K csvKind(const files::CsvColumn& column) {
    const bool hasLarge = column.count(F::kUint) > 0;
    const bool hasFractions = column.count(F::kDouble) > 0;
    const bool isNumber = hasLarge || hasFractions || column.count(F::kInt) > 0;
    const bool hasTimes = column.count(F::kTime) > 0;
    const bool isTime = hasTimes || column.count(F::kDate) > 0;
    const bool isBool = column.count(F::kBool) > 0;
    const bool isText = column.count(F::kText) + column.count(F::kTooLarge) > 0;
    const bool isLost = hasFractions ? hasLarge || column.count(F::kInexact) > 0
                                     : hasLarge && column.count(F::kNegative) > 0;
    const int kinds = (isNumber ? 1 : 0) + (isTime ? 1 : 0) + (isBool ? 1 : 0);
    if (isText || isLost || kinds > 1) {
        return K::kString;
    }
    return hasFractions ? K::kDouble
           : hasLarge   ? K::kUint64
           : isNumber   ? K::kInt64
           : isBool     ? K::kBool
           : hasTimes   ? K::kTimestamp
           : isTime     ? K::kDate
                        : K::kNull;
}

K csvKindGiven(const files::ReadOptions& options, const std::string& column) {
    const auto given = options.csvTypes.find(column);
    if (given == options.csvTypes.end()) {
        return K::kString;
    }
    const Result<expr::DataType> type = expr::parseType(given->second);
    return type.ok() && !type->isList ? type->kind : K::kString;
}

Result<CsvKinds> csvKinds(const std::vector<files::DataFile>& files,
                          const std::vector<std::shared_ptr<const files::FileMetadata>>& facts,
                          const files::ReadOptions& options, std::vector<std::string>& notes) {
    std::map<std::string, Totals> columns;
    std::vector<std::string> order;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        for (std::size_t c = 0; facts[i] != nullptr && c < facts[i]->csv.size(); ++c) {
            const std::string& name = facts[i]->schema.fields[c].name;
            if (name.empty()) {
                continue;  // an unreadable column
            }
            if (c == 0 && name == kRowNames && !columns.contains(name)) {
                notes.push_back(strCat(files[i].path, ": column '", kRowNames,
                                       "' is each row's first field; it has this name where the "
                                       "header has one field less than the rows"));
            }
            const auto [at, isNew] = columns.try_emplace(name);
            if (isNew) {
                order.push_back(name);
            }
            add(facts[i]->csv[c], i, at->second);
        }
    }
    CsvKinds kinds;
    for (const std::string& name : order) {
        ASSIGN_OR_RETURN(kinds[name], resolve(files, options, name, columns[name], notes));
    }
    return kinds;
}

std::string csvOption(const files::ReadOptions& options, std::string_view set) {
    if (options.csvKey != files::ReadOptions().csvKey) {
        return "";
    }
    // As it is typed in a shell: a column's name may have blanks.
    const bool isPlain = std::ranges::all_of(set, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("_-./+,:@%=").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string word;
    for (const char c : set) {
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return isPlain ? strCat(" (--csv ", set, ")") : strCat(" (--csv '", word, "')");
}

std::string delimiterHint(const files::ReadOptions& options, const expr::Schema& schema,
                          std::string_view delimiters) {
    const std::string name = schema.fields.size() == 1 ? schema.fields.front().name : "";
    const std::size_t at = name.find_first_of(delimiters);
    if (at == std::string::npos || !options.csvHasHeader) {
        return "";
    }
    const std::string delimiter = dumpJson(std::string(1, name[at]));
    return strCat("the header is one field, '", name.substr(0, kHeaderShown),
                  name.size() > kHeaderShown ? "...'" : "'", "; ", options.csvKey,
                  ".delimiter: ", delimiter, " (--delimiter ", delimiter, ") makes columns of it");
}

std::string headerHint(const files::ReadOptions& options, const expr::Schema& schema) {
    const auto isValue = [](const expr::Field& field) {
        return parseNumber<double>(field.name) &&
               field.name.find_first_of(".-") != std::string::npos;
    };
    const auto value = std::ranges::find_if(schema.fields, isValue);
    if (value == schema.fields.end() || !options.csvHasHeader) {
        const std::string usual = delimiterHint(options, schema);
        return usual.empty() ? delimiterHint(options, schema, " ") : usual;
    }
    return strCat("a column's name is '", value->name, "'; if the first line is a row, ",
                  options.csvKey, ".header: false", csvOption(options, "header=false"),
                  " reads it as one");
}

}  // namespace millrace::csv
