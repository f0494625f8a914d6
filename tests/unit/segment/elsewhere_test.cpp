// Segments computed by data workers have the same bytes as segments computed here, whichever worker
// computes them and whichever is lost.
#include <atomic>
#include <filesystem>

#include "backend/core/mutex.h"
#include "backend/stream/read_state.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

/// Everything that a sink received, in order.
struct Delivered {
    std::vector<SeenBatch> batches;
    std::vector<stream::SegmentRecord> records;
    std::vector<std::int64_t> totals;
    std::string orderHash;
    bool operator==(const Delivered&) const = default;
};

class TellingSink final : public RememberingSink {
 public:
    TellingSink(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
    bool wants(std::uint32_t, std::int64_t number) const override {
        return number % ranks_ == rank_;
    }
    Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                   const Sum128& rowIds, std::stop_token) override {
        others.push_back(strCat(epoch, " ", number, " ", rows, " ", rowIds.hex()));
        return okStatus();
    }
    std::vector<std::string> others;

 private:
    const int rank_, ranks_;
};

/// Takes references to some micro-batches, and fetches their frames. Which ones it takes changes
/// as if connections broke and came back.
class FetchingSink final : public RememberingSink {
 public:
    FetchingSink(FetchSource& source, std::uint64_t seed) : source_(source), seed_(seed) {}
    bool takesParts() const override { return true; }
    bool takesPart(std::uint64_t worker, std::uint32_t, std::int64_t number) const override {
        const auto at = static_cast<std::uint64_t>(number);
        const std::uint64_t broken = seed_ + ++numAsked_ / 50;  // changes now and then
        return at % 3 != 0 && (at / 5 + worker + broken) % 4 != 0 && !isRefused(number);
    }
    Result<bool> part(const stream::FramePart& part, std::shared_ptr<const void> owner,
                      std::uint32_t epoch, std::int64_t number, std::stop_token stop) override {
        EXPECT_NE(owner, nullptr);
        if (number % 13 == 7) {  // the reader has lost the worker meanwhile
            MutexLock lock(mutex_);
            refused_.insert(number);
            return false;
        }
        const auto coded = source_(part);
        if (!coded) {
            return dataLoss("the frame was let go of");
        }
        ASSIGN_OR_RETURN(const ring::FrameSlot slot,
                         reserve(part.bytes, epoch, number, std::move(stop)));
        frame::FrameDecoder decoder;
        RETURN_IF_ERROR(decoder.decode(coded->bytes, slot.bytes));
        ASSIGN_OR_RETURN(const auto view, frame::FrameView::open(slot.bytes));
        EXPECT_EQ(stream::rowIdsHash(view.rowFiles(), view.rowNumbers()), part.rowIds);
        EXPECT_EQ(view.rows(), part.rows);
        ++numParts;
        RETURN_IF_ERROR(commit(slot, epoch, number));
        return true;
    }
    std::int64_t numParts = 0;

 private:
    bool isRefused(std::int64_t number) const {
        MutexLock lock(mutex_);
        return refused_.contains(number);
    }
    FetchSource& source_;
    const std::uint64_t seed_;
    mutable std::atomic<std::uint64_t> numAsked_{0};
    mutable Mutex mutex_;
    std::set<std::int64_t> refused_ MR_GUARDED_BY(mutex_);
};

class Elsewhere : public StreamTest {
 protected:
    static constexpr std::int64_t kManyBytes = std::int64_t{1} << 30;

