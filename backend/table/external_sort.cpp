#include "backend/table/external_sort.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <queue>

#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/io/file.h>
#include <arrow/ipc/api.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/files.h"
#include "backend/table/sort_key.h"
#include "backend/table/table_writer.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;

constexpr std::int64_t kLeastRows = 64, kMostRows = 65536;

Result<BatchPtr> joined(const std::shared_ptr<arrow::Schema>& schema,
                        const std::vector<BatchPtr>& batches) {
    if (batches.size() == 1) {
        return batches.front();
    }
    if (batches.empty()) {
        return fromArrow(arrow::RecordBatch::MakeEmpty(schema), "sort");
    }
    return fromArrow(arrow::ConcatenateRecordBatches(batches), "sort");
}

Result<BatchPtr> taken(const BatchPtr& batch, const std::vector<std::int64_t>& rows) {
    arrow::Int64Builder builder;
    RETURN_IF_ERROR(fromArrow(builder.AppendValues(rows), "sort"));
    ASSIGN_OR_RETURN(const auto indices, fromArrow(builder.Finish(), "sort"));
    arrow::compute::ExecContext context(arrow::default_memory_pool());
    context.set_use_threads(false);
    ASSIGN_OR_RETURN(
        const arrow::Datum picked,
        fromArrow(arrow::compute::Take(batch, indices, arrow::compute::TakeOptions::NoBoundsCheck(),
                                       &context),
                  "sort"));
    return picked.record_batch();
}

// A run being written.
class RunWriter {
 public:
    Status open(const std::string& path, const std::shared_ptr<arrow::Schema>& schema) {
        path_ = path;
        ASSIGN_OR_RETURN(file_, fromArrow(arrow::io::FileOutputStream::Open(path), path));
        ASSIGN_OR_RETURN(writer_, fromArrow(arrow::ipc::MakeFileWriter(file_, schema), path));
        return okStatus();
    }
    /// `rows`: of a stored batch; a merge holds one of each run.
    Status write(const arrow::RecordBatch& batch, std::int64_t rows) {
        for (std::int64_t at = 0; at < batch.num_rows(); at += rows) {
            RETURN_IF_ERROR(writeStatus(writer_->WriteRecordBatch(*batch.Slice(at, rows)), path_));
        }
        return okStatus();
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

// A run being merged: one batch of it, its keys, and how far it has been taken.
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
        return load();
    }
    bool isAtEnd() const { return batch_ == nullptr; }
    std::string_view key() const { return (*keys_)[at_]; }
    const BatchPtr& batch() const { return batch_; }
    std::int64_t at() const { return at_; }
    /// True when a batch was used up: slices of it must be kept by then.
    bool isLastOfBatch() const { return at_ + 1 == batch_->num_rows(); }
    Status advance() {
        ++at_;
        return at_ < batch_->num_rows() ? okStatus() : load();
    }

 private:
    Status load() {
        at_ = 0;
        do {
            batch_ = nullptr;
            if (next_ == reader_->num_record_batches()) {
                return okStatus();
            }
            ASSIGN_OR_RETURN(batch_, fromArrow(reader_->ReadRecordBatch(next_++), path_));
        } while (batch_->num_rows() == 0);
        keys_.emplace(*batch_, columns_);
        return okStatus();
    }

    std::string path_;
    std::vector<int> columns_;
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
    BatchPtr batch_;
    std::optional<SortKeys> keys_;
    int next_ = 0;
    std::int64_t at_ = 0;
};

// Rows picked from several batches, put together once there are enough of them.
class Gather {
 public:
    Gather(std::shared_ptr<arrow::Schema> schema, std::size_t runs)
        : schema_(std::move(schema)), open_(runs, -1) {}

    void pick(std::size_t run, const RunReader& reader) {
        if (open_[run] < 0) {
            open_[run] = static_cast<std::int64_t>(pieces_.size());
            pieces_.push_back({reader.batch(), reader.at(), 0});
        }
        Piece& piece = pieces_[static_cast<std::size_t>(open_[run])];
        rows_.push_back({static_cast<std::size_t>(open_[run]), piece.rows++});
        if (reader.isLastOfBatch()) {
            open_[run] = -1;
        }
    }
    std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }

    Result<BatchPtr> take() {
        std::vector<BatchPtr> slices;
        std::vector<std::int64_t> starts;
        std::int64_t start = 0;
        for (const Piece& piece : pieces_) {
            slices.push_back(piece.batch->Slice(piece.from, piece.rows));
            starts.push_back(start);
            start += piece.rows;
        }
        std::vector<std::int64_t> indices;
        indices.reserve(rows_.size());
        for (const auto& [piece, row] : rows_) {
            indices.push_back(starts[piece] + row);
        }
        ASSIGN_OR_RETURN(const BatchPtr all, joined(schema_, slices));
        pieces_.clear();
        rows_.clear();
        std::fill(open_.begin(), open_.end(), -1);
        return taken(all, indices);
    }

 private:
    struct Piece {
        BatchPtr batch;
        std::int64_t from, rows;
    };
    const std::shared_ptr<arrow::Schema> schema_;
    std::vector<Piece> pieces_;
    std::vector<std::int64_t> open_;  ///< by run: the piece that it adds to; -1: none
    std::vector<std::pair<std::size_t, std::int64_t>> rows_;
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
    collectedBytes_ += arrow::util::TotalBufferSize(*batch);
    collected_.push_back(std::move(batch));
    // Sorting copies the rows once, so half of the memory may be collected.
    return collectedBytes_ * 2 > options_.memoryBytes ? writeRun() : okStatus();
}

