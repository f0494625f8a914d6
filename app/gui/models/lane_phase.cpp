#include "app/gui/models/lane_phase.h"

#include <QObject>
#include <string_view>

#include "app/gui/models/run_text.h"
#include "backend/values/run_state.h"

namespace millrace::gui {
namespace {

QString phaseName(values::Phase phase) {
    return qtext(values::nameOf(phase));
}

}  // namespace

QString lanePhaseName(LanePhase phase) {
    switch (phase) {
        case LanePhase::kTraining:
            return phaseName(values::Phase::kTraining);
        case LanePhase::kWaiting:
            return phaseName(values::Phase::kWaiting);
        case LanePhase::kCheckpoint:
            return phaseName(values::Phase::kCheckpoint);
        case LanePhase::kEvaluating:
            return phaseName(values::Phase::kEvaluating);
        case LanePhase::kStanding:
            return QObject::tr("stalled");
        case LanePhase::kEnding:
            return phaseName(values::Phase::kEnding);
        case LanePhase::kIdle:
            break;
    }
    return QObject::tr("idle");
}

}  // namespace millrace::gui
