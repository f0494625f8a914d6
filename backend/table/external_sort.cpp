#include "backend/table/external_sort.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <arrow/io/file.h>
#include <arrow/ipc/api.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/in_order.h"
#include "backend/core/parallel.h"
#include "backend/filesystem/files.h"
#include "backend/table/row_gather.h"
#include "backend/table/row_places.h"
#include "backend/table/sort_key.h"
#include "backend/table/sort_order.h"
#include "backend/table/table_writer.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;

constexpr std::int64_t kLeastRows = 64, kMostRows = 65536;
constexpr std::int64_t kPartRows = 65536;  // rows worth a thread and a run
constexpr std::size_t kPartsMost = 8;
constexpr std::int64_t kCollectedRows = std::int64_t{1} << 31;  // row numbers have 32 bits

// A run that is being written.
class RunWriter {
 public:
    Status open(const std::string& path, const std::shared_ptr<arrow::Schema>& schema) {
        path_ = path;
        ASSIGN_OR_RETURN(file_, fromArrow(arrow::io::FileOutputStream::Open(path), path));
        ASSIGN_OR_RETURN(writer_, fromArrow(arrow::ipc::MakeFileWriter(file_, schema), path));
        return okStatus();
    }
    Status write(const arrow::RecordBatch& batch) {
        return writeStatus(writer_->WriteRecordBatch(batch), path_);
    }
    Status close() {
        RETURN_IF_ERROR(writeStatus(writer_->Close(), path_));
        return writeStatus(file_->Close(), path_);
    }

 private:
    std::string path_;
    std::shared_ptr<arrow::io::FileOutputStream> file_;
    std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

// A run that is being merged: its loaded batch, and how much of it was taken.
class RunReader {
 public:
    ~RunReader() {
        if (!path_.empty()) {
            std::remove(path_.c_str());
        }
    }
    Status open(const std::string& path, const std::vector<int>& columns) {
        path_ = path;
        columns_ = columns;
        ASSIGN_OR_RETURN(auto file, fromArrow(arrow::io::ReadableFile::Open(path), path));
        arrow::ipc::IpcReadOptions options;
        options.use_threads = false;
        ASSIGN_OR_RETURN(reader_,
                         fromArrow(arrow::ipc::RecordBatchFileReader::Open(file, options), path));
        return passTo(0);
    }
    bool isAtEnd() const { return batch_ == nullptr; }
    bool isLastBatch() const { return next_ == reader_->num_record_batches(); }
    std::int64_t rows() const { return batch_->num_rows(); }
    std::string keyAt(std::int64_t row) const {
        return std::string(SortKeys(*batch_->Slice(row, 1), columns_)[0]);
    }
    /// First row not yet taken whose key is not below `key` (isAbove: is above it).
    std::int64_t bound(std::string_view key, bool isAbove) const {
        std::int64_t low = at_, high = rows();
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            const int order = std::string_view(keyAt(middle)).compare(key);
            (order < 0 || (isAbove && order == 0) ? low : high) =
                order < 0 || (isAbove && order == 0) ? middle + 1 : middle;
        }
        return low;
    }
    /// The rows before row `end` that were not taken.
    BatchPtr upTo(std::int64_t end) const { return batch_->Slice(at_, end - at_); }
    /// Takes the rows before `end`.
    Status passTo(std::int64_t end) {
        at_ = end;
        while (batch_ == nullptr || at_ == rows()) {
            at_ = 0;
            batch_ = nullptr;
            if (isLastBatch()) {
                return okStatus();
            }
            ASSIGN_OR_RETURN(batch_, fromArrow(reader_->ReadRecordBatch(next_++), path_));
        }
        return okStatus();
    }

 private:
    std::string path_;
    std::vector<int> columns_;
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
    BatchPtr batch_;
    int next_ = 0;
    std::int64_t at_ = 0;
};

}  // namespace

ExternalSort::ExternalSort(std::shared_ptr<arrow::Schema> schema, Options options,
                           std::vector<int> columns)
    : schema_(std::move(schema)), options_(std::move(options)), columns_(std::move(columns)) {}

