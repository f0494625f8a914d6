#pragma once
// Rows of Arrow's record batches appended to a batch: the collate that is measured.
//
// Threads: each has its own batch; the side tables are only read.
#include <unordered_map>
#include <unordered_set>

#include <arrow/api.h>

#include "arrow_batch.h"

namespace arrow_scan {

struct Columns {
    std::vector<std::string> dense, ids, lists;
};

struct Side {
    std::unordered_set<int64_t> spam;
    std::unordered_map<int64_t, int32_t> stats_row;
    std::vector<float> stats;
};

// Pointers to the data of the columns of one record batch.
struct Views {
    struct Dense {
        const float* v;
        const uint8_t* valid;
        int64_t offset;
    };
    struct List {
        const int64_t* v;
        const int32_t* offsets;
    };
    std::vector<Dense> dense;
    std::vector<const int64_t*> ids;
    std::vector<List> lists;
    const int32_t* label = nullptr;
    const int64_t *request = nullptr, *user = nullptr, *item = nullptr;

    Views(const arrow::RecordBatch& b, const Columns& c) {
        auto int64 = [&](const std::string& n) {
            return std::static_pointer_cast<arrow::Int64Array>(b.GetColumnByName(n))->raw_values();
        };
        for (auto& n : c.dense) {
            auto a = std::static_pointer_cast<arrow::FloatArray>(b.GetColumnByName(n));
            dense.push_back(
                {a->raw_values(), a->null_count() ? a->null_bitmap_data() : nullptr, a->offset()});
        }
        for (auto& n : c.ids) {
            ids.push_back(int64(n));
            if (n == "request_id")
                request = ids.back();
            if (n == "user_id")
                user = ids.back();
            if (n == "item_id")
                item = ids.back();
        }
        for (auto& n : c.lists) {
            auto a = std::static_pointer_cast<arrow::ListArray>(b.GetColumnByName(n));
            lists.push_back({std::static_pointer_cast<arrow::Int64Array>(a->values())->raw_values(),
                             a->raw_value_offsets()});
        }
        label =
            std::static_pointer_cast<arrow::Int32Array>(b.GetColumnByName("label"))->raw_values();
    }
};

// Rows [from, from+n) of a record batch, or the n rows named by `pick`, are appended to the batch.
inline void append(Batch& out, const Views& v, int64_t from, int n, const int32_t* pick,
                   const Side& side) {
    const int at = out.rows, w = out.dense_width;
    constexpr int kBlock =
        64;  // rows: the part of the matrix that is written stays in the first-level cache
    for (int r0 = 0; r0 < n; r0 += kBlock) {
        const int rows = std::min(kBlock, n - r0);
        float* dst = out.dense.data() + static_cast<size_t>(at + r0) * w;
        for (size_t j = 0; j < v.dense.size(); j++) {
            const auto& d = v.dense[j];
            for (int r = 0; r < rows; r++) {
                const int64_t i = pick ? pick[r0 + r] : from + r0 + r;
                float x = d.v[i];
                if (d.valid) {
                    const int64_t bit = i + d.offset;
                    if (!((d.valid[bit >> 3] >> (bit & 7)) & 1))
                        x = 0;
                }
                dst[static_cast<size_t>(r) * w + j] = x;
            }
        }
    }
    if (!side.stats.empty())
        for (int r = 0; r < n; r++) {
            float* dst = out.dense.data() + static_cast<size_t>(at + r) * w + v.dense.size();
            auto it = side.stats_row.find(v.user[pick ? pick[r] : from + r]);
            if (it == side.stats_row.end())
                std::memset(dst, 0, 4 * sizeof(float));
            else
                std::memcpy(dst, side.stats.data() + 4 * static_cast<size_t>(it->second),
                            4 * sizeof(float));
        }
    for (size_t j = 0; j < v.ids.size(); j++) {
        int64_t* dst = out.ids.data() + j * kBatch + at;
        if (pick)
            for (int r = 0; r < n; r++)
                dst[r] = v.ids[j][pick[r]];
        else
            std::memcpy(dst, v.ids[j] + from, n * sizeof(int64_t));
    }
    for (size_t j = 0; j < v.lists.size(); j++) {
        const auto& l = v.lists[j];
        int32_t* off = out.offsets[j].data() + at;
        if (pick) {
            for (int r = 0; r < n; r++) {
                const int32_t a = l.offsets[pick[r]], k = l.offsets[pick[r] + 1] - a;
                std::memcpy(out.values[j].extend(k), l.v + a, k * sizeof(int64_t));
                off[r + 1] = off[r] + k;
            }
        } else {
            const int32_t a = l.offsets[from], k = l.offsets[from + n] - a, shift = off[0] - a;
            std::memcpy(out.values[j].extend(k), l.v + a, k * sizeof(int64_t));
            for (int r = 1; r <= n; r++)
                off[r] = l.offsets[from + r] + shift;
        }
    }
    for (int r = 0; r < n; r++)
        out.label[at + r] = v.label[pick ? pick[r] : from + r];
    out.rows += n;
}

}  // namespace arrow_scan
