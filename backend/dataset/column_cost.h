#pragma once
// What reading a column of a split took: measured once a column and split, never once a row.
//
// Threads: a value.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace millrace::dataset {

struct ColumnCost {
    std::string column;       ///< "": all columns together (CSV, Arrow IPC)
    std::int64_t busyNs = 0;  ///< on a processor
    std::int64_t waitNs = 0;  ///< the rest: waiting for the file, or for a free core
    std::int64_t diskBytes = 0;
};

/// Measures from its making, or the last lap, to the next lap.
class CostClock {
 public:
    /// Before anything is measured: no clock of the process is read any more, all times are 0. For
    /// measuring what the measuring costs.
    static void stopAll();

    CostClock() : wall_(wallNs()), busy_(threadNs()) {}
    ColumnCost lap(std::string column, std::int64_t diskBytes) {
        const std::int64_t wall = wallNs(), busy = threadNs();
        const std::int64_t busyNs = busy - busy_;
        // The two clocks tick apart by a little: a wait below that is none.
        const std::int64_t waitNs = wall - wall_ > busyNs ? wall - wall_ - busyNs : 0;
        wall_ = wall;
        busy_ = busy;
        return {std::move(column), busyNs, waitNs, diskBytes};
    }

    /// Processor time of this thread. Asking the system costs as much as a small column to decode,
    /// so it is asked no oftener than every kTrustNs of the wall's time; in between the thread is
    /// taken to be at work. What was wrong by that is put right with the next question.
    static std::int64_t threadNs();
    static constexpr std::int64_t kTrustNs = 50'000;
    static std::int64_t wallNs();

 private:
    std::int64_t wall_, busy_;
};

/// The same of the wall's time alone: a clock that costs no system call.
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

/// The same of the processor alone.
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
