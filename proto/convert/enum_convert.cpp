#include "proto/convert/enum_convert.h"

namespace millrace::convert {
namespace {

// Returns the enumerator, up to `last`, that toProto() turns into `message`, if there is one.
template <class Value, class Message>
std::optional<Value> enumeratorOf(Message message, Value last) {
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        if (toProto(static_cast<Value>(i)) == message) {
            return static_cast<Value>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

// Without `default`: an enumerator that is added but missing here causes a warning, which is an
// error.

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
    return enumeratorOf(state, values::RunState::kCancelled).value_or(values::RunState::kUnknown);
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
    return enumeratorOf(phase, values::Phase::kEnding).value_or(values::Phase::kUnknown);
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
    return enumeratorOf(level, values::LogLevel::kError).value_or(values::LogLevel::kNone);
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
    return enumeratorOf(view, values::RunView::kAll).value_or(values::RunView::kActive);
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
    return enumeratorOf(document, values::LargeDocument::kReceipt);
}

}  // namespace millrace::convert
