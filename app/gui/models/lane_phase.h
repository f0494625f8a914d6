#pragma once
// LanePhase: the activity of a job at a moment, as the strips over time show it.
#include <QString>
#include <cstdint>

namespace millrace::gui {

/// In the order of the legend. `kStanding`: its process is silent, or its work makes no progress.
/// `kIdle`: placed, but neither reading nor training (starting, waiting for its gang). `kEnding`:
/// it has taken its last step, and its processes have not exited yet.
enum class LanePhase : std::uint8_t {
    kTraining,
    kWaiting,
    kCheckpoint,
    kEvaluating,
    kStanding,
    kIdle,
    kEnding
};
inline constexpr int kNumLanePhases = 7;

/// As in JSON documents: "training", "waiting for data"; "stalled", "idle".
QString lanePhaseName(LanePhase phase);

}  // namespace millrace::gui
