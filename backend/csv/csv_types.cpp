#include "backend/csv/csv_types.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "backend/core/text.h"

namespace millrace::csv {
namespace {

using F = files::CsvForm;
using K = expr::TypeKind;

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

/// The candidate with the fewest bad values, if these are few; else null.
const Candidate* candidateOfMost(const files::CsvColumn& column) {
    if (csvKind(column) != K::kString) {
        return nullptr;
    }
    const Candidate* best = nullptr;
    std::int64_t bad = 0;
    for (const Candidate& candidate : candidates()) {
        const std::int64_t one = numBad(column, candidate);
        if (best == nullptr || one < bad) {
            best = &candidate;
            bad = one;
        }
    }
    const std::int64_t good = numValues(column) - bad;
    return good >= kManyGood && bad <= std::max(kFewBad, good / kOneIn) ? best : nullptr;
}

/// A column over all files.
struct Totals {
    files::CsvColumn sum;
    std::array<std::size_t, files::kCsvForms> fileOf{};  ///< by form: the first file with one
};

void add(const files::CsvColumn& column, std::size_t file, Totals& totals) {
    for (std::size_t i = 0; i < files::kCsvForms; ++i) {
        totals.sum.counts[i] += column.counts[i];
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

/// How to read `value` as null; "" if it cannot be written in the spec unchanged.
std::string asNull(const Totals& totals, const std::string& value) {
    if (value.find('\'') != std::string::npos || value.ends_with("…")) {
        return "";
    }
    // The list replaces the usual words.
    const files::CsvPlace* word = totals.sum.first(F::kWord);
    return strCat("{null_values: ['", value, "'",
                  word == nullptr ? "" : strCat(", '", word->value, "'"),
                  "]} reads it as null, and no longer NA, NaN, null and their like, ");
}

Status badValue(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
                const std::string& name, const Totals& totals, const Candidate& most) {
    const files::CsvPlace* first = nullptr;
    for (const F form : most.bad) {
        const files::CsvPlace* place = totals.sum.first(form);
        const auto fileOf = [&](const files::CsvPlace& one) {
            return totals.fileOf[static_cast<std::size_t>(one.form)];
        };
        const bool isBefore =
            place != nullptr && (first == nullptr || std::pair(fileOf(*place), place->line) <
                                                         std::pair(fileOf(*first), first->line));
        first = isBefore ? place : first;
    }
    const std::int64_t bad = numBad(totals.sum, most);
    return invalidArgument(shown(files, totals, *first), ": column '", name, "': '", first->value,
                           "' is not of type ", expr::DataType{most.kind}.name(), ", as the ",
                           formatCount(numValues(totals.sum) - bad), " other values are",
                           bad > 1 ? strCat(" (there are ", formatCount(bad), " such values)") : "",
                           "; correct it, or say in ", options.csvKey,
                           " what it is: {on_bad_row: drop} leaves the row "
                           "out, ",
                           asNull(totals, first->value), "{types: {", name,
                           ": string}} reads all as text");
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

Result<K> resolve(const std::vector<files::DataFile>& files, const files::ReadOptions& options,
                  const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    const auto given = options.csvTypes.find(name);
    const Candidate* most = given == options.csvTypes.end() ? candidateOfMost(totals.sum) : nullptr;
    if (most != nullptr && !options.csvDropsBadRows) {
        return badValue(files, options, name, totals, *most);
    }
    const K kind = most != nullptr ? most->kind : csvKind(totals.sum);
    if (given == options.csvTypes.end() ? kind == K::kString : given->second == "string") {
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
                          const std::vector<std::shared_ptr<const files::FileFacts>>& facts,
                          const files::ReadOptions& options, std::vector<std::string>& notes) {
    std::map<std::string, Totals> columns;
    std::vector<std::string> order;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        for (std::size_t c = 0; facts[i] != nullptr && c < facts[i]->csv.size(); ++c) {
            const std::string& name = facts[i]->schema.fields[c].name;
            if (name.empty()) {
                continue;  // an unreadable column
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

}  // namespace millrace::csv
