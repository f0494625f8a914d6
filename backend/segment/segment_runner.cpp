#include "backend/segment/segment_runner.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <arrow/api.h>

#include "backend/dataset/plan_builder.h"
#include "backend/segment/requests.h"

namespace millrace::segment {
namespace {

/// Of all buffers of an array; one that stands in it twice counts twice.
std::int64_t bufferBytes(const arrow::ArrayData& data) {
    std::int64_t bytes = 0;
    for (const std::shared_ptr<arrow::Buffer>& buffer : data.buffers) {
        bytes += buffer == nullptr ? 0 : buffer->size();
    }
    for (const std::shared_ptr<arrow::ArrayData>& child : data.child_data) {
        bytes += bufferBytes(*child);
    }
    return bytes + (data.dictionary == nullptr ? 0 : bufferBytes(*data.dictionary));
}

constexpr std::int64_t kSegmentsAhead = 8;  // the read-ahead itself bounds the bytes
// Runs of this many rows are copied by column; shorter ones from records.
constexpr std::int64_t kRowsARun = 8;
constexpr int kBucketRowsLog2 = 4;

// Sorts by `key`, then by `isBefore`. The keys are random, so their first bits share the items out
// evenly, and what is left to sort fits the first-level cache.
template <class T, class Less>
void sortByKey(std::vector<T>& items, Less isBefore) {
    const int bits = std::max(static_cast<int>(std::bit_width(items.size())) - kBucketRowsLog2, 1);
    const auto bucketOf = [bits](const T& item) { return item.key >> (64 - bits); };
    std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1, 0);
    for (const T& item : items) {
        ++ends[bucketOf(item) + 1];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    const std::vector<std::uint32_t> starts = ends;
    std::vector<T> sorted(items.size());
    for (const T& item : items) {
        sorted[ends[bucketOf(item)]++] = item;
    }
    for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
        std::sort(sorted.begin() + starts[b], sorted.begin() + starts[b + 1],
                  [&isBefore](const T& x, const T& y) {
                      return x.key != y.key ? x.key < y.key : isBefore(x, y);
                  });
    }
    items = std::move(sorted);
}

}  // namespace

// One split's columns as the recipe asks for them; the request column is read once for both.
class SegmentRunner::Columns final : public recipe::ColumnSource {
 public:
    Columns(SegmentRunner& runner, const dataset::SplitRange& split,
            std::optional<std::int64_t> flightNumber)
        : runner_(runner),
          reader_(runner.reader_),
          split_(split),
          flightNumber_(flightNumber),
          pool_(&runner.pool_),
          counters_(runner.counters_) {}

    Result<std::vector<std::shared_ptr<arrow::Array>>> columns(
        const std::vector<std::string>& names) override {
        return rows(names, {});
    }

    Result<std::vector<std::shared_ptr<arrow::Array>>> rows(const std::vector<std::string>& names,
                                                            const pages::RowWish& wish) override {
        StageTimer timer(counters_);
        std::vector<std::string> missing;
        for (const std::string& name : names) {
            if (name != keptName_) {
                missing.push_back(name);
            }
        }
        const std::int64_t before = reader_.bytesRead();
        const bool isShared =
            flightNumber_.has_value() && reader_.readsByColumn() &&
            runner_.jobs_->isWorthSharing(wish.count(split_.rows), missing.size());
        ASSIGN_OR_RETURN(ColumnArrays read,
                         isShared ? runner_.jobs_->read(*flightNumber_, split_, missing, wish,
                                                        reader_, runner_.helper())
                                  : reader_.readRows(split_, missing, wish));
        std::vector<std::shared_ptr<arrow::Array>> arrays;
        std::size_t next = 0;
        for (const std::string& name : names) {
            if (name != keptName_) {
                arrays.push_back(std::move(read[next++]));
                continue;
            }
            ASSIGN_OR_RETURN(auto part, pages::selectRows(kept_, wish, pool_));
            arrays.push_back(std::move(part));
        }
        // What was shared is counted by those who read it.
        count(names, arrays, isShared ? 0 : reader_.bytesRead() - before, timer.lap());
        return arrays;
    }

