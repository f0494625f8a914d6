#include "backend/dataset/csv_types.h"

#include <algorithm>
#include <map>
#include <memory>

#include "backend/core/text.h"

namespace millrace::dataset {
namespace {

using K = spec::TypeKind;

constexpr std::int64_t kFewTexts = 3, kManyValues = 20;  // so few among so many are bad values
constexpr std::int64_t kOneIn = 100;

struct Totals {
    CsvColumn sum;
    std::size_t textIn = 0, inexactIn = 0, wordIn = 0, doubleIn = 0;  ///< the first file with one
};

std::int64_t textsOf(const CsvColumn& column) {
    return column.count(CsvForm::kText) + column.count(CsvForm::kTooLarge);
}

std::int64_t allOf(const CsvColumn& column) {
    std::int64_t all = 0;
    for (const std::int64_t count : column.counts) {
        all += count;
    }
    return all;
}

void add(const CsvColumn& column, std::size_t file, Totals& totals) {
    CsvColumn& sum = totals.sum;
    const auto first = [file](const CsvPlace& from, CsvPlace& to, std::size_t& in) {
        if (to.line == 0 && from.line != 0) {
            to = from;
            in = file;
        }
    };
    first(column.text, sum.text, totals.textIn);
    first(column.inexact, sum.inexact, totals.inexactIn);
    first(column.word, sum.word, totals.wordIn);
    first(column.fraction, sum.fraction, totals.doubleIn);
    for (std::size_t i = 0; i < sum.counts.size(); ++i) {
        sum.counts[i] += column.counts[i];
    }
    sum.negatives += column.negatives;
    sum.words += column.words;
}

/// Whether the texts of a column of numbers or times are too few to be meant.
bool areTextsFew(const CsvColumn& column) {
    const std::int64_t texts = textsOf(column), others = allOf(column) - texts;
    const K kind = csvKind(column, true);
    return texts > 0 && kind != K::kString && kind != K::kBool && kind != K::kNull &&
           (texts * kOneIn <= others || (texts <= kFewTexts && others >= kManyValues));
}

std::string shown(const DataFile& file, const CsvPlace& place) {
    return strCat(file.path, ":", place.line);
}

Status badValue(const std::vector<DataFile>& files, const std::string& name, const Totals& totals) {
    const CsvColumn& sum = totals.sum;
    const K kind = csvKind(sum, true);
    const bool isTime = kind == K::kDate || kind == K::kTimestamp;
    const std::int64_t texts = textsOf(sum);
    return invalidArgument(
        shown(files[totals.textIn], sum.text), ": column '", name, "': '", sum.text.value,
        isTime ? "' is not a time, as the " : "' is not a number of at most 64 bits, as the ",
        formatCount(allOf(sum) - texts), " other values are",
        texts > 1 ? strCat(" (", formatCount(texts), " such values)") : "",
        "; correct it, or set one of dataset.csv: {on_bad_row: drop}, {null_values: [\"",
        sum.text.value, "\"]}, {types: {", name, ": string}}");
}

/// Numbers that have no common type without loss.
Status checkNumbers(const std::vector<DataFile>& files, const std::string& name,
                    const Totals& totals) {
    const CsvColumn& sum = totals.sum;
    const bool hasFractions = sum.count(CsvForm::kDouble) > 0;
    const bool isLost = hasFractions ? sum.inexact.line != 0
                                     : sum.count(CsvForm::kUint) > 0 && sum.negatives > 0;
    if (!isLost) {
        return okStatus();
    }
    return invalidArgument(
        shown(files[totals.inexactIn], sum.inexact), ": column '", name, "': ", sum.inexact.value,
        hasFractions
            ? strCat(" is no double, and the column also holds ", sum.fraction.value, " (",
                     shown(files[totals.doubleIn], sum.fraction), "); say what it is: ")
            : std::string(" needs 64 bits without a sign, and the column also holds negative "
                          "numbers; say what it is: "),
        "dataset.csv.types: {", name, ": string}, or {", name, ": double} with rounding");
}

Status resolve(const std::vector<DataFile>& files, const ReadOptions& options,
               const std::string& name, const Totals& totals, std::vector<std::string>& notes) {
    const bool isFew = areTextsFew(totals.sum);
    if (isFew && !options.csvDropsBadRows) {
        return badValue(files, name, totals);
    }
    const K kind = csvKind(totals.sum, isFew);
    if (kind == K::kString && totals.sum.words > 0 && options.csvNullValues.empty()) {
        notes.push_back(strCat(shown(files[totals.wordIn], totals.sum.word), ": column '", name,
                               "' is text, and '", totals.sum.word.value, "' is a value of it (",
                               formatCount(totals.sum.words),
                               " times); dataset.csv.null_values makes it null"));
    }
    return kind == K::kDouble || kind == K::kUint64 ? checkNumbers(files, name, totals)
                                                    : okStatus();
}

}  // namespace

K csvKind(const CsvColumn& column, bool ignoresTexts) {
    const std::int64_t whole = column.count(CsvForm::kInt) + column.count(CsvForm::kUint);
    const bool isNumber = whole > 0 || column.count(CsvForm::kDouble) > 0;
    const bool isTime = column.count(CsvForm::kDate) > 0 || column.count(CsvForm::kTime) > 0;
    const bool isBool = column.count(CsvForm::kBool) > 0;
    const bool hasTexts = textsOf(column) > 0 && !ignoresTexts;
    if (hasTexts || (isNumber ? 1 : 0) + (isTime ? 1 : 0) + (isBool ? 1 : 0) > 1) {
        return K::kString;
    }
    if (isNumber) {
        return column.count(CsvForm::kDouble) > 0 ? K::kDouble
               : column.count(CsvForm::kUint) > 0 ? K::kUint64
                                                  : K::kInt64;
    }
    return isBool   ? K::kBool
           : isTime ? (column.count(CsvForm::kTime) > 0 ? K::kTimestamp : K::kDate)
                    : K::kNull;
}

Result<std::vector<spec::Schema>> csvSchemas(
    const std::vector<DataFile>& files, const std::vector<std::shared_ptr<const FileFacts>>& facts,
    const ReadOptions& options, std::vector<std::string>& notes) {
    std::map<std::string, Totals> columns;
    std::vector<std::string> order;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        for (std::size_t c = 0; c < facts[i]->csv.size(); ++c) {
            const std::string& name = facts[i]->schema.fields[c].name;
            const auto [at, isNew] = columns.try_emplace(name);
            if (isNew) {
                order.push_back(name);
            }
            add(facts[i]->csv[c], i, at->second);
        }
    }
    for (const std::string& name : order) {
        if (!options.csvTypes.contains(name)) {
            RETURN_IF_ERROR(resolve(files, options, name, columns[name], notes));
        }
    }
    std::vector<spec::Schema> schemas;
    for (const auto& file : facts) {
        spec::Schema schema = file->schema;
        for (std::size_t c = 0; c < schema.fields.size(); ++c) {
            const CsvColumn& sum = columns[schema.fields[c].name].sum;
            const bool isFew = areTextsFew(sum);
            K kind = csvKind(file->csv[c], isFew);
            const K all = csvKind(sum, isFew);
            // Of one family: what all files together are.
            kind = kind != K::kNull && kind != K::kString && all != K::kString ? all : kind;
            schema.fields[c].type.kind = kind;
        }
        schemas.push_back(std::move(schema));
    }
    return schemas;
}

}  // namespace millrace::dataset
