#include "backend/dataset/side_table.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include <arrow/array/array_base.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <xxhash.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/directories.h"
#include "backend/core/hash.h"
#include "backend/core/mutex.h"
#include "backend/core/parallel.h"
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
        if (place.planned != nullptr && !place.planned->contains(file.path)) {
            return failedPrecondition("table ", table.text(), ": ", file.path,
                                      " is no file of the plan: it came later; take it away, or "
                                      "submit again");
        }
    }
    return opened;
}

/// Hashes of local files that were read once, by their identity: a plan's tables are read for their
/// hash when it is made, and again when it is carried out, often by the same process.
class KnownHashes {
 public:
    /// What a file that changed lately holds is not known by its times, nor by a server's clock.
    static bool mayKnow(const files::DataFile& file) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const std::int64_t nowNs = std::chrono::nanoseconds(now).count();
        return files::hasIdentity(file) && networkFileSystemOf(file.path).empty() &&
               nowNs - std::max(file.changeNs, file.mtimeNs) > kSettled;
    }
    std::optional<std::string> find(const files::DataFile& file) {
        MutexLock lock(mutex_);
        const auto known = hashes_.find(keyOf(file));
        return known == hashes_.end() ? std::nullopt : std::optional(known->second);
    }
    void keep(const files::DataFile& file, const std::string& hash) {
        MutexLock lock(mutex_);
        if (hashes_.size() >= kMost) {
            hashes_.clear();
        }
        hashes_[keyOf(file)] = hash;
    }

 private:
    static constexpr std::int64_t kSettled = 2'000'000'000;  // nanoseconds
    static constexpr std::size_t kMost = 1024;

    using Key = std::tuple<std::string, std::int64_t, std::uint64_t, std::uint64_t, std::int64_t,
                           std::int64_t>;
    static Key keyOf(const files::DataFile& file) {
        return {file.path, file.bytes, file.device, file.inode, file.mtimeNs, file.changeNs};
    }

    Mutex mutex_;
    std::map<Key, std::string> hashes_ MR_GUARDED_BY(mutex_);
};

KnownHashes& knownHashes() {
    static KnownHashes known;
    return known;
}

Result<std::string> contentOf(const files::FileSource& source) {
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

Result<std::string> hashFile(const files::FileSource& source) {
    const files::DataFile& file = source.file();
    const bool mayKnow = !objects::isObjectUri(file.path) && KnownHashes::mayKnow(file);
    if (mayKnow) {
        if (std::optional<std::string> known = knownHashes().find(file)) {
            return *known;
        }
    }
    ASSIGN_OR_RETURN(std::string hash, contentOf(source));
    if (mayKnow) {
        knownHashes().keep(file, hash);
    }
    return hash;
}

Result<stream::SideTable> pinned(const files::DataFile& file) {
    stream::SideTable table;
    table.path = file.path;
    table.bytes = file.bytes;
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(table.hash, hashFile(source));
    return table;
}

/// Readers of one dataset for threads that come and go.
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

/// One range for each thread, and more while they are short.
std::size_t endOfRound(const std::vector<SplitRange>& ranges, std::size_t begin, int threads) {
    std::int64_t rows = 0;
    std::size_t end = begin;
    while (end < ranges.size() &&
           (end - begin < static_cast<std::size_t>(threads) || rows < threads * kManyRows)) {
        rows += ranges[end++].rows;
    }
    return end;
}

/// By column, its pieces of the ranges: a column of a range, where it is read alone, is one
/// thread's.
Result<std::vector<arrow::ArrayVector>> readRound(Readers& readers,
                                                  std::span<const SplitRange> ranges,
                                                  const std::vector<std::string>& columns,
                                                  int threads) {
    std::vector<arrow::ArrayVector> pieces(columns.size(), arrow::ArrayVector(ranges.size()));
    std::unique_ptr<SplitReader> first = readers.take();
    const std::size_t together =
        first->readsByColumn() ? 1 : std::max<std::size_t>(columns.size(), 1);
    readers.giveBack(std::move(first));
    const std::size_t parts = columns.size() / together;
    RETURN_IF_ERROR(parallelFor(ranges.size() * parts, threads, "table", [&](std::size_t i) {
        const std::size_t range = i / parts, from = i % parts * together;
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
    table->expectColumns(columns);
    const std::string path = ref.text();
    std::vector<SplitRange> ranges;
    std::int64_t rows = 0;
    for (std::uint32_t file = 0; file < table->files().size(); ++file) {
        ASSIGN_OR_RETURN(const auto facts, table->facts(file));
        SplitRange range{file, 0, 0, 0};
        for (const files::ChunkFacts& chunk : facts->chunks) {
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
    const int threads = rows < kManyRows ? 1 : std::max(place.threads, 1);
    Readers readers(table);
    for (std::size_t begin = 0, end = 0; begin < ranges.size(); begin = end) {
        end = endOfRound(ranges, begin, threads);
        ASSIGN_OR_RETURN(
            std::vector<arrow::ArrayVector> pieces,
            readRound(readers, {ranges.data() + begin, end - begin}, columns, threads));
        for (std::size_t c = 0; c < columns.size(); ++c) {
            RETURN_IF_ERROR(joined[c].append(std::move(pieces[c]), threads));
        }
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
