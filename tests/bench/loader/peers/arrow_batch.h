#pragma once
// The batch that arrow_scan makes, and the sums by which its consumer touches every byte and tells
// whether two systems delivered the same rows.
//
// Threads: each has its own.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace arrow_scan {

constexpr int kBatch = 4096;

// A growing array whose new elements are not initialised.
template <class T>
struct Grow {
    std::unique_ptr<T[]> p;
    size_t n = 0, cap = 0;
    T* extend(size_t k) {
        if (n + k > cap) {
            size_t c = std::max(n + k, cap * 3 / 2 + 1024);
            std::unique_ptr<T[]> q(new T[c]);
            if (n)
                std::memcpy(q.get(), p.get(), n * sizeof(T));
            p = std::move(q), cap = c;
        }
        n += k;
        return p.get() + n - k;
    }
};

struct Batch {
    int rows = 0, dense_width = 0;
    std::vector<float> dense;           // row-major [4096][dense_width]
    std::vector<int64_t> ids;           // [column][4096]
    std::vector<Grow<int64_t>> values;  // for each list column
    std::vector<std::vector<int32_t>> offsets;
    std::vector<int32_t> label;
    void shape(int dense_columns, int id_columns, int list_columns) {
        dense_width = dense_columns;
        dense.resize(static_cast<size_t>(kBatch) * dense_columns);
        ids.resize(static_cast<size_t>(kBatch) * id_columns);
        values.resize(list_columns);
        offsets.assign(list_columns, std::vector<int32_t>(kBatch + 1, 0));
        label.resize(kBatch);
    }
    void clear() {
        rows = 0;
        for (auto& v : values)
            v.n = 0;
    }
};

struct Sum {
    int64_t rows = 0, label = 0, batches = 0, shorts = 0, sink = 0;
    std::vector<double> dense;
    std::vector<uint64_t> ids, lists, lengths;

    void add(const Batch& b, size_t id_columns) {
        rows += b.rows, batches++, shorts += b.rows != kBatch;
        const int w = b.dense_width;
        dense.resize(w), ids.resize(id_columns), lists.resize(b.values.size()),
            lengths.resize(b.values.size());
        double* acc = dense.data();
        for (int r = 0; r < b.rows; r++) {
            const float* row = b.dense.data() + static_cast<size_t>(r) * w;
            for (int j = 0; j < w; j++)
                acc[j] += row[j];
        }
        auto sum64 = [](const int64_t* p, size_t n) {
            uint64_t s = 0;
            for (size_t i = 0; i < n; i++)
                s += static_cast<uint64_t>(p[i]);
            return s;
        };
        for (size_t j = 0; j < id_columns; j++)
            ids[j] += sum64(b.ids.data() + j * kBatch, b.rows);
        for (size_t j = 0; j < b.values.size(); j++) {
            lists[j] += sum64(b.values[j].p.get(), b.values[j].n);
            lengths[j] += b.offsets[j][b.rows];
            for (int r = 0; r <= b.rows; r++)
                sink += b.offsets[j][r];
        }
        for (int r = 0; r < b.rows; r++)
            label += b.label[r];
    }
    void merge(const Sum& o) {
        rows += o.rows, label += o.label, batches += o.batches, shorts += o.shorts, sink += o.sink;
        auto plus = [](auto& a, const auto& b) {
            a.resize(std::max(a.size(), b.size()));
            for (size_t i = 0; i < b.size(); i++)
                a[i] += b[i];
        };
        plus(dense, o.dense), plus(ids, o.ids), plus(lists, o.lists), plus(lengths, o.lengths);
    }
    std::string text() const {
        auto weighted = [](const std::vector<uint64_t>& v) {
            uint64_t s = 0;
            for (size_t j = 0; j < v.size(); j++)
                s += (j + 1) * v[j];
            return s;
        };
        double d = 0;
        for (size_t j = 0; j < dense.size(); j++)
            d += (j + 1) * dense[j];
        char b[200];
        std::snprintf(b, sizeof b, "%lld:%lld:%llu:%016llx:%016llx:%.1f", (long long)rows,
                      (long long)label, (unsigned long long)weighted(lengths),
                      (unsigned long long)weighted(ids), (unsigned long long)weighted(lists), d);
        return b;
    }
};

}  // namespace arrow_scan
