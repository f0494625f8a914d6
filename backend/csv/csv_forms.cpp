#include "backend/csv/csv_forms.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "backend/arrays/value_text.h"
#include "backend/csv/csv_fast.h"
#include "backend/csv/csv_types.h"
#include "backend/text/utf8.h"

namespace millrace::csv {
namespace {

using Form = files::CsvForm;

constexpr std::size_t kShownBytes = 60;  // of a value in facts
constexpr std::int64_t kDoubleWhole = std::int64_t{1} << 53;

/// Characters with which only text begins.
constexpr std::array<bool, 256> kBeginsText = [] {
    std::array<bool, 256> begins{};
    begins.fill(true);
    for (const char c : {'0', '1', '2', '3', '4',  '5', '6', '7', '8', '9', '-',
                         '+', '.', ',', ' ', '\t', 'i', 'I', 't', 'T', 'f', 'F'}) {
        begins[static_cast<unsigned char>(c)] = false;
    }
    return begins;
}();

bool looksLikeFraction(std::string_view value, CsvValueForm& look) {
    look.form = Form::kDouble;
    return fast::isFraction(value.data(), value.size());
}

bool looksLikeTime(std::string_view value, CsvValueForm& look) {
    std::int64_t micros = 0;
    look.form = value.size() == 10 ? Form::kDate : Form::kTime;
    return fast::time(value.data(), value.size(), micros);
}

/// Like lookOf(), if the form can be recognized fast; 16 bytes after the value must be readable.
/// `expected`: the form tried first; a text has only one form.
bool lookFast(std::string_view value, bool hasDecimalComma, Form expected, CsvValueForm& look) {
    if (kBeginsText[static_cast<unsigned char>(value[0])]) {
        look.form = Form::kText;
        return true;
    }
    if ((expected == Form::kDouble && !hasDecimalComma && looksLikeFraction(value, look)) ||
        (expected == Form::kTime && looksLikeTime(value, look))) {
        return true;
    }
    std::int64_t whole = 0;
    if (fast::whole(value.data(), value.size(), whole)) {
        look = {Form::kInt, false, whole < 0};
        // Beyond 2^53 doubles cannot hold every whole number.
        return whole >= -kDoubleWhole && whole <= kDoubleWhole;
    }
    if ((!hasDecimalComma && looksLikeFraction(value, look)) || looksLikeTime(value, look)) {
        return true;
    }
    look.form = Form::kBool;
    return value == "true" || value == "false";
}

}  // namespace

CsvSniffer::CsvSniffer(std::string path, const files::ReadOptions& options,
                       const expr::Schema& schema)
    : path_(std::move(path)), options_(options), schema_(schema), nulls_(options) {
    for (const expr::Field& field : schema_.fields) {
        kinds_.push_back(csvKindGiven(options_, field.name));
    }
}

Status CsvSniffer::notUtf8(std::int64_t line, std::string_view what,
                           std::string_view encoding) const {
    return invalidArgument(path_, ":", line, ": not UTF-8 (", what,
                           "); convert it, from the encoding that it has: iconv -f ", encoding,
                           " -t UTF-8 '", path_, "' > utf8.csv");
}

Status CsvSniffer::checkEncoding(const CsvBlock& block, const CsvRecord& record) const {
    const std::string_view bytes = block.text.substr(record.begin, record.end - record.begin);
    const std::size_t valid = utf8Prefix(bytes);
    if (valid == bytes.size()) {
        return okStatus();
    }
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(bytes[valid]));
    return notUtf8(block.line + record.line, strCat("byte ", byte), "WINDOWS-1252");
}

void CsvSniffer::look(CsvBlock& block) const {
    block.bad.clear();
    block.error = checkRecords(block);
    block.columns.assign(kinds_.size(), {});
    std::string memory;
    for (std::size_t c = 0; block.error.ok() && c < kinds_.size(); ++c) {
        lookAtColumn(block, c, memory);
    }
}

Status CsvSniffer::checkRecords(CsvBlock& block) const {
    std::string memory;
    const auto records = block.records.records();
    for (std::size_t r = block.firstRow; r < records.size(); ++r) {
        const CsvRecord& record = records[r];
        if (block.records.hasHighBytes()) {
            RETURN_IF_ERROR(checkEncoding(block, record));
        }
        if (record.fields == kinds_.size() && !options_.csvDropsBadRows) {
            continue;
        }
        CsvWrong wrong = whatIsWrong(block, record, memory);
        if (!wrong.text.empty() && !options_.csvDropsBadRows) {
            return invalidArgument(path_, ":", block.line + record.line, ": ", wrong.text,
                                   wayOut(block));
        }
        if (!wrong.text.empty()) {
            block.bad.push_back({r, std::move(wrong)});
        }
    }
    return okStatus();
}

