#pragma once
// Small streams for tests: data in files, a spec for it, a sink that records.
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/segment/sequence/sequencer.h"
#include "backend/spec/bind.h"
#include "backend/spec/spec_reader.h"
#include "backend/stream/state/order_hash.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/segment/workers.h"

namespace millrace::segment {

/// One delivered micro-batch.
struct SeenBatch {
    std::uint32_t epoch = 0;
    std::int64_t number = 0;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> rows;  ///< file, row
    std::string bytes;
    bool operator==(const SeenBatch&) const = default;
};

class RememberingSink : public ring::FrameSink {
 public:
    /// Refuses the frame after this number of frames; below 0: none.
    explicit RememberingSink(std::int64_t most = -1) : most_(most) {}

    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                                    std::stop_token) override {
        MutexLock lock(mutex_);
        if (most_ >= 0 && numReserved_ == most_) {
            return cancelled("enough");
        }
        const std::uint64_t ticket = static_cast<std::uint64_t>(numReserved_++);
        auto& buffer = buffers_[ticket] = std::make_unique<frame::FrameBuffer>(bytes);
        return ring::FrameSlot{buffer->bytes().first(bytes), ticket};
    }
    Status commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override {
        ASSIGN_OR_RETURN(const auto view, frame::FrameView::open(slot.bytes));
        SeenBatch seen{epoch, number, {}, {}};
        for (std::uint32_t r = 0; r < view.rows(); ++r) {
            seen.rows.emplace_back(view.rowFiles()[r], view.rowNumbers()[r]);
        }
        seen.bytes.assign(reinterpret_cast<const char*>(slot.bytes.data()), slot.bytes.size());
        MutexLock lock(mutex_);
        order_.add(epoch, static_cast<std::uint64_t>(number), view.rowFiles(), view.rowNumbers());
        seen_.emplace(slot.ticket, std::move(seen));
        return okStatus();
    }
    Status segment(const stream::SegmentRecord& record, std::stop_token) override {
        records.push_back(record);
        return okStatus();
    }
    Status endOfEpoch(std::uint32_t, std::int64_t total, std::stop_token) override {
        totals.push_back(total);
        return okStatus();
    }
    Status endOfStream(std::stop_token) override {
        hasEnded = true;
        return okStatus();
    }
    Status error(const Status& why, std::stop_token) override {
        errorText = std::string(messageOf(why));
        errorCode = why.code();
        return okStatus();
    }
    /// In the order of their reservations.
    std::vector<SeenBatch> batches() const {
        MutexLock lock(mutex_);
        std::vector<SeenBatch> all;
        for (const auto& [ticket, batch] : seen_) {
            all.push_back(batch);
        }
        return all;
    }
    std::string orderHash() const {
        MutexLock lock(mutex_);
        return order_.hex();
    }

    std::vector<stream::SegmentRecord> records;
    std::vector<std::int64_t> totals;
    bool hasEnded = false;
    std::string errorText;
    absl::StatusCode errorCode = absl::StatusCode::kOk;

 private:
    const std::int64_t most_;
    mutable Mutex mutex_;
    std::int64_t numReserved_ = 0;
    std::map<std::uint64_t, std::unique_ptr<frame::FrameBuffer>> buffers_;
    std::map<std::uint64_t, SeenBatch> seen_;
    stream::OrderHash order_;
};

class StreamTest : public ::testing::Test {
 protected:
    static constexpr int kFiles = 2, kRowsPerFile = 1230;

    /// value = 3 * row + file, user = row % 17, label = value % 5 == 0, genres "a|bb" by row.
    void writeCsv() {
        for (int f = 0; f < kFiles; ++f) {
            std::ofstream out(directory_ / strCat("part-", f, ".csv"));
            out << "user,value,label,tags\n";
            for (int r = 0; r < kRowsPerFile; ++r) {
                out << r % 17 << ',' << 3 * r + f << ',' << ((3 * r + f) % 5 == 0 ? 1 : 0) << ','
                    << (r % 3 == 0   ? ""
                        : r % 3 == 1 ? "x"
                                     : "x|yy")
                    << '\n';
            }
        }
    }