    Result<std::shared_ptr<arrow::Array>> keep(const std::string& name) {
        ASSIGN_OR_RETURN(auto arrays, columns({name}));
        kept_ = std::move(arrays[0]);
        keptName_ = name;
        return kept_;
    }
    std::int64_t readNs() const override { return readNs_; }
    std::int64_t waitNs() const { return waitNs_; }

 private:
    void count(const std::vector<std::string>& names,
               const std::vector<std::shared_ptr<arrow::Array>>& arrays, std::int64_t bytes,
               const dataset::ColumnCost& lap) {
        readNs_ += lap.busyNs;
        waitNs_ += lap.waitNs;
        counters_.addReads(reader_.takeCosts(), split_.rows);
        counters_.add(Stage::kRead, lap.busyNs, firstRead_ ? split_.rows : 0, bytes);
        counters_.addWait(Stage::kRead, Wait::kStarved, lap.waitNs);
        firstRead_ = false;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (names[i] != keptName_) {
                counters_.addDecoded(names[i], bufferBytes(*arrays[i]->data()));
            }
        }
    }

    SegmentRunner& runner_;
    dataset::SplitReader& reader_;
    const dataset::SplitRange& split_;
    const std::optional<std::int64_t> flightNumber_;
    arrow::MemoryPool* const pool_;
    StageCounters& counters_;
    std::string keptName_;
    std::shared_ptr<arrow::Array> kept_;
    bool firstRead_ = true;
    std::int64_t readNs_ = 0, waitNs_ = 0;
};

SegmentRunner::SegmentRunner(std::shared_ptr<const StreamInput> input, BufferPool& pool,
                             StageCounters& counters, std::shared_ptr<dataset::ReadAhead> readAhead,
                             std::uint32_t epochs, ColumnJobs* jobs)
    : input_(std::move(input)),
      pool_(pool),
      counters_(counters),
      records_(input_->layout()),
      readAhead_(std::move(readAhead)),
      reader_(input_->dataset(), &pool, readAhead_),
      jobs_(jobs),
      epochs_(epochs),
      columnsAhead_(input_->dataset()->hasObjects()
                        ? dataset::columnsRead(input_->spec(), input_->dataset()->schema())
                        : std::vector<std::string>()) {}

// This segment's splits, and those that follow it, whichever thread will compute them.
void SegmentRunner::announce(std::uint32_t epoch, std::int64_t segment) {
    std::vector<dataset::SplitRange> splits;
    for (std::int64_t ahead = 0; ahead < kSegmentsAhead; ++ahead, ++segment) {
        if (segment == input_->numSegments()) {
            segment = 0;
            ++epoch;
        }
        if (epoch >= epochs_ && ahead > 0) {
            break;
        }
        for (const stream::SplitRef& ref : input_->splitsOf(epoch, segment)) {
            const stream::PlanSplit& split = input_->files()[ref.file].splits[ref.split];
            splits.push_back({ref.file, split.rowGroup, split.firstRow, split.rows});
        }
    }
    reader_.announce(splits, columnsAhead_);
}

dataset::SplitReader& SegmentRunner::helper() {
    if (!helper_) {
        helper_.emplace(input_->dataset(), &pool_, readAhead_, dataset::SplitReader::Role::kHelper);
    }
    return *helper_;
}

bool SegmentRunner::help() {
    StageTimer timer(counters_);
    const bool hasHelped = jobs_ != nullptr && jobs_->help(helper());
    if (hasHelped) {
        timer.stop(Stage::kRead);
    }
    return hasHelped;
}

