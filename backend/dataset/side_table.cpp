#include "backend/dataset/side_table.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <arrow/array/array_base.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/mutex.h"
#include "backend/core/parallel.h"
#include "backend/dataset/content_hash.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/joined_column.h"
#include "backend/dataset/split_reader.h"
#include "backend/files/file_identity.h"
#include "backend/files/file_source.h"
#include "backend/objects/object_store.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr std::int64_t kManyRows = 1 << 16;  ///< worth a thread

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
        // A glob may match more files than at the submit: they are not part of the run.
        if (place.planned != nullptr && !place.planned->contains(file.path)) {
            return failedPrecondition("table ", table.text(), ": ", file.path,
                                      " is not a file of the plan: it came later; take it away, or "
                                      "submit again");
        }
    }
    return opened;
}

Result<stream::SideTable> pinned(const files::DataFile& file) {
    stream::SideTable table;
    table.path = file.path;
    table.bytes = file.bytes;
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(table.hash, contentHash(source));
    return table;
}

/// A pool of readers of one dataset, for changing threads.
class Readers {
 public:
    explicit Readers(std::shared_ptr<const Dataset> table) : table_(std::move(table)) {}

    std::unique_ptr<SplitReader> take() {
        MutexLock lock(mutex_);
        if (free_.empty()) {
            return std::make_unique<SplitReader>(table_);
        }
        std::unique_ptr<SplitReader> reader = std::move(free_.back());
        free_.pop_back();
        return reader;
    }
    void giveBack(std::unique_ptr<SplitReader> reader) {
        MutexLock lock(mutex_);
        free_.push_back(std::move(reader));
    }

 private:
    const std::shared_ptr<const Dataset> table_;
    Mutex mutex_;
    std::vector<std::unique_ptr<SplitReader>> free_ MR_GUARDED_BY(mutex_);
};

/// One range per thread, and more as long as they are short.
std::size_t endOfRound(const std::vector<SplitRange>& ranges, std::size_t begin, int threads) {
    std::int64_t rows = 0;
    std::size_t end = begin;
    while (end < ranges.size() &&
           (end - begin < static_cast<std::size_t>(threads) || rows < threads * kManyRows)) {
        rows += ranges[end++].rows;
    }
    return end;
}

/// The pieces of each column for the ranges. If columns can be read separately, each column of a
/// range is a task of its own, and tasks start in the given order of columns.
Result<std::vector<arrow::ArrayVector>> readRound(Readers& readers,
                                                  std::span<const SplitRange> ranges,
                                                  const std::vector<std::string>& columns,
                                                  const std::vector<std::size_t>& order,
                                                  int threads) {
    std::vector<arrow::ArrayVector> pieces(columns.size(), arrow::ArrayVector(ranges.size()));
    std::unique_ptr<SplitReader> first = readers.take();
    const std::size_t together =
        first->readsByColumn() ? 1 : std::max<std::size_t>(columns.size(), 1);
    readers.giveBack(std::move(first));
    const std::size_t parts = columns.size() / together;
    RETURN_IF_ERROR(parallelFor(ranges.size() * parts, threads, "table", [&](std::size_t i) {
        const std::size_t range = i % ranges.size();
        const std::size_t from = parts == 1 ? 0 : order[i / ranges.size()];
        const std::vector<std::string> names(
            columns.begin() + static_cast<std::ptrdiff_t>(from),
            columns.begin() + static_cast<std::ptrdiff_t>(from + together));
        std::unique_ptr<SplitReader> reader = readers.take();
        ASSIGN_OR_RETURN(std::vector<ArrayPtr> arrays, reader->readColumns(ranges[range], names));
        readers.giveBack(std::move(reader));
        for (std::size_t c = 0; c < together; ++c) {
            pieces[from + c][range] = std::move(arrays[c]);
        }
        return okStatus();
    }));
    return pieces;
}

Status appendAll(std::vector<JoinedColumn>& joined, std::vector<arrow::ArrayVector> pieces,
                 std::size_t ranges, int threads) {
    for (std::size_t c = 0; c < joined.size(); ++c) {
        RETURN_IF_ERROR(joined[c].place(std::move(pieces[c])));
    }
    RETURN_IF_ERROR(parallelFor(joined.size() * ranges, threads, "table", [&](std::size_t i) {
        joined[i / ranges].copy(i % ranges);
        return okStatus();
    }));
    for (JoinedColumn& column : joined) {
        RETURN_IF_ERROR(column.letGo());
    }
    return okStatus();
}

