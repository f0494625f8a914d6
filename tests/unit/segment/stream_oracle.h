#pragma once
// The slow, obviously correct stream: rows as maps, one thread, segments and the open rest as
// lists.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/stream/order.h"
#include "backend/stream/state/order_hash.h"
#include "tests/unit/recipe/property_features.h"

namespace millrace::test {

/// A row that a recipe kept: its file, its number, and its features as text.
struct StreamRow {
    std::uint32_t file = 0;
    std::uint64_t row = 0;
    std::string text;
    bool operator==(const StreamRow&) const = default;
};

struct StreamBatch {
    std::uint32_t epoch = 0;
    std::int64_t number = 0;
    std::vector<StreamRow> rows;
    bool operator==(const StreamBatch&) const = default;
};

inline std::string hashOf(const std::vector<StreamBatch>& batches) {
    stream::OrderHash hash;
    for (const StreamBatch& batch : batches) {
        std::vector<std::uint32_t> files;
        std::vector<std::uint64_t> rows;
        for (const StreamRow& row : batch.rows) {
            files.push_back(row.file);
            rows.push_back(row.row);
        }
        hash.add(batch.epoch, static_cast<std::uint64_t>(batch.number), files, rows);
    }
    return hash.hex();
}

class StreamOracle {
 public:
    /// `rows`: the rows of each file of the plan in order; all must outlive the oracle.
    StreamOracle(const spec::RunSpec& spec, const std::vector<OracleStep>& steps,
                 const stream::Plan& plan, const std::vector<std::vector<TestRow>>& rows)
        : spec_(spec), steps_(steps), plan_(plan), rows_(rows) {}

    std::vector<StreamBatch> epoch(std::uint32_t epoch) const {
        const auto micro = static_cast<std::size_t>(spec_.batch.microRows);
        std::vector<StreamBatch> batches;
        std::vector<StreamRow> rest;
        Day dayOfRest;  // of its oldest row
        const auto give = [&](std::vector<StreamRow> rows) {
            batches.push_back({epoch, static_cast<std::int64_t>(batches.size()), std::move(rows)});
        };
        for (const auto& splits : segments(epoch)) {
            const std::vector<StreamRow> rows = segment(splits, epoch);
            std::size_t at = 0;
            const Day day = splits.front().day;
            if (!rest.empty() && dayOfRest != day && rest.size() + rows.size() >= micro) {
                at = micro - rest.size();  // the rest of an earlier day leaves first
                rest.insert(rest.end(), rows.begin(), rows.begin() + offset(at));
                give(std::exchange(rest, {}));
            }
            dayOfRest = rest.empty() ? day : dayOfRest;
            for (; at + micro <= rows.size(); at += micro) {
                give({rows.begin() + offset(at), rows.begin() + offset(at + micro)});
            }
            rest.insert(rest.end(), rows.begin() + offset(at), rows.end());
            if (rest.size() >= micro) {
                give({rest.begin(), rest.begin() + offset(micro)});
                rest.erase(rest.begin(), rest.begin() + offset(micro));
            }
        }
        if (!rest.empty()) {
            give(rest);
        }
        return batches;
    }

 private:
    /// Nulls last; then the least value of a row group.
    using Day = std::pair<bool, std::int64_t>;
    struct Split {
        Day day;  ///< by which all splits are taken; equal where the order has no column
        std::uint64_t key;
        std::uint32_t file;
        std::int64_t first, rows;
    };
    static std::ptrdiff_t offset(std::size_t at) { return static_cast<std::ptrdiff_t>(at); }

    std::vector<std::vector<Split>> segments(std::uint32_t epoch) const {
        std::vector<Split> splits;
        for (std::uint32_t f = 0; f < plan_.files.size(); ++f) {
            for (const stream::PlanSplit& split : plan_.files[f].splits) {
                splits.push_back(
                    {dayOf(f, split),
                     stream::splitKey(spec_.batch.seed,
                                      stream::splitFileKey(epoch, plan_.files[f].relativePath),
                                      static_cast<std::uint64_t>(split.firstRow)),
                     f, split.firstRow, split.rows});
            }
        }
        if (spec_.batch.order != "as_is") {
            std::stable_sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) {
                return std::tie(a.day, a.key) < std::tie(b.day, b.key);
            });
        }
        std::vector<std::vector<Split>> segments;
        for (const Split& split : splits) {
            const bool isFull =
                segments.empty() ||
                segments.back().size() == static_cast<std::size_t>(plan_.segmentSplits);
            if (isFull || segments.back().front().day != split.day) {
                segments.emplace_back();
            }
            segments.back().push_back(split);
        }
        return segments;
    }

    Day dayOf(std::uint32_t file, const stream::PlanSplit& split) const {
        if (spec_.batch.order != "by" || split.rows == 0) {
            return {false, 0};
        }
        const Value& day =
            rows_[file][static_cast<std::size_t>(split.firstRow)].at(spec_.batch.orderBy);
        return day.isNull() ? Day{true, 0} : Day{false, day.i};
    }

    std::vector<StreamRow> segment(const std::vector<Split>& splits, std::uint32_t epoch) const {
        std::vector<std::pair<std::uint64_t, StreamRow>> keyed;
        for (const Split& split : splits) {
            std::int64_t request = split.first;
            for (std::int64_t r = split.first; r < split.first + split.rows; ++r) {
                const TestRow& row = rows_[split.file][static_cast<std::size_t>(r)];
                request = r > split.first && isSameRequest(split.file, r) ? request : r;
                OracleRow passing{row, static_cast<std::uint64_t>(r), 1};
                if (passesAll(passing, split.file, epoch)) {
                    keyed.emplace_back(keyOf(split.file, epoch, r, request),
                                       StreamRow{split.file, static_cast<std::uint64_t>(r),
                                                 expected(spec_, passing)});
                }
            }
        }
        if (spec_.batch.shuffle != "none") {
            std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
                return std::tuple(a.first, a.second.file, a.second.row) <
                       std::tuple(b.first, b.second.file, b.second.row);
            });
        }
        std::vector<StreamRow> rows;
        for (auto& [key, row] : keyed) {
            rows.push_back(std::move(row));
        }
        return rows;
    }

    bool isSameRequest(std::uint32_t file, std::int64_t r) const {
        if (spec_.features.request.empty()) {
            return false;
        }
        const auto at = static_cast<std::size_t>(r);
        const Value& now = rows_[file][at].at(spec_.features.request);
        return !now.isNull() && now.equals(rows_[file][at - 1].at(spec_.features.request));
    }

    std::uint64_t keyOf(std::uint32_t file, std::uint32_t epoch, std::int64_t row,
                        std::int64_t request) const {
        const bool isWhole = spec_.batch.shuffle == "requests";
        return stream::rowKey(spec_.batch.seed,
                              stream::fileKey(epoch, plan_.files[file].relativePath),
                              static_cast<std::uint64_t>(isWhole ? request : row));
    }

    bool passesAll(OracleRow& row, std::uint32_t file, std::uint32_t epoch) const {
        return std::all_of(steps_.begin(), steps_.end(), [&](const OracleStep& step) {
            return passes(step, row, spec_.batch.seed, epoch, plan_.files[file].relativePath);
        });
    }

    const spec::RunSpec& spec_;
    const std::vector<OracleStep>& steps_;
    const stream::Plan& plan_;
    const std::vector<std::vector<TestRow>>& rows_;
};

}  // namespace millrace::test
