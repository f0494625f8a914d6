// Failures: damaged and missing files, a consumer that stops reading, too little memory.
#include <algorithm>
#include <filesystem>
#include <future>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

// Blocks in reserve() from the third frame on until it is stopped.
class StalledSink final : public RememberingSink {
 public:
    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) override {
        if (number < 3) {
            return RememberingSink::reserve(bytes, epoch, number, stop);
        }
        std::promise<void> stopped;
        const std::stop_callback onStop(stop, [&stopped] { stopped.set_value(); });
        isStalled.set_value();
        stopped.get_future().wait();
        return cancelled("stopped");
    }
    std::promise<void> isStalled;
};

class FaultTest : public StreamTest {
 protected:
    // Eight row groups of 500 rows with a list of 64 values each.
    void writeParquet(const std::string& name) {
        arrow::Int64Builder value, label;
        arrow::ListBuilder list(arrow::default_memory_pool(),
                                std::make_shared<arrow::Int64Builder>());
        auto& items = static_cast<arrow::Int64Builder&>(*list.value_builder());
        for (std::int64_t r = 0; r < 4000; ++r) {
            ASSERT_TRUE(value.Append(r).ok() && label.Append(r % 2).ok() && list.Append().ok());
            for (std::int64_t i = 0; i < 64; ++i) {
                ASSERT_TRUE(items.Append(r * 7919 + i * i).ok());
            }
        }
        const auto schema = arrow::schema({arrow::field("value", arrow::int64()),
                                           arrow::field("label", arrow::int64()),
                                           arrow::field("items", arrow::list(arrow::int64()))});
        const auto table =
            arrow::Table::Make(schema, {*value.Finish(), *label.Finish(), *list.Finish()});
        const auto out = *arrow::io::FileOutputStream::Open(directory_ / name);
        ASSERT_TRUE(
            parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 500).ok());
        ASSERT_TRUE(out->Close().ok());
    }

    std::string parquetSpec(const std::string& more = "shuffle: rows") const {
        return strCat(
            "name: t\ndataset: {path: \"", directory_.path(),
            "/part-*.parquet\"}\nlabels: {label: label}\n"
            "features: {dense: [value], carry: [items]}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "batch: {rows: 64, micro_rows: 32, segment_splits: 1, seed: 1, order: as_is, ",
            more, "}\n");
    }
};

TEST_F(FaultTest, ADamagedRowGroupEndsTheStreamInItsPlaceWithASentence) {
    writeParquet("part-0.parquet");
    const auto input = open(parquetSpec());
    {
        std::fstream file(directory_ / "part-0.parquet",
                          std::ios::in | std::ios::out | std::ios::binary);
        const auto size =
            static_cast<long>(std::filesystem::file_size(directory_ / "part-0.parquet"));
        file.seekp(size / 2);
        file.write(std::string(4096, '\x5a').c_str(), 4096);
    }
    for (const int threads : {1, 3}) {
        RememberingSink sink;
        const Status status = run(input, sink, threads, 1);
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        EXPECT_NE(sink.errorText.find("part-0.parquet"), std::string::npos) << sink.errorText;
        EXPECT_FALSE(sink.hasEnded);
        EXPECT_GT(sink.batches().size(), 10U) << "what is before the damage is delivered";
    }
}

// Threads that share a segment's splits find the damaged ones in random order.
TEST_F(FaultTest, OfDamagedSplitsOfASegmentTheFirstIsTold) {
    writeParquet("part-0.parquet");
    std::string text = parquetSpec();
    text.replace(text.find("segment_splits: 1"), 17, "segment_splits: 8");
    const auto input = open(text);
    {
        std::fstream file(directory_ / "part-0.parquet",
                          std::ios::in | std::ios::out | std::ios::binary);
        const auto size =
            static_cast<long>(std::filesystem::file_size(directory_ / "part-0.parquet"));
        for (const long eighth : {2, 5, 6}) {
            file.seekp(size * eighth / 8 - 2048);  // this range includes the first page's header
            file.write(std::string(4096, '\x5a').c_str(), 4096);
        }
    }
    std::string told;
    for (const int threads : {1, 2, 2, 2, 3, 3, 3, 8, 8, 8}) {
        RememberingSink sink;
        EXPECT_EQ(run(input, sink, threads, 1).code(), absl::StatusCode::kDataLoss);
        EXPECT_NE(sink.errorText, "");
        told = told.empty() ? sink.errorText : told;
        EXPECT_EQ(sink.errorText, told) << threads << " threads";
    }
}