Result<BatchPtr> ExternalSort::sortCollected() {
    ASSIGN_OR_RETURN(const BatchPtr all, joined(schema_, collected_));
    collected_.clear();
    collectedBytes_ = 0;
    const SortKeys keys(*all, columns_);
    std::vector<std::int64_t> order(static_cast<std::size_t>(all->num_rows()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&keys](std::int64_t a, std::int64_t b) { return keys[a] < keys[b]; });
    return taken(all, order);
}

std::string ExternalSort::nextRunPath() {
    return strCat(options_.directory, "/run-", runsWritten_++);
}

// Rows of a stored batch, so that kFanIn of them take half of the memory at most.
std::int64_t ExternalSort::rowsOf(const arrow::RecordBatch& batch, std::int64_t bytes) const {
    const std::int64_t budget =
        options_.memoryBytes / 2 / static_cast<std::int64_t>(options_.fanIn + 2);
    const std::int64_t perRow =
        std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, batch.num_rows()));
    return std::clamp(budget / perRow, kLeastRows, kMostRows);
}

Status ExternalSort::writeRun() {
    RETURN_IF_ERROR(makeDirectories(options_.directory, 0700));
    ASSIGN_OR_RETURN(const BatchPtr sorted, sortCollected());
    const std::string path = nextRunPath();
    runs_.push_back(path);
    RunWriter writer;
    RETURN_IF_ERROR(writer.open(path, schema_));
    RETURN_IF_ERROR(writer.write(*sorted, rowsOf(*sorted, arrow::util::TotalBufferSize(*sorted))));
    return writer.close();
}

Status ExternalSort::finish(const BatchTaker& take) {
    if (runs_.empty()) {
        ASSIGN_OR_RETURN(BatchPtr sorted, sortCollected());
        return sorted->num_rows() == 0 ? okStatus() : take(std::move(sorted));
    }
    if (!collected_.empty()) {
        RETURN_IF_ERROR(writeRun());
    }
    while (runs_.size() > options_.fanIn) {
        std::vector<std::string> merged;
        for (std::size_t first = 0; first < runs_.size(); first += options_.fanIn) {
            const auto end = std::min(runs_.size(), first + options_.fanIn);
            const std::string path = nextRunPath();
            RunWriter writer;
            RETURN_IF_ERROR(writer.open(path, schema_));
            RETURN_IF_ERROR(mergeRuns(
                {runs_.begin() + static_cast<std::ptrdiff_t>(first),
                 runs_.begin() + static_cast<std::ptrdiff_t>(end)},
                [&](const BatchPtr& batch) { return writer.write(*batch, batch->num_rows()); }));
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
    // The least key is on top; of equal keys the earlier run's.
    const auto isLater = [&readers](std::size_t a, std::size_t b) {
        const int order = readers[a]->key().compare(readers[b]->key());
        return order != 0 ? order > 0 : a > b;
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(isLater)> heads(isLater);
    std::int64_t rowsMax = 0;
    for (std::size_t r = 0; r < readers.size(); ++r) {
        if (!readers[r]->isAtEnd()) {
            rowsMax = std::max(rowsMax, readers[r]->batch()->num_rows());
            heads.push(r);
        }
    }
    Gather gather(schema_, readers.size());
    while (!heads.empty()) {
        const std::size_t run = heads.top();
        heads.pop();
        RunReader& reader = *readers[run];
        gather.pick(run, reader);
        RETURN_IF_ERROR(reader.advance());
        if (!reader.isAtEnd()) {
            heads.push(run);
        }
        if (gather.rows() == rowsMax) {
            ASSIGN_OR_RETURN(BatchPtr batch, gather.take());
            RETURN_IF_ERROR(take(std::move(batch)));
        }
    }
    if (gather.rows() > 0) {
        ASSIGN_OR_RETURN(BatchPtr batch, gather.take());
        RETURN_IF_ERROR(take(std::move(batch)));
    }
    return okStatus();
}

}  // namespace millrace::table
