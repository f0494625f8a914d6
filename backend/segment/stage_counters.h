#pragma once
// Where the loader's time goes: busy nanoseconds, rows and bytes of each stage, summed over
// threads.
//
// Threads: add() from any; read() is a snapshot, each number by itself consistent.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace millrace::segment {

enum class Stage { kRead, kRecipe, kOrder, kCollate, kBlocked };
constexpr int kNumStages = 5;
constexpr std::array<std::string_view, kNumStages> kStageNames{"read", "recipe", "order", "collate",
                                                               "blocked"};

struct StageCount {
    std::int64_t busyNs = 0;
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
};

class StageCounters {
 public:
    void add(Stage stage, std::int64_t busyNs, std::int64_t rows, std::int64_t bytes) {
        Cell& cell = cells_[static_cast<std::size_t>(stage)];
        cell.busyNs.fetch_add(busyNs, std::memory_order_relaxed);
        cell.rows.fetch_add(rows, std::memory_order_relaxed);
        cell.bytes.fetch_add(bytes, std::memory_order_relaxed);
    }
    StageCount read(Stage stage) const {
        const Cell& cell = cells_[static_cast<std::size_t>(stage)];
        return {cell.busyNs.load(), cell.rows.load(), cell.bytes.load()};
    }

 private:
    struct alignas(64) Cell {
        std::atomic<std::int64_t> busyNs{0}, rows{0}, bytes{0};
    };
    std::array<Cell, kNumStages> cells_;
};

/// Measures from its making to stop(); a stage is counted once a batch, never once a row.
class StageTimer {
 public:
    explicit StageTimer(StageCounters& counters)
        : counters_(counters), start_(std::chrono::steady_clock::now()) {}
    /// Counts the time since the last stop (or the making) for `stage`.
    void stop(Stage stage, std::int64_t rows = 0, std::int64_t bytes = 0) {
        const auto now = std::chrono::steady_clock::now();
        counters_.add(stage,
                      std::chrono::duration_cast<std::chrono::nanoseconds>(now - start_).count(),
                      rows, bytes);
        start_ = now;
    }
    void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
    StageCounters& counters_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace millrace::segment
