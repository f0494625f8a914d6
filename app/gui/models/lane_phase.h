#pragma once
// What a job does at a moment, as the strips over time show it.
#include <cstdint>

namespace millrace::gui {

/// In the order of the legend. `kIdle`: placed, but neither reading nor training (starting, waiting
/// for its gang, ending).
enum class LanePhase : std::uint8_t { kTraining, kWaiting, kCheckpoint, kEvaluating, kIdle };
inline constexpr int kNumLanePhases = 5;

}  // namespace millrace::gui
