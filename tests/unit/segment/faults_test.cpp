// What goes wrong: damaged and vanished files, a consumer that stops reading, too little memory.
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
        EXPECT_GT(sink.batches().size(), 10U) << "what lies before the damage is delivered";
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
    EXPECT_NE(again.status().message().find("t-2.csv is no file of the plan"), std::string::npos);
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

TEST(BufferPoolTest, BlocksOfManySizesLieBesideEachOther) {
    BufferPool pool(0);
    std::vector<PooledBuffer> blocks;
    for (int i = 0; i < 120; ++i) {
        blocks.push_back(*PooledBuffer::allocate(pool, 1'000 + i * i * 300));
        std::fill_n(blocks.back().data(), blocks.back().size(), static_cast<std::uint8_t>(i));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::uint8_t* bytes = blocks[i].data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0U);
        EXPECT_EQ(std::count(bytes, bytes + blocks[i].size(), static_cast<std::uint8_t>(i)),
                  blocks[i].size());
    }
}

// With AddressSanitizer every block is the system's own.
#if !defined(__SANITIZE_ADDRESS__)
TEST(BufferPoolTest, WhatABlockHeldIsTheSystemsAgain) {
    constexpr std::int64_t kPage = 4096;
    BufferPool pool(0);
    auto block = PooledBuffer::allocate(pool, 300'000);
    ASSERT_TRUE(block.ok());
    const std::uint8_t* memory = block->data();
    std::fill_n(block->data(), block->size(), std::uint8_t{1});
    *block = PooledBuffer();
    pool.ReleaseUnused();
    EXPECT_EQ(pool.heldBytes(), kPage);
    pool.ReleaseUnused();
    EXPECT_EQ(pool.heldBytes(), kPage);

    block = PooledBuffer::allocate(pool, 300'000);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->data(), memory);
    EXPECT_EQ(std::count(memory + kPage, memory + block->size(), 0), block->size() - kPage)
        << "fresh pages are zero";
    EXPECT_GE(pool.heldBytes(), 300'000);
}
#endif

TEST(BufferPoolTest, GivesTheSameBlockAgainAndKeepsTheLimit) {
    BufferPool pool(1'000'000);
    auto first = PooledBuffer::allocate(pool, 300'000);
    ASSERT_TRUE(first.ok());
    const std::uint8_t* place = first->data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0U);
    *first = PooledBuffer();
    auto second = PooledBuffer::allocate(pool, 310'000);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->data(), place);
    EXPECT_EQ(PooledBuffer::allocate(pool, 900'000).status().code(),
              absl::StatusCode::kResourceExhausted);
    *second = PooledBuffer();
    EXPECT_TRUE(PooledBuffer::allocate(pool, 700'000).ok()) << "kept blocks make room";
    EXPECT_LE(pool.heldBytes(), 1'000'000);
}

// The columns of a wide table's row group are small, and there are many of them.
TEST(BufferPoolTest, KeepsSmallBlocksToo) {
    BufferPool pool(0);
    for (const std::int64_t bytes : {std::int64_t{BufferPool::kSmallest}, std::int64_t{28'672}}) {
        auto first = PooledBuffer::allocate(pool, bytes);
        ASSERT_TRUE(first.ok());
        const std::uint8_t* place = first->data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0U);
        *first = PooledBuffer();
        EXPECT_GE(pool.heldBytes(), bytes);
        const auto second = PooledBuffer::allocate(pool, bytes);
        ASSERT_TRUE(second.ok());
        EXPECT_EQ(second->data(), place);
    }
    EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(BufferPoolTest, ReallocatesWithoutLosingBytes) {
    BufferPool pool(0);
    std::uint8_t* memory = nullptr;
    ASSERT_TRUE(pool.Allocate(1000, 64, &memory).ok());
    for (int i = 0; i < 1000; ++i) {
        memory[i] = static_cast<std::uint8_t>(i);
    }
    std::int64_t size = 1000;
    for (const std::int64_t next : {50'000, 70'000, 4'000'000, 40'000, 2'000}) {
        ASSERT_TRUE(pool.Reallocate(size, next, 64, &memory).ok());
        size = next;
        for (int i = 0; i < 1000; ++i) {
            ASSERT_EQ(memory[i], static_cast<std::uint8_t>(i));
        }
    }
    pool.Free(memory, size, 64);
    EXPECT_EQ(pool.bytes_allocated(), 0);
}

}  // namespace
}  // namespace millrace::segment
