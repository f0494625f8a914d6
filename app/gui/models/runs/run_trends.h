#pragma once
// RunTrends: small curves of metrics for table cells, cached for the runs that were shown last.
//
// Bounded: beyond `kMostCurves` the least recently used are evicted, and fetched again when needed.
// Threads: the GUI thread. Owns: the values.
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
    std::vector<double> values;  ///< smallest and largest value of each kept range
    std::int64_t step = 0;       ///< of the run at the time of the request
    int attempt = 0;
    bool hasEnded = false;  ///< the run had ended: no more points will come
};

class RunTrends {
 public:
    static constexpr std::size_t kMostCurves = 4000;
    static constexpr int kPoints = 96;  ///< points per curve

    /// Null if it is not cached. Valid until the next put().
    const RunTrend* find(const std::string& runId, const std::string& metric) const;
    void put(const std::string& runId, const std::string& metric, RunTrend trend);
    /// Whether the run has newer values than the curve.
    bool isStale(const values::RunSummary& run, const std::string& metric) const;
    void clear();
    std::size_t size() const { return places_.size(); }

 private:
    using Key = std::pair<std::string, std::string>;
    struct Item {
        Key key;
        RunTrend trend;
    };
    mutable std::list<Item> items_;  // most recently used first
    std::map<Key, std::list<Item>::iterator> places_;
};

}  // namespace millrace::gui
