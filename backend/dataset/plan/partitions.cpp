#include "backend/dataset/plan/partitions.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/csv/csv_values.h"

namespace millrace::dataset {
namespace {

constexpr std::string_view kNullName = "__HIVE_DEFAULT_PARTITION__";

std::string percentDecoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
            out += static_cast<char>(value);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

using Pairs = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// The KEY=VALUE components of a path, except the file name; for a repeated key the last one.
Pairs pairsOf(std::string_view path) {
    Pairs pairs;
    std::size_t begin = 0;
    for (std::size_t end = path.find('/'); end != std::string_view::npos;
         begin = end + 1, end = path.find('/', begin)) {
        const std::string_view part = path.substr(begin, end - begin);
        const std::size_t equals = part.find('=');
        if (equals == 0 || equals == std::string_view::npos) {
            continue;
        }
        const std::string key = percentDecoded(part.substr(0, equals));
        const std::string_view value = part.substr(equals + 1);
        std::optional<std::string> decoded;
        if (!value.empty() && value != kNullName) {
            decoded = percentDecoded(value);
        }
        const auto same =
            std::ranges::find_if(pairs, [&key](const auto& pair) { return pair.first == key; });
        if (same != pairs.end()) {
            same->second = std::move(decoded);
        } else {
            pairs.emplace_back(key, std::move(decoded));
        }
    }
    return pairs;
}

expr::TypeKind kindOf(const std::string& value) {
    const bool hasBlanks = value.find_first_of(" \t") != std::string::npos;
    const files::CsvForm form = hasBlanks ? files::CsvForm::kText : csv::lookOf(value).form;
    return form == files::CsvForm::kInt    ? expr::TypeKind::kInt64
           : form == files::CsvForm::kDate ? expr::TypeKind::kDate
                                           : expr::TypeKind::kString;
}

expr::DataType typeOf(const std::vector<std::optional<std::string>>& values) {
    expr::TypeKind kind = expr::TypeKind::kNull;
    bool isNullable = false;
    for (const std::optional<std::string>& value : values) {
        isNullable |= !value.has_value();
        if (!value) {
            continue;
        }
        const expr::TypeKind one = kindOf(*value);
        kind = kind == expr::TypeKind::kNull || kind == one ? one : expr::TypeKind::kString;
    }
    if (kind != expr::TypeKind::kInt64 && kind != expr::TypeKind::kDate) {
        kind = expr::TypeKind::kString;
    }
    return {kind, false, 0, isNullable};
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> PartitionColumn::array(std::size_t file, std::int64_t rows,
                                                             arrow::MemoryPool* pool) const {
    const std::optional<std::string>& value = values[file];
    if (!value) {
        return arrays::nullArray(type, rows, pool);
    }
    const std::shared_ptr<arrow::DataType> arrowType = arrays::toArrowType(type);
    ASSIGN_OR_RETURN(const auto scalar, arrays::fromArrow(arrow::Scalar::Parse(arrowType, *value),
                                                          strCat("partition ", name, "=", *value)));
    return arrays::fromArrow(arrow::MakeArrayFromScalar(*scalar, rows, pool), name);
}

Result<std::vector<PartitionColumn>> partitionColumns(const std::vector<files::DataFile>& files,
                                                      bool isMissingNull) {
    std::vector<PartitionColumn> columns;
    std::vector<std::size_t> firstFile;
    for (std::size_t f = 0; f < files.size(); ++f) {
        for (auto& [name, value] : pairsOf(files[f].path)) {
            const std::string& key = name;
            auto at = std::ranges::find_if(
                columns, [&key](const auto& column) { return column.name == key; });
            if (at == columns.end()) {
                columns.push_back({name, {}, {}});
                firstFile.push_back(f);
                at = std::prev(columns.end());
            }
            at->values.resize(f);
            at->values.push_back(std::move(value));
        }
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const bool isHere = columns[c].values.size() == f + 1 && firstFile[c] == 0;
            if (isHere || isMissingNull) {
                columns[c].values.resize(f + 1);
                continue;
            }
            const bool isLate = columns[c].values.size() == f + 1;
            const files::DataFile& has = files[isLate ? f : firstFile[c]];
            const files::DataFile& lacks = files[isLate ? 0 : f];
            return invalidArgument(lacks.path, ": has no directory ", columns[c].name,
                                   "=..., which ", has.path,
                                   " has; dataset.missing_columns: null reads it as null");
        }
    }
    for (PartitionColumn& column : columns) {
        column.type = typeOf(column.values);
    }
    return columns;
}

}  // namespace millrace::dataset
