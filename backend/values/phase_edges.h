#pragma once
// PhaseEdges: which reports of a run's, or of a rank's, times are stored, so that its strip can be
// drawn again as it was seen live.
//
// It picks a report where another kind of time follows (a pause, a start, a standstill, the end),
// and the last one of each cell. All reports between two picked ones are of one kind, and a cell
// knows how much of its steps was waiting: a strip shows no more. At most every report is picked.
//
// Threads: one owner. Failure: none; times that fall restart it.
#include <cstdint>
#include <optional>

#include "backend/values/phase_times.h"

namespace millrace::values {

class PhaseEdges {
 public:
    /// The strip shows waiting and training of one cell one after the other; cells begin at
    /// multiples of this since 1970.
    static constexpr std::int64_t kCellMs = 2'000;

    struct Report {
        PhaseTimes times;
        double standingMs = 0;  ///< how long it has not got on, all together
        std::int64_t timeMs = 0;
        std::int64_t step = 0, epoch = 0, rows = 0;
    };

    /// A newer report. Returns the one before where that has to be stored.
    std::optional<Report> note(const Report& next) {
        std::optional<Report> edge;
        const bool isNew = !last_ || next.times.sum() < last_->times.sum();
        const unsigned kind = isNew ? 0 : kindOf(*last_, next);
        if (!isNew && (next.timeMs / kCellMs != last_->timeMs / kCellMs ||
                       (kind_ != 0 && kind != 0 && kind != kind_))) {
            edge = last_;
        }
        kind_ = isNew || kind != 0 ? kind : kind_;
        last_ = next;
        return edge;
    }

 private:
    // Less is not seen on a strip.
    static constexpr double kLeastMs = 5;

    // A bit for each part that grew. Steps are one kind, whether they wait or not.
    static unsigned kindOf(const Report& from, const Report& to) {
        const PhaseTimes passed = to.times - from.times;
        const double parts[] = {passed.busyMs + passed.stallMs,
                                passed.evaluateMs,
                                passed.checkpointMs,
                                passed.startMs,
                                passed.endingMs,
                                to.standingMs - from.standingMs};
        unsigned kind = 0, bit = 1;
        for (const double ms : parts) {
            kind |= ms >= kLeastMs ? bit : 0;
            bit *= 2;
        }
        return kind;
    }

    std::optional<Report> last_;
    unsigned kind_ = 0;  // of the time before `last_`; 0: not known
};

}  // namespace millrace::values