Result<SegmentOutput> SegmentRunner::run(std::uint32_t epoch, std::int64_t segment,
                                         const SegmentPart& part,
                                         std::optional<std::int64_t> flightNumber) {
    SegmentOutput output;
    output.epoch = epoch;
    output.segment = segment;
    output.counts.steps.resize(input_->recipe().stepNames().size());
    output.counts.vocabularies.resize(input_->recipe().vocabularies().size());
    requestStarts_.clear();
    if (!columnsAhead_.empty()) {
        announce(epoch, segment);
    }
    const std::vector<stream::SplitRef> splits = input_->splitsOf(epoch, segment);
    for (std::size_t s = 0; s < splits.size(); ++s) {
        ASSIGN_OR_RETURN(const RowRange wanted,
                         rowRangeOf(splits[s], s == 0 ? part : SegmentPart()));
        RETURN_IF_ERROR(runSplit(splits[s], wanted, epoch, flightNumber, output));
        if (part.kind == SegmentPart::Kind::kHead) {
            break;
        }
    }
    output.countRows();
    output.counts.rowsKept = output.rowsKept();
    if (input_->shuffle() != Shuffle::kNone && output.rowsKept() > 0) {
        StageTimer timer(counters_);
        const std::int64_t runs = orderRows(epoch, output);
        timer.stop(Stage::kOrder, output.rowsKept());
        if (output.rowsKept() < runs * kRowsARun) {
            for (Chunk& chunk : output.chunks) {
                RETURN_IF_ERROR(chunk.makeRecords(records_, pool_));
            }
            output.hasRecords = true;
            timer.stop(Stage::kCollate);
        }
    }
    return output;
}

// A request that goes on behind the head's rows is left to the rest, whole: what is stored once a
// request must not depend on where a stream started.
Result<SegmentRunner::RowRange> SegmentRunner::rowRangeOf(const stream::SplitRef& ref,
                                                          const SegmentPart& part) {
    const stream::PlanSplit& split = input_->files()[ref.file].splits[ref.split];
    if (part.kind == SegmentPart::Kind::kWhole) {
        return RowRange{0, split.rows};
    }
    std::int64_t border = part.headRows;
    if (input_->layout().inverseColumn() >= 0) {
        const dataset::SplitRange head{ref.file, split.rowGroup, split.firstRow, border};
        ASSIGN_OR_RETURN(const auto requests,
                         reader_.readColumns(head, {input_->spec().features.request}));
        const auto firstRow = static_cast<std::uint64_t>(split.firstRow);
        border = static_cast<std::int64_t>(requestStarts(*requests[0], firstRow).back() - firstRow);
    }
    return part.kind == SegmentPart::Kind::kHead ? RowRange{0, border}
                                                 : RowRange{border, split.rows};
}

Status SegmentRunner::runSplit(const stream::SplitRef& ref, const RowRange& wanted,
                               std::uint32_t epoch, std::optional<std::int64_t> flightNumber,
                               SegmentOutput& output) {
    const stream::PlanFile& file = input_->files()[ref.file];
    const stream::PlanSplit& split = file.splits[ref.split];
    const std::int64_t rows = wanted.end - wanted.begin;
    output.counts.rowsScanned += rows;
    if (rows == 0) {
        return okStatus();
    }
    const dataset::SplitRange whole{ref.file, split.rowGroup, split.firstRow, split.rows};
    ASSIGN_OR_RETURN(const bool isEmpty, reader_.provesEmpty(whole, input_->pruner()));
    if (isEmpty) {
        output.counts.rowsPruned += rows;
        reader_.skip(whole);
        return okStatus();
    }
    const std::int64_t firstRow = split.firstRow + wanted.begin;
    const dataset::SplitRange range{ref.file, split.rowGroup, firstRow, rows};
    ASSIGN_OR_RETURN(const auto candidates, reader_.rowsNotRuledOut(range, input_->pruner()));
    if (candidates) {
        output.counts.rowsPruned += rows - static_cast<std::int64_t>(candidates->size());
        if (candidates->empty()) {
            reader_.skip(whole);
            return okStatus();
        }
    }
    Columns columns(*this, range, flightNumber);
    StageTimer timer(counters_);
    const bool isDeduplicated = input_->layout().inverseColumn() >= 0;
    if (isDeduplicated || input_->shuffle() == Shuffle::kRequests) {
        ASSIGN_OR_RETURN(const auto values, columns.keep(input_->spec().features.request));
        requestStarts_.push_back(requestStarts(*values, static_cast<std::uint64_t>(firstRow)));
    }
    const recipe::SplitInput in{ref.file,
                                file.relativePath,
                                static_cast<std::uint64_t>(firstRow),
                                rows,
                                &columns,
                                &pool_,
                                candidates ? &*candidates : nullptr};
    ASSIGN_OR_RETURN(recipe::FeatureBatch batch, input_->recipe().run(in, epoch));
    countSteps(batch, output);
    output.decodedBytes += batch.decodedBytes;
    ASSIGN_OR_RETURN(Chunk chunk, Chunk::make(std::move(batch), input_->layout(), pool_));
    if (isDeduplicated) {
        const bool isRequired = input_->spec().features.dedup == "required";
        RETURN_IF_ERROR(
            annotate(chunk.findGroups(input_->layout(), requestStarts_.back(), isRequired),
                     file.relativePath));
    }
    output.chunks.push_back(std::move(chunk));
    const dataset::ColumnCost lap = timer.lap();
    counters_.add(Stage::kRecipe, lap.busyNs - columns.readNs(), output.chunks.back().rows, 0);
    counters_.addWait(Stage::kRecipe, Wait::kStarved,
                      std::max<std::int64_t>(0, lap.waitNs - columns.waitNs()));
    return okStatus();
}

