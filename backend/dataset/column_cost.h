#pragma once
// Cost of reading a column of a split: measured once per column and split, never per row.
//
// Threads: a value.
#include <cstdint>
#include <string>
#include <utility>

namespace millrace::dataset {

struct ColumnCost {
    std::string column;       ///< "": all columns together (CSV, Arrow IPC)
    std::int64_t busyNs = 0;  ///< on a processor
    std::int64_t waitNs = 0;  ///< the rest: waiting for the file, or for a free core
    std::int64_t diskBytes = 0;
};

/// Measures from construction, or the last lap, to the next lap.
class CostClock {
 public:
    /// Stops all clocks of the process: all times are 0 then. Call it before any measurement. It
    /// serves to measure the cost of measuring.
    static void stopAll();

    CostClock() : wall_(wallNs()), busy_(threadNs()) {}
    ColumnCost lap(std::string column, std::int64_t diskBytes) {
        const std::int64_t wall = wallNs(), busy = threadNs();
        const std::int64_t busyNs = busy - busy_;
        // The two clocks differ slightly: a negative wait counts as 0.
        const std::int64_t waitNs = wall - wall_ > busyNs ? wall - wall_ - busyNs : 0;
        wall_ = wall;
        busy_ = busy;
        return {std::move(column), busyNs, waitNs, diskBytes};
    }

    /// Processor time of this thread. The system call costs as much as decoding a small column, so
    /// it is made at most once per kTrustNs of wall time; in between the thread counts as busy. The
    /// next call corrects the error.
    static std::int64_t threadNs();
    static constexpr std::int64_t kTrustNs = 50'000;
    static std::int64_t wallNs();

 private:
    std::int64_t wall_, busy_;
};

/// Like CostClock, for wall time only: needs no system call.
class WallClock {
 public:
    WallClock() : start_(CostClock::wallNs()), wall_(start_) {}
    std::int64_t lap() {
        const std::int64_t now = CostClock::wallNs();
        return now - std::exchange(wall_, now);
    }
    std::int64_t sinceStartNs() const { return CostClock::wallNs() - start_; }

 private:
    std::int64_t start_, wall_;
};

/// Like CostClock, for processor time only.
class BusyClock {
 public:
    BusyClock() : busy_(CostClock::threadNs()) {}
    std::int64_t lap() {
        const std::int64_t now = CostClock::threadNs();
        return now - std::exchange(busy_, now);
    }

 private:
    std::int64_t busy_;
};

}  // namespace millrace::dataset
