#pragma once
// Parquet files with rows in requests, with lists of the request and of the row.
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {

using Lists = std::vector<std::vector<std::int64_t>>;

class RequestTest : public StreamTest {
 protected:
    static constexpr std::int64_t kRows = 3000, kRowsOfRequest = 7;

    // Two files with row groups of 500 rows. `history` is one list per request, empty for every
    // fifth; `tags` differs by row. Row `broken` of the first file has another history than its
    // request.
    void writeFiles(std::int64_t broken = -1) {
        for (int f = 0; f < 2; ++f) {
            arrow::Int64Builder request, label;
            arrow::ListBuilder history(arrow::default_memory_pool(),
                                       std::make_shared<arrow::Int64Builder>());
            arrow::ListBuilder tags(arrow::default_memory_pool(),
                                    std::make_shared<arrow::Int64Builder>());
            auto& seen = static_cast<arrow::Int64Builder&>(*history.value_builder());
            auto& tag = static_cast<arrow::Int64Builder&>(*tags.value_builder());
            for (std::int64_t r = 0; r < kRows; ++r) {
                const std::int64_t id = 1000 * f + r / kRowsOfRequest;
                ASSERT_TRUE(request.Append(id).ok() && label.Append(r % 2).ok() &&
                            history.Append().ok() && tags.Append().ok());
                for (std::int64_t i = 0; i < id % 5; ++i) {
                    ASSERT_TRUE(seen.Append(id * 100 + i).ok());
                }
                if (f == 0 && r == broken) {
                    ASSERT_TRUE(seen.Append(-1).ok());
                }
                for (std::int64_t i = 0; i <= r % 3; ++i) {
                    ASSERT_TRUE(tag.Append(r + i).ok());
                }
            }
            const auto list = arrow::list(arrow::int64());
            const auto table = arrow::Table::Make(
                arrow::schema({arrow::field("request", arrow::int64()),
                               arrow::field("label", arrow::int64()), arrow::field("history", list),
                               arrow::field("tags", list)}),
                {*request.Finish(), *label.Finish(), *history.Finish(), *tags.Finish()});
            const auto out =
                *arrow::io::FileOutputStream::Open(directory_ / strCat("part-", f, ".parquet"));
            ASSERT_TRUE(
                parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 500).ok());
            ASSERT_TRUE(out->Close().ok());
        }
    }

    std::string specText(const std::string& features, const std::string& shuffle) const {
        return strCat("name: t\ndataset: {path: \"", directory_.path(),
                      "/part-*.parquet\"}\nrecipe: [{filter: \"request % 4 <> 1 or label = 1\"}]\n"
                      "labels: {label: label}\nfeatures: {carry: [request], ",
                      features,
                      "}\nembeddings: {\"*\": {rows: 50}}\n"
                      "model: {type: mlp, hidden: [4]}\nbatch: {rows: 128, micro_rows: 64, "
                      "segment_splits: 2, seed: 5, shuffle: ",
                      shuffle, "}\n");
    }

    static frame::FrameView viewOf(const SeenBatch& batch) {
        return *frame::FrameView::open(std::as_bytes(std::span(batch.bytes)));
    }

    // Each row's list, as a reader of the frame gets it.
    static Lists listsOf(const std::vector<SeenBatch>& batches, const std::string& name) {
        Lists lists;
        for (const SeenBatch& batch : batches) {
            const auto view = viewOf(batch);
            const auto column = static_cast<std::size_t>(view.find(frame::Role::kList, name));
            const auto values = view.values<std::int64_t>(column);
            for (std::uint32_t r = 0; r < view.rows(); ++r) {
                const std::uint32_t item = view.itemOf(column, r);
                const auto begin = static_cast<std::size_t>(view.offsets(column)[item]);
                const auto end = static_cast<std::size_t>(view.offsets(column)[item + 1]);
                lists.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                   values.begin() + static_cast<std::ptrdiff_t>(end));
            }
        }
        return lists;
    }
};

}  // namespace millrace::segment
