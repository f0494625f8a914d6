#include "backend/dataset/description.h"

#include <algorithm>
#include <set>

#include <arrow/array/array_base.h>
#include <arrow/memory_pool.h>
#include <arrow/scalar.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/parallel.h"
#include "backend/pages/parquet_statistics.h"

namespace millrace::dataset {
namespace {

constexpr std::size_t kGroupsOfFileMax = 1000;
constexpr std::size_t kGroupsMax = 100'000;

std::string joined(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        strAppend(&text, text.empty() ? "" : ", ", word);
    }
    return text;
}

/// Adds sizes that every file's facts have.
Status addColumnBytes(const Dataset& dataset, std::vector<ColumnInfo>& columns) {
    for (std::size_t i = 0; i < dataset.files().size(); ++i) {
        ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts, dataset.facts(i));
        for (ColumnInfo& column : columns) {
            const auto& fields = facts->schema.fields;
            const auto at = std::ranges::find_if(
                fields, [&](const auto& field) { return field.name == column.name; });
            for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
                *column.decodedBytes +=
                    at == fields.end()
                        ? 0
                        : chunk.decodedBytes[static_cast<std::size_t>(at - fields.begin())];
            }
        }
    }
    return okStatus();
}

Result<std::vector<pages::ColumnStatistics>> statisticsOf(const Dataset& dataset, int threads) {
    const std::vector<std::string> names = dataset.schema().names();
    std::vector<std::vector<pages::ColumnStatistics>> parts(dataset.files().size());
    RETURN_IF_ERROR(parallelFor(parts.size(), threads, "statistics", [&](std::size_t i) -> Status {
        ASSIGN_OR_RETURN(parts[i], pages::readParquetStatistics(dataset.files()[i], names));
        return okStatus();
    }));
    std::vector<pages::ColumnStatistics> all(names.size());
    for (const auto& part : parts) {
        for (std::size_t c = 0; c < all.size(); ++c) {
            all[c].add(part[c]);
        }
    }
    return all;
}

/// A partition column has one value in all rows of a file.
Result<pages::ColumnStatistics> statisticsOfPartition(const Dataset& dataset,
                                                      const PartitionColumn& partition) {
    pages::ColumnStatistics all;
    all.isNullable = partition.type.nullable;
    for (std::size_t i = 0; i < dataset.files().size(); ++i) {
        pages::ColumnStatistics part;
        part.isNullable = partition.type.nullable;
        if (partition.values[i]) {
            ASSIGN_OR_RETURN(const auto array, partition.array(i, 1, arrow::default_memory_pool()));
            ASSIGN_OR_RETURN(part.min, arrays::fromArrow(array->GetScalar(0), partition.name));
            part.max = part.min;
        } else {
            ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts,
                             dataset.facts(i));
            part.nulls = facts->rows;
        }
        all.add(part);
    }
    return all;
}

void fill(const pages::ColumnStatistics& from, ColumnInfo& to) {
    to.isNullable = from.isNullable;
    to.nulls = from.nulls;
    to.diskBytes = from.diskBytes;
    to.encoding = joined(from.encodings);
    to.codec = joined(from.codecs);
    if (!from.encodings.empty()) {
        to.hasPageIndex = from.hasPageIndex;
    }
    if (from.hasBounds) {
        to.min = pages::boundText(from.min);
        to.max = pages::boundText(from.max);
    }
}

Json fileJson(const files::DataFile& file, const files::FileMetadata& facts) {
    Json groups = Json::array();
    for (const files::ColumnChunkMetadata& chunk : facts.chunks) {
        if (groups.size() == kGroupsOfFileMax) {
            break;
        }
        std::int64_t decoded = 0;
        for (const std::int64_t bytes : chunk.decodedBytes) {
            decoded += bytes;
        }
        groups.push_back(
            {{"rows", chunk.rows}, {"disk_bytes", chunk.bytes}, {"decoded_bytes", decoded}});
    }
    return {{"path", file.path},
            {"bytes", file.bytes},
            {"rows", facts.rows},
            {"row_groups", std::move(groups)}};
}

Json leftOut(const expr::Schema& schema) {
    Json list = Json::array();
    for (const expr::RefusedColumn& column : schema.refused) {
        if (!column.hasFields) {
            list.push_back({{"name", column.name}, {"why", column.why}});
        }
    }
    return list;
}

