// Selected rows give the same frame if they are copied in runs or from records.
#include "backend/segment/frame_gatherer.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace millrace::segment {
namespace {

using frame::ColumnSpec;
using frame::DType;
using frame::Role;

// Chunks of random values in a layout with every kind of column.
class FrameGathererTest : public testing::Test {
 protected:
    static constexpr std::size_t kDense = 5;
    static constexpr std::uint32_t kVector = 3;

    void SetUp() override {
        std::vector<ColumnSpec> columns{
            ColumnSpec::fixed(Role::kDense, DType::kFloat32, "dense", kDense),
            ColumnSpec::fixed(Role::kVector, DType::kFloat32, "vector", kVector),
            ColumnSpec::fixed(Role::kId, DType::kInt64, "id"),
            ColumnSpec::list(Role::kList, DType::kInt64, "list"),
            ColumnSpec::list(Role::kWeighted, DType::kInt64, "weighted"),
            ColumnSpec::fixed(Role::kCarry, DType::kUint8, "byte"),
            ColumnSpec::fixed(Role::kCarry, DType::kInt16, "short"),
            ColumnSpec::fixed(Role::kCarry, DType::kInt32, "int"),
            ColumnSpec::list(Role::kCarry, DType::kString, "text"),
            ColumnSpec::list(Role::kList, DType::kInt64, "once"),
        };
        columns.back().dedup = true;
        auto layout = frame::FrameLayout::make(std::move(columns), "");
        ASSERT_TRUE(layout.ok()) << layout.status();
        layout_ = std::make_unique<frame::FrameLayout>(std::move(*layout));
        for (const std::int64_t rows : {37, 0, 1, 90}) {
            addChunk(rows);
        }
        output_.countRows();
        for (std::uint32_t c = 0; c < output_.chunks.size(); ++c) {
            for (std::uint32_t r = 0; r < output_.chunks[c].rows; ++r) {
                output_.order.push_back({c, r});
            }
        }
    }

    std::byte* bytes(std::size_t count) {
        auto owner = std::make_shared<std::vector<std::uint64_t>>(count / 8 + 1);
        for (std::uint64_t& word : *owner) {
            word = random_();
        }
        output_.chunks.back().owners.push_back(owner);
        return reinterpret_cast<std::byte*>(owner->data());
    }

    std::int32_t* offsets(std::int64_t lists) {
        auto* const out = reinterpret_cast<std::int32_t*>(
            bytes(static_cast<std::size_t>(lists + 1) * sizeof(std::int32_t)));
        out[0] = static_cast<std::int32_t>(random_() % 3);
        for (std::int64_t r = 1; r <= lists; ++r) {
            out[r] = out[r - 1] + static_cast<std::int32_t>(random_() % 4);
        }
        return out;
    }

    void addChunk(std::int64_t rows) {
        Chunk& chunk = output_.chunks.emplace_back();
        const auto count = static_cast<std::size_t>(rows);
        chunk.file = static_cast<std::uint32_t>(output_.chunks.size());
        chunk.rows = rows;
        chunk.rowNumbers = reinterpret_cast<const std::uint64_t*>(bytes(8 * count));
        chunk.columns.resize(layout_->numColumns());
        for (std::size_t d = 0; d < kDense; ++d) {
            chunk.dense.push_back(reinterpret_cast<const float*>(bytes(4 * count)));
        }
        for (std::uint32_t group = 0; chunk.groups.size() < count; ++group) {
            chunk.groups.insert(chunk.groups.end(), 1 + random_() % 3, group);
        }
        chunk.groups.resize(count);
        for (std::size_t c = 3; c < layout_->numColumns(); ++c) {
            const ColumnSpec& spec = layout_->columns()[c];
            const std::size_t width = frame::sizeOf(spec.dtype);
            if (spec.role == Role::kInverse) {
                continue;
            }
            if (spec.encoding == frame::Encoding::kFixed) {
                chunk.columns[c].values = bytes(count * width * spec.width);
                continue;
            }
            const bool isOnce = spec.dedup && rows > 0;
            const std::int64_t lists = isOnce ? chunk.groups.back() + 1 : rows;
            chunk.columns[c].offsets = offsets(lists);
            const auto values = static_cast<std::size_t>(chunk.columns[c].offsets[lists]);
            chunk.columns[c].values = bytes(values * width);
            if (isOnce) {
                chunk.columns[c].items = reinterpret_cast<const std::int32_t*>(chunk.groups.data());
            }
            if (spec.role == Role::kWeighted) {
                chunk.columns[c].weights = reinterpret_cast<const float*>(bytes(values * 4));
            }
        }
    }

    std::vector<std::byte> frameOf(std::int64_t first, std::int64_t rows) {
        FrameGatherer gatherer(*layout_);
        const auto size = gatherer.measure(output_, first, rows);
        EXPECT_TRUE(size.ok()) << size.status();
        frame::FrameBuffer buffer(*size);
        std::memset(buffer.bytes().data(), 0, buffer.size());
        EXPECT_TRUE(gatherer.write(buffer.bytes(), {1, 2, 3}).ok());
        EXPECT_TRUE(frame::FrameView::open(buffer.bytes()).ok());
        return {buffer.bytes().begin(), buffer.bytes().end()};
    }

    void useRecords() {
        const RecordLayout records(*layout_);
        for (Chunk& chunk : output_.chunks) {
            ASSERT_TRUE(chunk.makeRecords(records, pool_).ok());
        }
        output_.hasRecords = true;
    }

    std::mt19937_64 random_{7};
    BufferPool pool_{0};
    std::unique_ptr<frame::FrameLayout> layout_;
    SegmentOutput output_;
};

TEST_F(FrameGathererTest, RecordsHoldEveryFixedColumnButWideOnes) {
    const RecordLayout records(*layout_);
    EXPECT_TRUE(records.holds(static_cast<std::size_t>(layout_->find(Role::kDense, "dense"))));
    EXPECT_TRUE(records.holds(static_cast<std::size_t>(layout_->find(Role::kCarry, "byte"))));
    EXPECT_FALSE(records.holds(static_cast<std::size_t>(layout_->find(Role::kVector, "vector"))));
    EXPECT_FALSE(records.holds(static_cast<std::size_t>(layout_->find(Role::kList, "list"))));
    EXPECT_EQ(records.lists().size(), 4U);
    EXPECT_EQ(records.stride() % 8, 0U);
}

TEST_F(FrameGathererTest, PickedRowsComeAlikeFromColumnsAndRecords) {
    std::shuffle(output_.order.begin(), output_.order.end(), random_);
    std::vector<std::vector<std::byte>> fromColumns;
    const std::int64_t sizes[] = {1, 15, 16, 17, output_.rowsKept()};
    for (const std::int64_t rows : sizes) {
        fromColumns.push_back(frameOf(0, rows));
        fromColumns.push_back(frameOf(output_.rowsKept() - rows, rows));
    }
    useRecords();
    std::size_t next = 0;
    for (const std::int64_t rows : sizes) {
        EXPECT_EQ(frameOf(0, rows), fromColumns[next++]) << rows;
        EXPECT_EQ(frameOf(output_.rowsKept() - rows, rows), fromColumns[next++]) << rows;
    }
}

TEST_F(FrameGathererTest, RowsInOrderComeAlikeWithAndWithoutPicks) {
    const std::vector<std::byte> picked = frameOf(10, 60);
    output_.order.clear();
    EXPECT_EQ(frameOf(10, 60), picked);
}

}  // namespace
}  // namespace millrace::segment