    Delivered deliver(const std::shared_ptr<const StreamInput>& input, int threads = 1,
                      const stream::Cursor& start = {}) {
        RememberingSink sink;
        const Status status = run(input, sink, threads, 2, start);
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_TRUE(sink.hasEnded);
        return {sink.batches(), sink.records, sink.totals, sink.orderHash()};
    }
    Delivered deliverHere(const std::shared_ptr<const StreamInput>& input,
                          const stream::Cursor& start = {}) {
        const RemoteQueueLimits limits = std::exchange(elsewhere_, {});
        Delivered here = deliver(input, 1, start);
        elsewhere_ = limits;
        return here;
    }
    void expectSame(const Delivered& got, const Delivered& want) {
        EXPECT_EQ(got.orderHash, want.orderHash);
        ASSERT_EQ(got.batches.size(), want.batches.size());
        EXPECT_TRUE(got.batches == want.batches) << "other bytes";
        EXPECT_TRUE(got.records == want.records) << "other records";
        EXPECT_EQ(got.totals, want.totals);
    }
};

// Readers elsewhere that fetch frames themselves, and of which some lose the way to a worker.
TEST_F(Elsewhere, FramesThatReadersFetchAreThoseOfHere) {
    writeCsv();
    for (const char* shuffle : {"rows", "none"}) {
        const auto input = open(specText(batchText(shuffle)));
        const Delivered here = deliverHere(input);
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            SCOPED_TRACE(strCat(shuffle, ", seed ", seed));
            const std::int64_t most = seed % 3 == 0 ? 4096 : kManyBytes;
            elsewhere_ = {static_cast<std::int64_t>(2 + seed % 5), most};
            FetchSource source;
            workers_ = {};
            workers_.workers = static_cast<int>(1 + seed % 3);
            workers_.seed = seed;
            workers_.computesHere = seed % 4 == 0;
            workers_.fetched = &source;
            FetchingSink sink(source, seed);
            const Status status = run(input, sink, 1 + static_cast<int>(seed % 3), 2);
            EXPECT_TRUE(status.ok()) << status;
            expectSame({sink.batches(), sink.records, sink.totals, sink.orderHash()}, here);
            EXPECT_TRUE(workers_.computesHere || sink.numParts > 0);
        }
    }
}

TEST_F(Elsewhere, AnyNumberOfWorkersGivesTheBytesOfHere) {
    writeCsv();
    for (const char* shuffle : {"rows", "none"}) {
        const auto input = open(specText(batchText(shuffle)));
        const Delivered here = deliverHere(input);
        for (int workers = 1; workers <= 4; ++workers) {
            SCOPED_TRACE(strCat(shuffle, ", ", workers, " workers"));
            elsewhere_ = {2 * workers, kManyBytes};
            workers_ = {};
            workers_.workers = workers;
            workers_.threads = 1 + workers % 2;
            workers_.computesHere = workers % 2 == 0;
            seen_ = {};
            expectSame(deliver(input, 1 + workers % 3), here);
            // This process's thread may compute all segments before a worker has started.
            EXPECT_TRUE(workers_.computesHere || seen_.numTaken > 0);
            EXPECT_LE(seen_.mostOut, elsewhere_.segments);
        }
    }
}

TEST_F(Elsewhere, EverySegmentButTheHeadComesFromWorkersWhereNobodyComputesHere) {
    writeCsv();
    const auto input = open(specText(batchText("none")));
    const Delivered here = deliverHere(input);
    elsewhere_ = {4, kManyBytes};
    expectSame(deliver(input), here);
    EXPECT_EQ(seen_.numTaken, 2 * input->numSegments());
    std::string text = specText(batchText("none"));
    text.replace(text.find("segment_splits: 1"), 17, "segment_splits: 6");
    const auto longer = open(text);
    const Delivered hereToo = deliverHere(longer);
    seen_ = {};
    headRows_ = 16;
    expectSame(deliver(longer, 2), hereToo);
    EXPECT_EQ(seen_.numTaken, 2 * longer->numSegments() - 1);
}