// Without what left_out has, too.
std::vector<std::string> notesOf(const Dataset& dataset) {
    std::vector<std::string> notes = dataset.notes();
    std::erase(notes, differingNote(dataset.schema()));
    return notes;
}

}  // namespace

std::string differingNote(const expr::Schema& schema) {
    constexpr std::size_t kMostNamed = 3;
    std::string named;
    std::size_t count = 0;
    for (const expr::RefusedColumn& column : schema.refused) {
        if (column.differs && count++ < kMostNamed) {
            strAppend(&named, ": column '", column.name, "' ", column.why);
        }
    }
    const std::string more =
        count > kMostNamed
            ? strCat(": ", count - kMostNamed, " more columns, which `millrace dataset` lists")
            : "";
    return count == 0 ? "" : strCat("left out, as the files differ", named, more);
}

Json ColumnInfo::toJson() const {
    Json json = {{"name", name}, {"type", type}, {"is_nullable", isNullable}};
    const auto number = [&json](const char* key, const std::optional<std::int64_t>& value) {
        if (value) {
            json[key] = *value;
        }
    };
    number("nulls", nulls);
    number("disk_bytes", diskBytes);
    number("decoded_bytes", decodedBytes);
    const auto word = [&json](const char* key, const std::string& value) {
        if (!value.empty()) {
            json[key] = value;
        }
    };
    word("min", min);
    word("max", max);
    word("encoding", encoding);
    word("codec", codec);
    if (hasPageIndex) {
        json["page_index"] = *hasPageIndex;
    }
    return json;
}

Result<std::vector<ColumnInfo>> columnFacts(const Dataset& dataset,
                                            const DescribeOptions& options) {
    std::vector<ColumnInfo> columns;
    for (const expr::Field& field : dataset.schema().fields) {
        ColumnInfo column;
        column.name = field.name;
        column.type = field.type.name();
        column.decodedBytes = 0;
        columns.push_back(std::move(column));
    }
    RETURN_IF_ERROR(addColumnBytes(dataset, columns));
    const bool hasStatistics =
        dataset.options().format == "parquet" &&
        static_cast<std::int64_t>(dataset.files().size()) <= options.statisticsMax;
    if (hasStatistics) {
        ASSIGN_OR_RETURN(const std::vector<pages::ColumnStatistics> statistics,
                         statisticsOf(dataset, options.threads));
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const PartitionColumn* partition = dataset.partition(columns[c].name);
            if (partition == nullptr) {
                fill(statistics[c], columns[c]);
                continue;
            }
            ASSIGN_OR_RETURN(const pages::ColumnStatistics ofPartition,
                             statisticsOfPartition(dataset, *partition));
            fill(ofPartition, columns[c]);
        }
    }
    return columns;
}

Result<Json> describe(const Dataset& dataset, const DescribeOptions& options) {
    std::int64_t rows = 0, bytes = 0, groups = 0, decoded = 0;
    std::size_t listedGroups = 0;
    Json files = Json::array();
    for (std::size_t i = 0; i < dataset.files().size(); ++i) {
        ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts, dataset.facts(i));
        rows += facts->rows;
        bytes += dataset.files()[i].bytes;
        groups += static_cast<std::int64_t>(facts->chunks.size());
        if (static_cast<std::int64_t>(files.size()) < options.filesMax && files.size() == i &&
            listedGroups < kGroupsMax) {
            files.push_back(fileJson(dataset.files()[i], *facts));
            listedGroups += files.back()["row_groups"].size();
        }
    }
    ASSIGN_OR_RETURN(const std::vector<ColumnInfo> facts, columnFacts(dataset, options));
    Json columns = Json::array();
    for (const ColumnInfo& column : facts) {
        decoded += column.decodedBytes.value_or(0);
        columns.push_back(column.toJson());
    }
    return Json{{"format", dataset.options().format},
                {"left_out", leftOut(dataset.schema())},
                {"notes", notesOf(dataset)},
                {"files", std::move(files)},
                {"files_total", dataset.files().size()},
                {"rows", rows},
                {"row_groups", groups},
                {"bytes", bytes},
                {"decoded_bytes", decoded},
                {"columns", std::move(columns)}};
}

}  // namespace millrace::dataset