void SegmentRunner::countSteps(const recipe::FeatureBatch& batch, SegmentOutput& output) {
    const std::vector<std::string>& names = input_->recipe().stepNames();
    std::vector<recipe::StepCount>& steps = output.counts.steps;
    for (std::size_t s = 0; s < batch.steps.size() && s < steps.size(); ++s) {
        const recipe::StepCount& step = batch.steps[s];
        steps[s].add(step);
        counters_.addStep(names[s], {step.busyNs, step.rowsIn, step.rowsOut});
    }
    for (std::size_t v = 0; v < batch.vocabularies.size(); ++v) {
        output.counts.vocabularies[v].add(batch.vocabularies[v]);
    }
    counters_.addStep(std::string(kLabelsStep), {batch.labelsNs, batch.rows, batch.rows});
    for (const recipe::FeatureTime& feature : batch.featureTimes) {
        counters_.addEncoded(feature.name, feature.busyNs);
    }
}

std::uint64_t SegmentRunner::keyRow(std::size_t chunk, std::uint64_t row) const {
    if (input_->shuffle() != Shuffle::kRequests) {
        return row;
    }
    const auto& starts = requestStarts_[chunk];
    return *std::prev(std::upper_bound(starts.begin(), starts.end(), row));
}

// Returns the number of runs: of rows that stay neighbours.
std::int64_t SegmentRunner::orderRows(std::uint32_t epoch, SegmentOutput& output) {
    struct Run {
        std::uint64_t key;
        RowPick first;
        std::uint32_t rows;
    };
    std::vector<Run> runs;
    const std::uint64_t seed = input_->spec().batch.seed;
    for (std::size_t c = 0; c < output.chunks.size(); ++c) {
        const Chunk& chunk = output.chunks[c];
        const std::uint64_t fileKey =
            stream::fileKey(epoch, input_->files()[chunk.file].relativePath);
        std::uint64_t lastRow = ~std::uint64_t{0};
        for (std::int64_t r = 0; r < chunk.rows; ++r) {
            const std::uint64_t row = keyRow(c, chunk.rowNumbers[r]);
            if (row == lastRow) {
                ++runs.back().rows;
                continue;
            }
            runs.push_back({stream::rowKey(seed, fileKey, row),
                            {static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(r)},
                            1});
            lastRow = row;
        }
    }
    const auto& chunks = output.chunks;
    sortByKey(runs, [&chunks](const Run& a, const Run& b) {
        const Chunk &x = chunks[a.first.chunk], &y = chunks[b.first.chunk];
        return x.file != y.file ? x.file < y.file
                                : x.rowNumbers[a.first.row] < y.rowNumbers[b.first.row];
    });
    output.order.reserve(output.rowsKept());
    for (const Run& run : runs) {
        for (std::uint32_t r = 0; r < run.rows; ++r) {
            output.order.push_back({run.first.chunk, run.first.row + r});
        }
    }
    return static_cast<std::int64_t>(runs.size());
}

}  // namespace millrace::segment
