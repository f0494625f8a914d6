#include "proto/convert/enum_convert.h"

namespace millrace::convert {

// Without `default`: an enumerator that is added but missing here causes a warning, which is an
// error. The open enums of proto3 have two more enumerators, which stand for all other numbers.

v1::RunState toProto(values::RunState state) {
    switch (state) {
        case values::RunState::kQueued:
            return v1::RUN_STATE_QUEUED;
        case values::RunState::kStarting:
            return v1::RUN_STATE_STARTING;
        case values::RunState::kRunning:
            return v1::RUN_STATE_RUNNING;
        case values::RunState::kStopping:
            return v1::RUN_STATE_STOPPING;
        case values::RunState::kFinished:
            return v1::RUN_STATE_FINISHED;
        case values::RunState::kFailed:
            return v1::RUN_STATE_FAILED;
        case values::RunState::kCancelled:
            return v1::RUN_STATE_CANCELLED;
        case values::RunState::kUnknown:
            break;
    }
    return v1::RUN_STATE_UNSPECIFIED;
}

values::RunState fromProto(v1::RunState state) {
    switch (state) {
        case v1::RUN_STATE_QUEUED:
            return values::RunState::kQueued;
        case v1::RUN_STATE_STARTING:
            return values::RunState::kStarting;
        case v1::RUN_STATE_RUNNING:
            return values::RunState::kRunning;
        case v1::RUN_STATE_STOPPING:
            return values::RunState::kStopping;
        case v1::RUN_STATE_FINISHED:
            return values::RunState::kFinished;
        case v1::RUN_STATE_FAILED:
            return values::RunState::kFailed;
        case v1::RUN_STATE_CANCELLED:
            return values::RunState::kCancelled;
        case v1::RUN_STATE_UNSPECIFIED:
        case v1::RunState_INT_MIN_SENTINEL_DO_NOT_USE_:
        case v1::RunState_INT_MAX_SENTINEL_DO_NOT_USE_:
            break;
    }
    return values::RunState::kUnknown;
}

v1::Phase toProto(values::Phase phase) {
    switch (phase) {
        case values::Phase::kTraining:
            return v1::PHASE_TRAINING;
        case values::Phase::kWaiting:
            return v1::PHASE_WAITING;
        case values::Phase::kCheckpoint:
            return v1::PHASE_CHECKPOINT;
        case values::Phase::kEvaluating:
            return v1::PHASE_EVALUATING;
        case values::Phase::kEnding:
            return v1::PHASE_ENDING;
        case values::Phase::kUnknown:
            break;
    }
    return v1::PHASE_UNSPECIFIED;
}

values::Phase fromProto(v1::Phase phase) {
    switch (phase) {
        case v1::PHASE_TRAINING:
            return values::Phase::kTraining;
        case v1::PHASE_WAITING:
            return values::Phase::kWaiting;
        case v1::PHASE_CHECKPOINT:
            return values::Phase::kCheckpoint;
        case v1::PHASE_EVALUATING:
            return values::Phase::kEvaluating;
        case v1::PHASE_ENDING:
            return values::Phase::kEnding;
        case v1::PHASE_UNSPECIFIED:
        case v1::Phase_INT_MIN_SENTINEL_DO_NOT_USE_:
        case v1::Phase_INT_MAX_SENTINEL_DO_NOT_USE_:
            break;
    }
    return values::Phase::kUnknown;
}

v1::LogLevel toProto(values::LogLevel level) {
    switch (level) {
        case values::LogLevel::kDebug:
            return v1::LOG_LEVEL_DEBUG;
        case values::LogLevel::kInfo:
            return v1::LOG_LEVEL_INFO;
        case values::LogLevel::kWarn:
            return v1::LOG_LEVEL_WARN;
        case values::LogLevel::kError:
            return v1::LOG_LEVEL_ERROR;
        case values::LogLevel::kNone:
            break;
    }
    return v1::LOG_LEVEL_UNSPECIFIED;
}

values::LogLevel fromProto(v1::LogLevel level) {
    switch (level) {
        case v1::LOG_LEVEL_DEBUG:
            return values::LogLevel::kDebug;
        case v1::LOG_LEVEL_INFO:
            return values::LogLevel::kInfo;
        case v1::LOG_LEVEL_WARN:
            return values::LogLevel::kWarn;
        case v1::LOG_LEVEL_ERROR:
            return values::LogLevel::kError;
        case v1::LOG_LEVEL_UNSPECIFIED:
        case v1::LogLevel_INT_MIN_SENTINEL_DO_NOT_USE_:
        case v1::LogLevel_INT_MAX_SENTINEL_DO_NOT_USE_:
            break;
    }
    return values::LogLevel::kNone;
}

v1::RunView toProto(values::RunView view) {
    switch (view) {
        case values::RunView::kActive:
            return v1::RUN_VIEW_ACTIVE;
        case values::RunView::kDeleted:
            return v1::RUN_VIEW_DELETED;
        case values::RunView::kAll:
            return v1::RUN_VIEW_ALL;
    }
    return v1::RUN_VIEW_UNSPECIFIED;
}

values::RunView fromProto(v1::RunView view) {
    switch (view) {
        case v1::RUN_VIEW_ACTIVE:
            return values::RunView::kActive;
        case v1::RUN_VIEW_DELETED:
            return values::RunView::kDeleted;
        case v1::RUN_VIEW_ALL:
            return values::RunView::kAll;
        case v1::RUN_VIEW_UNSPECIFIED:
        case v1::RunView_INT_MIN_SENTINEL_DO_NOT_USE_:
        case v1::RunView_INT_MAX_SENTINEL_DO_NOT_USE_:
            break;
    }
    return values::RunView::kActive;
}

v1::LargeDocument toProto(values::LargeDocument document) {
    switch (document) {
        case values::LargeDocument::kPlan:
            return v1::LARGE_DOCUMENT_PLAN;
        case values::LargeDocument::kReceipt:
            return v1::LARGE_DOCUMENT_RECEIPT;
    }
    return v1::LARGE_DOCUMENT_UNSPECIFIED;
}

std::optional<values::LargeDocument> fromProto(v1::LargeDocument document) {
    switch (document) {
        case v1::LARGE_DOCUMENT_PLAN:
            return values::LargeDocument::kPlan;
        case v1::LARGE_DOCUMENT_RECEIPT:
            return values::LargeDocument::kReceipt;
        case v1::LARGE_DOCUMENT_UNSPECIFIED:
        case v1::LargeDocument_INT_MIN_SENTINEL_DO_NOT_USE_:
        case v1::LargeDocument_INT_MAX_SENTINEL_DO_NOT_USE_:
            break;
    }
    return std::nullopt;
}

}  // namespace millrace::convert
