// Weighted lists and sequences in frames: gathered, shuffled, joined through tails.
#include <algorithm>

#include <arrow/array/builder_nested.h>

#include "backend/core/philox.h"
#include "tests/unit/dataset/data_files.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

constexpr std::int64_t kRows = 530;

/// Row r has r % 4 actions: item 100 r + k, price r + k / 2, at 10 k; the row's time is 15.
class ListKindsTest : public StreamTest {
 protected:
    void SetUp() override {
        auto items = std::make_shared<arrow::Int64Builder>();
        auto prices = std::make_shared<arrow::DoubleBuilder>();
        auto times = std::make_shared<arrow::Int64Builder>();
        arrow::ListBuilder item(arrow::default_memory_pool(), items);
        arrow::ListBuilder price(arrow::default_memory_pool(), prices);
        arrow::ListBuilder at(arrow::default_memory_pool(), times);
        std::vector<std::int64_t> now, row;
        for (std::int64_t r = 0; r < kRows; ++r) {
            now.push_back(15);
            row.push_back(r);
            ASSERT_TRUE(item.Append().ok() && price.Append().ok() && at.Append().ok());
            for (std::int64_t k = 0; k < r % 4; ++k) {
                ASSERT_TRUE(items->Append(100 * r + k).ok());
                ASSERT_TRUE(
                    prices->Append(static_cast<double>(r) + static_cast<double>(k) / 2).ok());
                ASSERT_TRUE(times->Append(10 * k).ok());
            }
        }
        data_.parquet("d.parquet",
                      {{"row", test::ints(row)},
                       {"now", test::ints(now)},
                       {"item", *item.Finish()},
                       {"price", *price.Finish()},
                       {"at", *at.Finish()}},
                      100);
    }

    std::string text(const std::string& shuffle) const {
        return strCat("dataset: {path: \"", data_.at("d.parquet"),
                      "\"}\nrecipe:\n  - filter: row % 5 <> 0\n"
                      "labels: {l: \"row % 2 = 0\"}\n"
                      "features:\n"
                      "  dense: [row]\n"
                      "  weighted: [{name: bag, ids: item, weights: price}]\n"
                      "  sequences:\n"
                      "    all: {columns: [price, at], time: at}\n"
                      "    past: {columns: [at, price], time: at, before: now, last: 1}\n"
                      "embeddings: {bag: {rows: 1000000}}\n"
                      "command: [\"x\"]\n",
                      batchText(shuffle, 1));
    }
    test::DataDirectory data_;
};

std::int64_t hashOf(std::int64_t id) {
    return static_cast<std::int64_t>(1 + CanonicalBytes().integer(id).hash() % 999999);
}

/// The error in a row of a frame, or "".
std::string complaint(const frame::FrameView& view, std::uint32_t row) {
    const auto r = static_cast<std::int64_t>(view.rowNumbers()[row]);
    const auto bag = static_cast<std::size_t>(view.find(frame::Role::kWeighted, "bag"));
    const auto all = static_cast<std::size_t>(view.find(frame::Role::kSequence, "all.price"));
    const auto past = static_cast<std::size_t>(view.find(frame::Role::kSequence, "past.at"));
    const auto from = view.offsets(bag)[row], to = view.offsets(bag)[row + 1];
    if (to - from != r % 4 || view.offsets(all)[row + 1] - view.offsets(all)[row] != r % 4) {
        return strCat("row ", r, " has ", to - from, " elements");
    }
    for (std::int64_t k = 0; k < r % 4; ++k) {
        const auto at = static_cast<std::size_t>(from + k);
        const float price = static_cast<float>(r) + static_cast<float>(k) / 2;
        if (view.values<std::int64_t>(bag)[at] != hashOf(100 * r + k) ||
            view.weights(bag)[at] != price || view.values<float>(all)[at] != price ||
            view.values<std::int64_t>(all + 1)[at] != 10 * k) {
            return strCat("row ", r, ", element ", k);
        }
    }
    const auto first = view.offsets(past)[row], end = view.offsets(past)[row + 1];
    if (end - first != std::min<std::int64_t>(r % 4, 1)) {
        return strCat("row ", r, " has a past of ", end - first);
    }
    const std::int64_t newest = r % 4 >= 2 ? 10 : 0;
    return end == first ||
                   view.values<std::int64_t>(past)[static_cast<std::size_t>(first)] == newest
               ? ""
               : strCat("row ", r, " has another past");
}

class ListKinds : public ListKindsTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ListKinds, ReachTheFramesOfEveryShuffle) {
    RememberingSink one, two;
    const auto input = open(text(GetParam()));
    const Status status = run(input, two, 2, 1);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(run(input, one, 1, 1).ok());
    EXPECT_EQ(one.batches(), two.batches());
    std::int64_t rows = 0;
    for (const SeenBatch& batch : two.batches()) {
        frame::FrameBuffer buffer(batch.bytes.size());
        std::copy(batch.bytes.begin(), batch.bytes.end(),
                  reinterpret_cast<char*>(buffer.bytes().data()));
        const auto view = frame::FrameView::open(buffer.bytes());
        ASSERT_TRUE(view.ok()) << view.status();
        for (std::uint32_t row = 0; row < view->rows(); ++row) {
            ASSERT_EQ(complaint(*view, row), "");
        }
        rows += view->rows();
    }
    EXPECT_EQ(rows, kRows - kRows / 5);
}

INSTANTIATE_TEST_SUITE_P(Shuffles, ListKinds, ::testing::Values("rows", "none"));

TEST_F(ListKindsTest, GroupsShareOneOffsetsBuffer) {
    const auto input = open(text("rows"));
    const auto& columns = input->layout().columns();
    std::vector<std::uint16_t> groups;
    for (const frame::ColumnSpec& column : columns) {
        if (column.role == frame::Role::kSequence) {
            groups.push_back(column.group);
        }
    }
    EXPECT_EQ(groups, (std::vector<std::uint16_t>{1, 1, 2, 2}));
    EXPECT_EQ(columns[static_cast<std::size_t>(
                          input->layout().find(frame::Role::kSequence, "past.price"))]
                  .dtype,
              frame::DType::kFloat32);
}

}  // namespace
}  // namespace millrace::segment