    std::string specText(const std::string& more = "") const {
        return strCat(
            "name: t\n"
            "dataset: {path: \"",
            directory_.path(),
            "/part-*.csv\", format: csv, csv_split_rows: 100, where: \"value % 10 <> 7\"}\n"
            "recipe:\n"
            "  - filter: value % 7 <> 0\n"
            "  - derive: {half: value / 2.0, list: \"split(tags, '|')\"}\n"
            "labels: {label: label}\n"
            "features: {dense: [half, value], ids: [user], lists: [list], carry: [value, tags]}\n"
            "embeddings: {user: {rows: 64}, list: {rows: 64}}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "eval: {dataset: {where: \"value % 10 = 7\"}}\n",
            more);
    }
    static std::string batchText(const std::string& shuffle = "rows", int epochs = 2) {
        return strCat("batch: {rows: 64, micro_rows: 16, seed: 7, segment_splits: 1, shuffle: ",
                      shuffle, ", epochs: ", epochs, "}\n");
    }

    std::shared_ptr<const StreamInput> open(const std::string& text,
                                            recipe::Part part = recipe::Part::kTrain) {
        spec::SpecOptions options;
        options.baseDir = directory_.path();
        spec::ResolvedSpec read = spec::readSpec(text, options);
        EXPECT_TRUE(read.ok()) << spec::toStatus(read.errors, "spec");
        spec::RunSpec spec = *read.spec;
        auto cache = std::make_shared<dataset::MetadataCache>();
        const auto data = dataset::Dataset::open(spec.dataset.path, spec.baseDir,
                                                 dataset::readOptionsOf(spec.dataset), cache);
        EXPECT_TRUE(data.ok()) << data.status();
        const auto tables = recipe::diskTables({spec.baseDir, cache});
        const auto bound = spec::bindSchema(spec, (*data)->schema(), tables.schema);
        EXPECT_TRUE(bound.ok()) << spec::toStatus(bound.errors, "spec");
        const auto plan = dataset::buildPlan(spec, **data, nullptr);
        EXPECT_TRUE(plan.ok()) << plan.status();
        spec.batch.segmentSplits = plan->segmentSplits;
        auto input = StreamInput::open(spec, *plan, part, budget_);
        EXPECT_TRUE(input.ok()) << input.status();
        return *input;
    }

    Status run(const std::shared_ptr<const StreamInput>& input, ring::FrameSink& sink, int threads,
               std::uint32_t epochs = 2, const stream::Cursor& start = {},
               stream::Cursor* end = nullptr) {
        SequencerOptions options;
        options.threads = threads;
        options.epochs = epochs;
        options.start = start;
        options.headRows = headRows_;
        options.valuesToShare = valuesToShare_;
        options.pieceRows = pieceRows_;
        options.elsewhere = elsewhere_;
        options.readersFetch = workers_.fetched != nullptr;
        auto sequencer = Sequencer::make(input, options, pool_, counters_, sink);
        if (!sequencer.ok()) {
            return sequencer.status();
        }
        std::unique_ptr<Workers> workers;
        if (elsewhere_.segments > 0) {
            workers = std::make_unique<Workers>(input, (*sequencer)->queue(), workers_);
        }
        const Status status = (*sequencer)->run({});
        if (workers) {
            seen_.numTaken += workers->numTaken;
            seen_.numRefused += workers->numRefused;
            seen_.numGivenUp += workers->numGivenUp;
            seen_.numLost += workers->numLost;
            seen_.numDamaged += workers->numDamaged;
            seen_.mostOut = std::max<std::int64_t>(seen_.mostOut, workers->mostOut);
            seen_.mostCoded = std::max<std::int64_t>(seen_.mostCoded, workers->mostCoded);
        }
        if (end != nullptr) {
            *end = (*sequencer)->position();
        }
        return status;
    }

    RemoteQueueLimits elsewhere_;  ///< SequencerOptions::elsewhere; without segments no workers
    WorkersOptions workers_;       ///< of streams that are run from now on
    /// What their workers did, summed up.
    struct Seen {
        std::int64_t numTaken = 0, numRefused = 0, numGivenUp = 0, numLost = 0, numDamaged = 0,
                     mostOut = 0, mostCoded = 0;
    };
    Seen seen_;
    std::int64_t headRows_ = 0;            ///< SequencerOptions::headRows
    std::int64_t valuesToShare_ = 1;       ///< SequencerOptions::valuesToShare
    std::int64_t pieceRows_ = kPieceRows;  ///< SequencerOptions::pieceRows
    tests::TempDir directory_;
    MemoryBudget budget_{std::int64_t{1} << 30};
    BufferPool pool_{std::int64_t{1} << 30};
    StageCounters counters_;
};

}  // namespace millrace::segment