/// Whether the line above the rows is not their header: all rows of the block have one other number
/// of fields, as below the counts that scikit-learn's files begin with.
bool CsvSniffer::isTitle(const CsvBlock& block) const {
    const auto rows = block.records.records().subspan(block.firstRow);
    const std::size_t fields = rows.empty() ? 0 : rows[0].fields;
    return options_.csvHasHeader && block.firstRow == 1 && kinds_.size() > 1 && rows.size() > 1 &&
           fields > kinds_.size() && std::ranges::all_of(rows, [fields](const CsvRecord& row) {
               return row.fields == fields;
           });
}

/// Returns the hint for an error about a record's number of fields.
std::string CsvSniffer::wayOut(const CsvBlock& block) const {
    if (isTitle(block)) {
        const CsvText text(block.text.data(), block.records.quote());
        const CsvField& first =
            block.records.fields()[block.records.records()[block.firstRow].firstField];
        std::string memory;
        const std::string_view value = text.value(first, memory);
        const bool isName = lookOf(value, options_.csvHasDecimalComma).form == Form::kText;
        const std::int64_t lines = options_.csvSkipRows + 1;
        return strCat(
            "; the first line looks like a title: ", options_.csvKey, ".skip_rows: ", lines,
            csvOption(options_, strCat("skip_rows=", lines)),
            isName ? " takes the next line as the header"
                   : strCat(" and ", options_.csvKey, ".header: false",
                            csvOption(options_, "header=false"), " call the columns f0, f1, ..."));
    }
    const std::string hint = delimiterHint(options_, schema_);
    const bool mayBeTitle = schema_.fields.size() == 1 && options_.csvHasHeader;
    const std::string skip =
        strCat(options_.csvKey, ".skip_rows: ", options_.csvSkipRows + 1,
               csvOption(options_, strCat("skip_rows=", options_.csvSkipRows + 1)));
    return !hint.empty()
               ? strCat("; ", hint)
               : strCat(mayBeTitle ? strCat("; ", skip, " takes the next line as the header") : "",
                        "; ", options_.csvKey, ".on_bad_row: drop",
                        csvOption(options_, "on_bad_row=drop"), " leaves such rows out");
}

/// Empty when the record is a row. Values are looked at only where bad ones are left out.
CsvWrong CsvSniffer::whatIsWrong(const CsvBlock& block, const CsvRecord& record,
                                 std::string& memory) const {
    if (record.fields != kinds_.size()) {
        const bool hasRowNames = options_.csvHasHeader && schema_.fields[0].name == kRowNames;
        return {strCat(record.fields, " fields"),
                strCat(record.fields, record.fields == 1 ? " field, but the " : " fields, but the ",
                       hasRowNames             ? "first rows have "
                       : options_.csvHasHeader ? "header has "
                                               : "first line has ",
                       kinds_.size())};
    }
    const CsvText text(block.text.data(), block.records.quote());
    const CsvField* const fields = block.records.fields().data() + record.firstField;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
        const std::string_view value = kinds_[i] != expr::TypeKind::kString
                                           ? text.value(fields[i], memory)
                                           : std::string_view();
        if (!nulls_.isNull(value) && !csvFits(kinds_[i], value, options_.csvHasDecimalComma)) {
            const std::string& name = schema_.fields[i].name;
            return {strCat("column ", name), csvMisfit(name, value, {kinds_[i]})};
        }
    }
    return {};
}

void CsvSniffer::lookAtColumn(CsvBlock& block, std::size_t column, std::string& memory) const {
    files::CsvColumn& seen = block.columns[column];
    const CsvText text(block.text.data(), block.records.quote());
    const auto records = block.records.records();
    const CsvField* const fields = block.records.fields().data() + column;
    std::string_view value;
    std::size_t row = block.firstRow;
    const auto mark = [&](Form form) {
        if (seen.counts[static_cast<std::size_t>(form)]++ == 0) {
            seen.firsts.push_back(
                {form, block.line + records[row].line, arrays::shownText(value, kShownBytes)});
        }
    };
    auto bad = block.bad.begin();
    Form expected = Form::kInt;
    for (; row < records.size(); ++row) {
        if (bad != block.bad.end() && bad->record == row) {
            ++bad;
            continue;
        }
        const CsvField& field = fields[records[row].firstField];
        if (field.begin == field.end) {
            continue;
        }
        value = text.value(field, memory);
        if (nulls_.isNull(value)) {
            if (!value.empty()) {
                mark(Form::kWord);
            }
            continue;
        }
        CsvValueForm look;
        if (value.data() == memory.data() ||
            !lookFast(value, options_.csvHasDecimalComma, expected, look)) {
            look = lookOf(value, options_.csvHasDecimalComma);
        }
        mark(look.form);
        if (look.form == Form::kText && !seen.hasText(value)) {
            seen.addText(arrays::shownText(value, kShownBytes));
        }
        expected = look.form;
        if (look.isNegative) {
            mark(Form::kNegative);
        }
        if (look.isInexact) {
            mark(Form::kInexact);
        }
        if (value[0] == '0' && look.form == Form::kInt && value.size() > 2) {
            mark(Form::kZeros);
        }
    }
}

}  // namespace millrace::csv