TEST_F(Elsewhere, LostWorkersChangeNothing) {
    writeCsv();
    const auto input = open(specText(batchText("rows")));
    const Delivered here = deliverHere(input);
    elsewhere_ = {6, kManyBytes};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(strCat("seed ", seed));
        workers_ = {};
        workers_.seed = seed;
        workers_.workers = 1 + static_cast<int>(seed % 4);
        workers_.lost = 5;
        workers_.again = 10;
        workers_.here = 3;
        workers_.toggled = 5;
        workers_.damaged = 2;
        elsewhere_.codedBytes = seed % 2 == 0 ? kManyBytes : 5000;
        expectSame(deliver(input, 1 + static_cast<int>(seed % 3)), here);
    }
    EXPECT_GT(seen_.numLost, 20);
    EXPECT_GT(seen_.numDamaged, 5);
    EXPECT_GT(seen_.numRefused, 0) << "second answers";
}

TEST_F(Elsewhere, AResumeAtEveryMicroBatchGoesOnWithWorkers) {
    writeCsv();
    const auto input = open(specText(batchText("rows")));
    const Delivered here = deliverHere(input);
    for (std::size_t cut = 0; cut <= here.batches.size(); cut += 5) {
        SCOPED_TRACE(strCat("cut after ", cut));
        RememberingSink before(static_cast<std::int64_t>(cut));
        stream::Cursor cursor;
        elsewhere_ = {};
        const Status stopped = run(input, before, 2, 2, {}, &cursor);
        ASSERT_EQ(stopped.ok(), cut == here.batches.size()) << stopped;
        elsewhere_ = {5, 20'000};
        workers_.seed = cut;
        workers_.lost = 4;
        Delivered rest = deliver(input, 1, cursor);
        std::vector<SeenBatch> all = before.batches();
        all.insert(all.end(), rest.batches.begin(), rest.batches.end());
        ASSERT_TRUE(all == here.batches);
    }
}

TEST_F(Elsewhere, RanksHearOfWhatTheyDoNotGet) {
    writeCsv();
    const auto input = open(specText(batchText("rows")));
    for (int rank = 0; rank < 3; ++rank) {
        TellingSink here(rank, 3), there(rank, 3);
        elsewhere_ = {};
        ASSERT_TRUE(run(input, here, 2).ok());
        elsewhere_ = {4, kManyBytes};
        ASSERT_TRUE(run(input, there, 1).ok());
        EXPECT_EQ(there.others, here.others);
        EXPECT_TRUE(there.batches() == here.batches());
    }
}

TEST_F(Elsewhere, MixingIsCountedAsHere) {
    writeCsv();
    std::string text = specText(batchText("requests"));
    text.replace(text.find("features: {"), 11, "features: {request: user, user: user, ");
    const auto input = open(text);
    const Delivered here = deliverHere(input);
    const BatchMix once = counters_.mix();
    ASSERT_GT(once.requests, 0);
    ASSERT_GT(once.userRows, 0);
    elsewhere_ = {4, kManyBytes};
    expectSame(deliver(input, 1), here);
    const BatchMix twice = counters_.mix();
    EXPECT_EQ(twice.batches, 2 * once.batches);
    EXPECT_EQ(twice.rows, 2 * once.rows);
    EXPECT_EQ(twice.requests, 2 * once.requests);
    EXPECT_EQ(twice.userRows, 2 * once.userRows);
    EXPECT_EQ(twice.fewestRequests, once.fewestRequests);
    EXPECT_EQ(twice.mostUserShare, once.mostUserShare);
}

TEST_F(Elsewhere, DaysWhoseFirstRowsFillUpTheDayBeforeAreComputedHere) {
    constexpr int kDays = 5;
    for (int day = 0; day < kDays; ++day) {
        const std::string directory = directory_ / strCat("day=", day);
        std::filesystem::create_directories(directory);
        std::ofstream out(directory + "/part.csv");
        out << "x,label\n";
        for (int r = 0; r < 40 + 31 * day; ++r) {
            out << r << ',' << r % 3 / 2 << '\n';
        }
    }
    const auto input = open(
        strCat("name: t\ndataset: {path: \"", directory_.path(),
               "\", format: csv, csv_split_rows: 10}\nrecipe: [{filter: x % 4 <> 1 and x > 12}]\n"
               "label: label\nfeatures: {dense: [x], carry: [day]}\n"
               "model: {type: mlp, hidden: [4]}\nbatch: {rows: 32, micro_rows: 16, epochs: 2, "
               "segment_splits: 1, order: {by: day}}\n"));
    const Delivered here = deliverHere(input);
    elsewhere_ = {6, kManyBytes};
    workers_.workers = 3;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        workers_.seed = seed;
        workers_.lost = static_cast<int>(seed);
        expectSame(deliver(input, 1 + static_cast<int>(seed % 2)), here);
    }
    for (std::size_t cut = 1; cut < here.batches.size(); cut += 3) {
        SCOPED_TRACE(strCat("cut after ", cut));
        RememberingSink before(static_cast<std::int64_t>(cut));
        stream::Cursor cursor;
        ASSERT_FALSE(run(input, before, 2, 2, {}, &cursor).ok());
        const Delivered rest = deliver(input, 1, cursor);
        std::vector<SeenBatch> all = before.batches();
        all.insert(all.end(), rest.batches.begin(), rest.batches.end());
        ASSERT_TRUE(all == here.batches);
    }
}