TEST_F(FaultTest, AVanishedFileIsNamed) {
    writeParquet("part-0.parquet");
    writeParquet("part-1.parquet");
    const auto input = open(parquetSpec());
    std::filesystem::remove(directory_ / "part-1.parquet");
    RememberingSink sink;
    const Status status = run(input, sink, 2, 1);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(sink.errorText.find("part-1.parquet"), std::string::npos) << sink.errorText;
}

TEST_F(FaultTest, ATableThatGotAnotherFileSinceThePlanIsRefused) {
    writeParquet("part-0.parquet");
    const auto table = [this](const char* name, const char* rows) {
        std::ofstream(directory_ / name) << rows;
    };
    table("t-1.csv", "value\n500\n");
    const auto input = open(strCat(parquetSpec(), "recipe: [{semi_join: {table: '",
                                   directory_.path(), "/t-*.csv', on: value}}]\n"));
    EXPECT_TRUE(
        StreamInput::open(input->spec(), input->plan(), recipe::Part::kTrain, budget_).ok());
    table("t-2.csv", "value\n501\n");
    const auto again =
        StreamInput::open(input->spec(), input->plan(), recipe::Part::kTrain, budget_);
    EXPECT_NE(again.status().message().find("t-2.csv is not a file of the plan"),
              std::string::npos);
}

TEST_F(FaultTest, ACursorWhoseRestNobodyKeepsIsAnError) {
    writeParquet("part-0.parquet");
    const auto input = open(parquetSpec("shuffle: none") + "recipe: [{filter: value >= 500}]\n");
    stream::Cursor start = stream::Cursor::start(input->streamHash(), input->planHash());
    start.segment = 1;
    start.rest = {{0, 5}};
    RememberingSink sink;
    const Status status = run(input, sink, 2, 1, start);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(sink.errorText.find("the cursor's open rest"), std::string::npos) << sink.errorText;
}

TEST_F(FaultTest, AStalledConsumerHoldsTheMemoryBelowTheLimitAndStopsAtOnce) {
    writeParquet("part-0.parquet");
    writeParquet("part-1.parquet");
    const auto input = open(parquetSpec());
    BufferPool pool(4'000'000);
    StalledSink sink;
    SequencerOptions options;
    options.threads = 4;
    options.window = 16;
    auto sequencer = Sequencer::make(input, options, pool, counters_, sink);
    ASSERT_TRUE(sequencer.ok()) << sequencer.status();
    std::stop_source stop;
    auto result =
        std::async(std::launch::async, [&] { return (*sequencer)->run(stop.get_token()); });
    sink.isStalled.get_future().wait();
    EXPECT_LE(pool.heldBytes(), pool.limitBytes());
    stop.request_stop();
    EXPECT_EQ(result.get().code(), absl::StatusCode::kCancelled);
    EXPECT_LE(pool.max_memory(), pool.limitBytes());
    EXPECT_EQ(sink.batches().size(), 3U);
}

TEST_F(FaultTest, MemoryThatHoldsOneSegmentStillGivesTheSameSequence) {
    writeParquet("part-0.parquet");
    const auto input = open(parquetSpec());
    RememberingSink wide, narrow;
    ASSERT_TRUE(run(input, wide, 4, 1).ok());
    BufferPool pool(1'600'000);
    SequencerOptions options;
    options.threads = 4;
    options.window = 8;
    auto sequencer = Sequencer::make(input, options, pool, counters_, narrow);
    ASSERT_TRUE(sequencer.ok());
    const Status status = (*sequencer)->run({});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(wide.orderHash(), narrow.orderHash());
    EXPECT_LE(pool.max_memory(), pool.limitBytes());
}

TEST_F(FaultTest, ASegmentThatDoesNotFitIsRefusedWithTheNumber) {
    writeParquet("part-0.parquet");
    const auto input = open(parquetSpec());
    BufferPool pool(200'000);
    RememberingSink sink;
    SequencerOptions options;
    options.threads = 2;
    auto sequencer = Sequencer::make(input, options, pool, counters_, sink);
    ASSERT_TRUE(sequencer.ok());
    const Status status = (*sequencer)->run({});
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_NE(sink.errorText.find("memory_limit_mb"), std::string::npos) << sink.errorText;
    EXPECT_NE(sink.errorText.find("segment 0"), std::string::npos) << sink.errorText;
    EXPECT_EQ(sink.errorCode, status.code()) << "no input error: the reader tells them apart";
}

}  // namespace
}  // namespace millrace::segment
