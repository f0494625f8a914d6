#pragma once
// Small curves of metrics for table cells, kept for the runs that were looked at last.
//
// Bounded: of more than `kMostCurves` the ones not used for longest are given up and fetched again
// when they are seen. Threads: the GUI thread. Owns: the values.
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/values/run_summary.h"

namespace millrace::gui {

struct RunTrend {
    std::vector<double> values;  ///< least and greatest of each stretch kept
    std::int64_t step = 0;       ///< of the run when it was asked for
    int attempt = 0;
    bool hasEnded = false;  ///< the run had: nothing more will come
};

class RunTrends {
 public:
    static constexpr std::size_t kMostCurves = 4000;
    static constexpr int kPoints = 96;  ///< of one curve

    /// Null where it is not there. Valid until the next put().
    const RunTrend* find(const std::string& runId, const std::string& metric) const;
    void put(const std::string& runId, const std::string& metric, RunTrend trend);
    /// What the run says now is not in the curve.
    bool isStale(const values::RunSummary& run, const std::string& metric) const;
    void clear();
    std::size_t size() const { return places_.size(); }

 private:
    using Key = std::pair<std::string, std::string>;
    struct Item {
        Key key;
        RunTrend trend;
    };
    mutable std::list<Item> items_;  // the last used first
    std::map<Key, std::list<Item>::iterator> places_;
};

}  // namespace millrace::gui