/// Largest first: whichever thread ends up with the last column keeps the others waiting least.
Result<std::vector<std::size_t>> largestFirst(const Dataset& table,
                                              const std::vector<std::string>& columns) {
    std::vector<std::int64_t> bytes(columns.size());
    for (std::size_t file = 0; file < table.files().size(); ++file) {
        ASSIGN_OR_RETURN(const auto facts, table.facts(file));
        const auto& fields = facts->schema.fields;
        for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
            for (std::size_t f = 0; f < std::min(fields.size(), chunk.decodedBytes.size()); ++f) {
                const auto at = std::ranges::find(columns, fields[f].name);
                if (at != columns.end()) {
                    bytes[static_cast<std::size_t>(at - columns.begin())] += chunk.decodedBytes[f];
                }
            }
        }
    }
    std::vector<std::size_t> order(columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
    return order;
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
        for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
            for (std::size_t c = 0; c < fields.size(); ++c) {
                const bool isWanted = std::ranges::find(columns, fields[c].name) != columns.end();
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
    table->expectColumns(columns);
    const std::string path = ref.text();
    std::vector<SplitRange> ranges;
    std::int64_t rows = 0;
    for (std::uint32_t file = 0; file < table->files().size(); ++file) {
        ASSIGN_OR_RETURN(const auto facts, table->facts(file));
        SplitRange range{file, 0, 0, 0};
        for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
            range.rows = chunk.rows;
            ranges.push_back(range);
            range.firstRow += chunk.rows;
            ++range.chunk;
        }
        rows += facts->rows;
    }
    std::vector<JoinedColumn> joined;
    for (const std::string& column : columns) {
        joined.emplace_back(rows, strCat("table ", path, ", column ", column));
    }
    // A small table is read faster than threads start.
    const int threads = rows < kManyRows ? 1 : std::max(place.threads, 1);
    ASSIGN_OR_RETURN(const std::vector<std::size_t> order, largestFirst(*table, columns));
    Readers readers(table);
    // In rounds, so that pieces of one round and the joined columns are in memory, not two copies
    // of the whole table.
    for (std::size_t begin = 0, end = 0; begin < ranges.size(); begin = end) {
        end = endOfRound(ranges, begin, threads);
        ASSIGN_OR_RETURN(
            std::vector<arrow::ArrayVector> pieces,
            readRound(readers, {ranges.data() + begin, end - begin}, columns, order, threads));
        RETURN_IF_ERROR(appendAll(joined, std::move(pieces), end - begin, threads));
    }
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const expr::Field* field = table->schema().find(columns[c]);
        if (field == nullptr) {
            return invalidArgument("table ", path, ": no column '", columns[c], "'");
        }
        ArrayPtr array;
        if (ranges.empty()) {
            ASSIGN_OR_RETURN(array,
                             arrays::nullArray(field->type, 0, arrow::default_memory_pool()));
        } else {
            ASSIGN_OR_RETURN(array, joined[c].finish());
        }
        fields.push_back(arrow::field(columns[c], array->type()));
        arrays.push_back(std::move(array));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(arrays), rows);
}

Result<std::vector<stream::SideTable>> sideTablesOf(const spec::TableRef& ref,
                                                    const TablePlace& place) {
    ASSIGN_OR_RETURN(const auto table, openTable(ref, place));
    std::vector<stream::SideTable> tables;
    for (std::size_t file = 0; file < table->files().size(); ++file) {
        ASSIGN_OR_RETURN(stream::SideTable pin, pinned(table->files()[file]));
        ASSIGN_OR_RETURN(const auto facts, table->facts(file));
        pin.rows = facts->rows;
        tables.push_back(std::move(pin));
    }
    return tables;
}

Result<stream::SideTable> sideFileOf(const std::string& path) {
    ASSIGN_OR_RETURN(const files::DataFile file, files::statFile(path, path));
    return pinned(file);
}

// By content, not by time of change: a file that was copied or touched is still the planned one.
Result<files::DataFile> verifySideTable(const stream::SideTable& table) {
    ASSIGN_OR_RETURN(files::DataFile file, files::statFile(table.path, table.path));
    files::DataFile planned = file;
    planned.bytes = table.bytes;
    RETURN_IF_ERROR(files::verifySize(planned, file.bytes));
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(const std::string hash, contentHash(source));
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
    // One byte, on condition of the ETag: the store refuses it if the object has changed.
    return store->read(checked.path, {0, 1, checked.etag}, &first).status();
}

}  // namespace millrace::dataset