ExternalSort::~ExternalSort() {
    for (const std::string& path : runs_) {
        std::remove(path.c_str());
    }
}

Result<std::unique_ptr<ExternalSort>> ExternalSort::make(std::shared_ptr<arrow::Schema> schema,
                                                         Options options) {
    ASSIGN_OR_RETURN(std::vector<int> columns, SortKeys::columnsOf(*schema, options.keys));
    return std::unique_ptr<ExternalSort>(
        new ExternalSort(std::move(schema), std::move(options), std::move(columns)));
}

Status ExternalSort::add(BatchPtr batch) {
    if (batch->num_rows() == 0) {
        return okStatus();
    }
    if (collectedRows_ + batch->num_rows() > kCollectedRows) {
        RETURN_IF_ERROR(writeRuns());
    }
    collectedRows_ += batch->num_rows();
    collectedBytes_ += arrow::util::TotalBufferSize(*batch);
    collected_.push_back(std::move(batch));
    const std::int64_t bytes = collectedBytes_ + collectedRows_ * kOrderBytes;
    return bytes > options_.memoryBytes ? writeRuns() : okStatus();
}

std::string ExternalSort::nextRunPath() {
    return strCat(options_.directory, "/run-", runsWritten_++);
}

// Number of rows per stored batch, so that kFanIn batches take at most half of the memory.
std::int64_t ExternalSort::rowsOf(std::int64_t rows, std::int64_t bytes) const {
    const std::int64_t budget =
        options_.memoryBytes / 2 / static_cast<std::int64_t>(options_.fanIn + 2);
    const std::int64_t perRow = std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, rows));
    return std::clamp(budget / perRow, kLeastRows, kMostRows);
}

Status ExternalSort::giveSorted(const std::vector<BatchPtr>& batches, std::int64_t rowsMost,
                                int threads, const BatchTaker& take) const {
    ASSIGN_OR_RETURN(const SortedRows sorted, sortedOrder(batches, columns_, threads));
    const std::span<const std::uint32_t> order = sorted.rows;
    const RowPlaces places(batches);
    const auto most = static_cast<std::size_t>(rowsMost);
    const std::size_t count = (order.size() + most - 1) / most;
    // Each thread may make one batch and have one waiting, as batches take equal time; at most as
    // many as a merge holds.
    const std::size_t ahead =
        std::min(2 * static_cast<std::size_t>(std::max(threads, 1)), options_.fanIn);
    const auto gather = [&](std::size_t i) {
        const std::size_t begin = i * most;
        const std::size_t rows = std::min(most, order.size() - begin);
        return gathered(schema_, batches, places, order.subspan(begin, rows),
                        count == 1 ? threads : 1);
    };
    return makeInOrder<BatchPtr>(count, threads, ahead, "sort", gather, take);
}

// Writes the collected rows as up to one run per thread. A run has consecutive batches, so that
// runs keep the order in which the rows came.
Status ExternalSort::writeRuns() {
    RETURN_IF_ERROR(makeDirectories(options_.directory, 0700));
    const std::int64_t rows = std::exchange(collectedRows_, 0);
    const auto parts = std::clamp<std::size_t>(
        std::min<std::size_t>(static_cast<std::size_t>(std::max(options_.threads, 1)),
                              static_cast<std::size_t>(rows / kPartRows)),
        1, std::min(kPartsMost, collected_.size()));
    std::vector<std::vector<BatchPtr>> members(parts);
    std::int64_t before = 0;
    for (BatchPtr& batch : collected_) {
        const auto part =
            static_cast<std::size_t>(before * static_cast<std::int64_t>(parts) / rows);
        before += batch->num_rows();
        members[part].push_back(std::move(batch));
    }
    collected_.clear();
    collectedBytes_ = 0;
    std::erase_if(members, [](const auto& part) { return part.empty(); });
    const std::size_t first = runs_.size();
    for (std::size_t part = 0; part < members.size(); ++part) {
        runs_.push_back(nextRunPath());
    }
    return parallelFor(members.size(), options_.threads, "sort", [&](std::size_t part) {
        return writeRun(members[part], runs_[first + part]);
    });
}