TEST_F(Elsewhere, SegmentsThatFiltersEmptyTakeNoFrames) {
    writeCsv();
    std::string text = specText(batchText("rows"));
    const std::string filter = "value % 7 <> 0";
    text.replace(text.find(filter), filter.size(), "value < 300 or value > 3000");
    const auto input = open(text);
    const Delivered here = deliverHere(input);
    std::int64_t numEmpty = 0;
    for (const stream::SegmentRecord& record : here.records) {
        numEmpty += record.sums.rowsKept == 0 ? 1 : 0;
    }
    ASSERT_GT(numEmpty, 10);
    elsewhere_ = {4, kManyBytes};
    workers_.lost = 3;
    expectSame(deliver(input, 2), here);
}

TEST_F(Elsewhere, CodedFramesHoldTheirBudgetAndAreTheSameBytes) {
    writeCsv();
    const auto input = open(specText(batchText("rows")));
    const Delivered here = deliverHere(input);
    const auto frame = static_cast<std::int64_t>(here.batches.front().bytes.size());
    elsewhere_ = {8, 3 * frame};
    workers_.codecs.assign(input->layout().numColumns(), {frame::Codec::kZstd, 1});
    expectSame(deliver(input, 2), here);
    EXPECT_GT(seen_.mostCoded, 0);
    EXPECT_LE(seen_.mostCoded, 5 * frame) << "one frame fits always";
}

TEST_F(Elsewhere, WorkersWithRoomForOneSegmentAreEnough) {
    writeCsv();
    const auto input = open(specText(batchText("rows")));
    const Delivered here = deliverHere(input);
    elsewhere_ = {12, kManyBytes};
    workers_.workers = 2;
    workers_.heldBytesMax = 1;
    workers_.lost = 8;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        workers_.seed = seed;
        expectSame(deliver(input, 1), here);
    }
}

TEST_F(Elsewhere, AnErrorIsToldInItsPlaceWithTheSentenceOfHere) {
    writeCsv();
    const auto input = open(specText(batchText("none")));
    {
        std::ofstream out(directory_ / "part-1.csv", std::ios::app);
        out << "1,2,3,4\n";
    }
    RememberingSink here, there;
    const Status want = run(input, here, 2);
    elsewhere_ = {4, kManyBytes};
    const Status got = run(input, there, 1);
    EXPECT_FALSE(want.ok());
    EXPECT_EQ(got, want);
    EXPECT_EQ(there.errorText, here.errorText);
    EXPECT_TRUE(there.batches() == here.batches());
    EXPECT_FALSE(there.hasEnded);
}

}  // namespace
}  // namespace millrace::segment
