#include "backend/dataset/side_table.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <arrow/array/array_base.h>
#include <arrow/array/concatenate.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <xxhash.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/hash.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/files/file_identity.h"
#include "backend/files/file_source.h"
#include "backend/objects/object_store.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

Result<std::string> formatOf(const spec::TableRef& table) {
    std::string format = table.empty() ? "" : formatOfPath(table.paths.front());
    if (format.empty()) {
        return invalidArgument(
            "table ", table.text(),
            ": its name must end in .csv, .parquet or .arrow to tell its format");
    }
    return format;
}

Result<std::shared_ptr<const Dataset>> openTable(const spec::TableRef& table,
                                                 const TablePlace& place) {
    spec::DatasetSpec section;
    section.path = table.paths;
    section.csv = table.csv;
    ASSIGN_OR_RETURN(section.format, formatOf(table));
    files::ReadOptions options = readOptionsOf(section);
    options.csvKey = "the table's csv";
    Result<std::shared_ptr<const Dataset>> opened =
        Dataset::open(table.paths, place.baseDir, options, place.cache);
    RETURN_IF_ERROR(annotate(opened.status(), strCat("table ", table.text())));
    for (const files::DataFile& file : (*opened)->files()) {
        if (place.planned != nullptr && !place.planned->contains(file.path)) {
            return failedPrecondition("table ", table.text(), ": ", file.path,
                                      " is no file of the plan: it came later; take it away, or "
                                      "submit again");
        }
    }
    return opened;
}

Result<std::string> hashFile(const files::FileSource& source) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         &XXH3_freeState);
    XXH3_128bits_reset(state.get());
    std::string block(1 << 20, '\0');
    for (std::int64_t at = 0;;) {
        ASSIGN_OR_RETURN(
            const std::int64_t n,
            source.readSome(at, static_cast<std::int64_t>(block.size()), block.data()));
        if (n == 0) {
            break;
        }
        XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(n));
        at += n;
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
    RETURN_IF_ERROR(source.verify());
    return Sum128{hash.low64, hash.high64}.hex();
}

Result<stream::SideTable> pinned(const files::DataFile& file) {
    stream::SideTable table;
    table.path = file.path;
    table.bytes = file.bytes;
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(table.hash, hashFile(source));
    return table;
}

}  // namespace

Result<expr::Schema> tableSchema(const spec::TableRef& ref, const TablePlace& place) {
    ASSIGN_OR_RETURN(const auto table, openTable(ref, place));
    return table->schema();
}

Result<std::vector<std::string>> tableNotes(const spec::TableRef& ref, const TablePlace& place) {
    ASSIGN_OR_RETURN(const auto table, openTable(ref, place));
    return table->notes();
}

Result<TableSize> tableSize(const spec::TableRef& ref, const std::vector<std::string>& columns,
                            const TablePlace& place) {
    ASSIGN_OR_RETURN(const auto table, openTable(ref, place));
    TableSize size;
    for (std::size_t file = 0; file < table->files().size(); ++file) {
        ASSIGN_OR_RETURN(const auto facts, table->facts(file));
        size.rows += facts->rows;
        const auto& fields = facts->schema.fields;
        for (const files::ChunkFacts& chunk : facts->chunks) {
            for (std::size_t c = 0; c < fields.size(); ++c) {
                const bool isWanted =
                    std::find(columns.begin(), columns.end(), fields[c].name) != columns.end();
                size.bytes += isWanted ? chunk.decodedBytes[c] : 0;
            }
        }
    }
    return size;
}

Result<std::shared_ptr<arrow::Table>> loadTable(const spec::TableRef& ref,
                                                const std::vector<std::string>& columns,
                                                const TablePlace& place) {
    ASSIGN_OR_RETURN(const auto table, openTable(ref, place));
    const std::string path = ref.text();
    SplitReader reader(table);
    std::vector<arrow::ArrayVector> pieces(columns.size());
    std::int64_t rows = 0;
    for (std::uint32_t file = 0; file < table->files().size(); ++file) {
        ASSIGN_OR_RETURN(const auto facts, table->facts(file));
        SplitRange range{file, 0, 0, 0};
        for (const files::ChunkFacts& chunk : facts->chunks) {
            range.rows = chunk.rows;
            ASSIGN_OR_RETURN(const std::vector<ArrayPtr> arrays,
                             reader.readColumns(range, columns));
            for (std::size_t c = 0; c < columns.size(); ++c) {
                pieces[c].push_back(arrays[c]);
            }
            range.firstRow += chunk.rows;
            ++range.chunk;
        }
        rows += facts->rows;
    }
    arrow::FieldVector fields;
    arrow::ArrayVector joined;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const expr::Field* field = table->schema().find(columns[c]);
        if (field == nullptr) {
            return invalidArgument("table ", path, ": no column '", columns[c], "'");
        }
        ArrayPtr array;
        if (pieces[c].empty()) {
            ASSIGN_OR_RETURN(array,
                             arrays::nullArray(field->type, 0, arrow::default_memory_pool()));
        } else {
            ASSIGN_OR_RETURN(array,
                             arrays::fromArrow(arrow::Concatenate(pieces[c]),
                                               strCat("table ", path, ", column ", columns[c])));
        }
        fields.push_back(arrow::field(columns[c], array->type()));
        joined.push_back(std::move(array));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(joined), rows);
}

Result<std::vector<stream::SideTable>> sideTablesOf(const spec::TableRef& ref,
                                                    const std::string& baseDir) {
    ASSIGN_OR_RETURN(const std::string format, formatOf(ref));
    const Result<std::vector<files::DataFile>> files = files::listFiles(ref.paths, baseDir, format);
    RETURN_IF_ERROR(annotate(files.status(), strCat("table ", ref.text())));
    std::vector<stream::SideTable> tables;
    for (const files::DataFile& file : *files) {
        ASSIGN_OR_RETURN(tables.emplace_back(), pinned(file));
    }
    return tables;
}

Result<stream::SideTable> sideFileOf(const std::string& path) {
    ASSIGN_OR_RETURN(const files::DataFile file, files::statFile(path, path));
    return pinned(file);
}

Result<files::DataFile> verifySideTable(const stream::SideTable& table) {
    ASSIGN_OR_RETURN(files::DataFile file, files::statFile(table.path, table.path));
    files::DataFile planned = file;
    planned.bytes = table.bytes;
    RETURN_IF_ERROR(files::verifySize(planned, file.bytes));
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(const std::string hash, hashFile(source));
    RETURN_IF_ERROR(files::verifyHash(file, hash, table.hash));
    file.etag = source.etag();
    return file;
}

Status verifyStill(const files::DataFile& checked) {
    if (checked.etag.empty()) {
        return files::verifyAtPath(checked);
    }
    ASSIGN_OR_RETURN(const auto store, objects::ObjectStore::open());
    char first = 0;
    return store->read(checked.path, {0, 1, checked.etag}, &first).status();
}

}  // namespace millrace::dataset
