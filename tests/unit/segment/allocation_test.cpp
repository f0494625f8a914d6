// Allocations of a stream, counted: few for each batch, none for a row. operator new of this whole
// program and Arrow's pools are counted; a stream is warmed up once before.
#include <atomic>
#include <cstdlib>
#include <new>

#include <arrow/array/builder_nested.h>

#include "tests/unit/dataset/data_files.h"
#include "tests/unit/segment/stream_fixture.h"

namespace {
std::atomic<std::int64_t> numNews{0};

void* counted(std::size_t bytes, std::size_t alignment) {
    numNews.fetch_add(1, std::memory_order_relaxed);
    void* memory = alignment == 0
                       ? std::malloc(bytes == 0 ? 1 : bytes)
                       : std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace millrace::segment {
namespace {

/// One slot for every frame; counts them.
class SlotSink final : public ring::FrameSink {
 public:
    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                                    std::stop_token) override {
        if (bytes > slot_.size()) {
            slot_ = frame::FrameBuffer(2 * bytes);
        }
        return ring::FrameSlot{slot_.bytes().first(bytes), 0};
    }
    Status commit(const ring::FrameSlot&, std::uint32_t, std::int64_t) override {
        ++numFrames;
        return okStatus();
    }
    Status segment(const stream::SegmentRecord& record, std::stop_token) override {
        rowsKept += record.sums.rowsKept;
        return okStatus();
    }
    Status endOfEpoch(std::uint32_t, std::int64_t, std::stop_token) override { return okStatus(); }
    Status endOfStream(std::stop_token) override { return okStatus(); }
    Status error(const Status&, std::stop_token) override { return okStatus(); }
    std::int64_t numFrames = 0, rowsKept = 0;

 private:
    frame::FrameBuffer slot_;
};

struct Shape {
    std::int64_t rowsOfSplit = 0, microRows = 0;
};
struct Counted {
    std::int64_t allocations = 0, frames = 0, rows = 0;
};

class AllocationTest : public StreamTest {
 protected:
    static constexpr std::int64_t kSplits = 6;

    /// A request of 8 rows shares its lists; `value` is the row's number.
    void writeFile(const Shape& shape) {
        arrow::ListBuilder list(arrow::default_memory_pool(),
                                std::make_shared<arrow::Int64Builder>());
        auto& items = static_cast<arrow::Int64Builder&>(*list.value_builder());
        std::vector<std::int64_t> value, label, user, request;
        std::vector<double> real;
        std::vector<std::string> kind;
        for (std::int64_t r = 0; r < kSplits * shape.rowsOfSplit; ++r) {
            value.push_back(r);
            label.push_back(r % 2);
            user.push_back(r % 97);
            request.push_back(r / 8);
            real.push_back(static_cast<double>(r) / 3);
            kind.push_back(r % 3 == 0 ? "view" : "click");
            ASSERT_TRUE(list.Append().ok());
            for (std::int64_t i = 0; i < r / 8 % 7; ++i) {
                ASSERT_TRUE(items.Append(r / 8 * 31 + i).ok());
            }
        }
        std::vector<test::Column> columns = {
            {"value", test::ints(value)}, {"label", test::ints(label)},
            {"user", test::ints(user)},   {"request", test::ints(request)},
            {"kind", test::texts(kind)},  {"items", *list.Finish()}};
        for (int d = 0; d < 10; ++d) {
            columns.push_back({strCat("d", d), test::reals(real)});
        }
        const std::string path = files_.parquet("part-0.parquet", columns, shape.rowsOfSplit);
        std::filesystem::copy(path, directory_ / "part-0.parquet",
                              std::filesystem::copy_options::overwrite_existing);
        std::vector<std::int64_t> keys, score;
        for (std::int64_t k = 0; k < 60; ++k) {
            keys.push_back(k);
            score.push_back(k * k);
        }
        std::filesystem::copy(
            files_.parquet("users.parquet",
                           {{"user", test::ints(keys)}, {"score", test::ints(score)}}),
            directory_ / "users.parquet", std::filesystem::copy_options::overwrite_existing);
    }

    std::string specOf(const Shape& shape, const std::string& recipe,
                       const std::string& shuffle) const {
        return strCat("name: t\ndataset: {path: \"", directory_.path(), "/part-*.parquet\"}\n",
                      recipe,
                      "labels: {label: label}\n"
                      "features: {dense: [\"d*\"], carry: [value, user, items], request: request, "
                      "dedup: off}\n"
                      "model: {type: mlp, hidden: [4]}\n"
                      "batch: {rows: ",
                      shape.microRows, ", micro_rows: ", shape.microRows,
                      ", segment_splits: 1, seed: 1, shuffle: ", shuffle, "}\n");
    }

    Counted count(const Shape& shape, const std::string& recipe, const std::string& shuffle) {
        writeFile(shape);
        const auto input = open(specOf(shape, recipe, shuffle));
        Counted counted;
        for (const bool isWarm : {false, true}) {
            SlotSink sink;
            const std::int64_t before =
                numNews + pool_.num_allocations() + arrow::default_memory_pool()->num_allocations();
            const Status status = run(input, sink, 1, 1);
            EXPECT_TRUE(status.ok()) << status;
            if (isWarm) {
                counted = {numNews + pool_.num_allocations() +
                               arrow::default_memory_pool()->num_allocations() - before,
                           sink.numFrames, sink.rowsKept};
            }
        }
        return counted;
    }

    /// Allocations per additional row and batch, measured by longer runs.
    struct Growth {
        double perRow = 0;
        double perBatch = 0;
    };
    Growth growthOf(const std::string& recipe, const std::string& shuffle) {
        SCOPED_TRACE(recipe + " " + shuffle);
        // As many splits and batches, 16 times the rows; then as many rows, 8 times the batches.
        const Counted few = count({512, 64}, recipe, shuffle);
        const Counted many = count({8192, 1024}, recipe, shuffle);
        const Counted small = count({8192, 128}, recipe, shuffle);
        EXPECT_GT(few.allocations, 0);
        EXPECT_GT(many.rows, 10 * few.rows);
        EXPECT_GT(small.frames, 4 * many.frames);
        const Growth growth = {static_cast<double>(many.allocations - few.allocations) /
                                   static_cast<double>(many.rows - few.rows),
                               static_cast<double>(small.allocations - many.allocations) /
                                   static_cast<double>(small.frames - many.frames)};
        RecordProperty("perSplit", static_cast<int>(few.allocations / kSplits));
        std::printf("allocations a row %.4f, a batch %.2f, a split of 22 columns %lld\n",
                    growth.perRow, growth.perBatch,
                    static_cast<long long>(few.allocations / kSplits));
        return growth;
    }

    /// None per row, a few per batch.
    static ::testing::AssertionResult isFlat(const Growth& growth) {
        if (growth.perRow < 0.005 && growth.perBatch < 8) {
            return ::testing::AssertionSuccess();
        }
        return ::testing::AssertionFailure()
               << growth.perRow << " allocations a row, " << growth.perBatch << " a batch";
    }

    test::DataDirectory files_;
};

TEST_F(AllocationTest, OfColumnsAsTheyStand) {
    EXPECT_TRUE(isFlat(growthOf("", "none")));
    EXPECT_TRUE(isFlat(growthOf("", "rows")));
    EXPECT_TRUE(isFlat(growthOf("", "requests")));
}

TEST_F(AllocationTest, OfAFilter) {
    EXPECT_TRUE(
        isFlat(growthOf("recipe:\n  - filter: value % 7 <> 0 and kind = 'click'\n", "rows")));
}

TEST_F(AllocationTest, OfAJoin) {
    EXPECT_TRUE(isFlat(growthOf(
        "recipe:\n  - join: {table: users.parquet, on: user, take: {score: score}}\n", "rows")));
}

TEST_F(AllocationTest, OfASample) {
    EXPECT_TRUE(isFlat(
        growthOf("recipe:\n  - sample: {where: label = 0, keep: 0.5, by: [value]}\n", "rows")));
}

TEST_F(AllocationTest, AreSeen) {
    const std::int64_t before = numNews;
    const auto value = std::make_unique<std::string>(100, 'x');
    EXPECT_EQ(numNews - before, 2) << "the string and its text";
}

}  // namespace
}  // namespace millrace::segment