Status ExternalSort::writeRun(std::vector<BatchPtr>& batches, const std::string& path) const {
    RunWriter writer;
    RETURN_IF_ERROR(writer.open(path, schema_));
    std::int64_t bytes = 0, rows = 0;
    for (const BatchPtr& batch : batches) {
        bytes += arrow::util::TotalBufferSize(*batch);
        rows += batch->num_rows();
    }
    RETURN_IF_ERROR(giveSorted(batches, rowsOf(rows, bytes), 1,
                               [&](const BatchPtr& batch) { return writer.write(*batch); }));
    batches.clear();
    return writer.close();
}

Status ExternalSort::finish(const BatchTaker& take) {
    if (runs_.empty()) {
        if (collected_.empty()) {
            return okStatus();
        }
        const std::int64_t rows = std::exchange(collectedRows_, 0);
        const std::int64_t rowsMost = rowsOf(rows, std::exchange(collectedBytes_, 0));
        RETURN_IF_ERROR(
            giveSorted(std::exchange(collected_, {}), rowsMost, options_.threads, take));
        return okStatus();
    }
    if (!collected_.empty()) {
        RETURN_IF_ERROR(writeRuns());
    }
    while (runs_.size() > options_.fanIn) {
        std::vector<std::string> merged;
        for (std::size_t first = 0; first < runs_.size(); first += options_.fanIn) {
            const auto end = std::min(runs_.size(), first + options_.fanIn);
            const std::string path = nextRunPath();
            RunWriter writer;
            RETURN_IF_ERROR(writer.open(path, schema_));
            RETURN_IF_ERROR(mergeRuns({runs_.begin() + static_cast<std::ptrdiff_t>(first),
                                       runs_.begin() + static_cast<std::ptrdiff_t>(end)},
                                      [&](const BatchPtr& batch) { return writer.write(*batch); }));
            RETURN_IF_ERROR(writer.close());
            merged.push_back(path);
        }
        runs_ = std::move(merged);
    }
    RETURN_IF_ERROR(mergeRuns(runs_, take));
    runs_.clear();
    return okStatus();
}

Status ExternalSort::mergeRuns(std::vector<std::string> paths, const BatchTaker& take) {
    std::vector<std::unique_ptr<RunReader>> readers;
    for (const std::string& path : paths) {
        readers.push_back(std::make_unique<RunReader>());
        RETURN_IF_ERROR(readers.back()->open(path, columns_));
    }
    std::int64_t rowsMost = 1;
    for (const auto& reader : readers) {
        rowsMost = std::max(rowsMost, reader->isAtEnd() ? 0 : reader->rows());
    }
    for (;;) {
        // Among the runs with rows not yet loaded, the run with the smallest last loaded key limits
        // what can be output. Rows with that key in earlier runs are output before its own.
        std::optional<std::size_t> bound;
        std::string key;
        for (std::size_t r = 0; r < readers.size(); ++r) {
            if (readers[r]->isAtEnd() || readers[r]->isLastBatch()) {
                continue;
            }
            std::string last = readers[r]->keyAt(readers[r]->rows() - 1);
            if (!bound || last < key) {
                bound = r;
                key = std::move(last);
            }
        }
        std::vector<BatchPtr> pieces;
        for (std::size_t r = 0; r < readers.size(); ++r) {
            if (readers[r]->isAtEnd()) {
                continue;
            }
            const std::int64_t end =
                bound ? readers[r]->bound(key, r <= *bound) : readers[r]->rows();
            BatchPtr piece = readers[r]->upTo(end);
            if (piece->num_rows() > 0) {
                pieces.push_back(std::move(piece));
            }
            RETURN_IF_ERROR(readers[r]->passTo(end));
        }
        if (pieces.empty()) {
            return okStatus();
        }
        RETURN_IF_ERROR(pieces.size() == 1 ? take(pieces.front())
                                           : giveSorted(pieces, rowsMost, options_.threads, take));
    }
}

}  // namespace millrace::table
