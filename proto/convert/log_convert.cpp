#include "proto/convert/log_convert.h"

#include "proto/convert/enum_convert.h"
#include "proto/convert/fields.h"

namespace millrace::convert {
namespace {

template <class Way>
void logLineFields(Way, auto& value, auto& message) {
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(worker, worker);
    MR_FIELD(text, text);
    MR_ENUM(level, level);
    MR_FIELD(isStderr, is_stderr);
    MR_FIELD(attempt, attempt);
}

template <class Way>
void logsRequestFields(Way, auto& value, auto& message) {
    MR_FIELD(run, run);
    MR_LIST(workers, workers);
    MR_FIELD(tailLines, tail_lines);
    MR_FIELD(follow, follow);
    MR_FIELD(attempt, attempt);
    MR_ENUM(minLevel, min_level);
    MR_FIELD(cursor, cursor);
}

template <class Way>
void logChunkFields(Way, auto& value, auto& message) {
    MR_VALUES(lines, lines);
    MR_FIELD(cursor, cursor);
    MR_FIELD(isEnd, is_end);
    MR_FIELD(droppedLines, dropped_lines);
}

}  // namespace

v1::LogLine toProto(const values::LogLine& value) {
    return written<values::LogLine, v1::LogLine>(value, logLineFields);
}
values::LogLine fromProto(const v1::LogLine& message) {
    return read<values::LogLine, v1::LogLine>(message, logLineFields);
}

v1::LogsRequest toProto(const values::LogsRequest& value) {
    return written<values::LogsRequest, v1::LogsRequest>(value, logsRequestFields);
}
values::LogsRequest fromProto(const v1::LogsRequest& message) {
    return read<values::LogsRequest, v1::LogsRequest>(message, logsRequestFields);
}

v1::LogChunk toProto(const values::LogChunk& value) {
    return written<values::LogChunk, v1::LogChunk>(value, logChunkFields);
}
values::LogChunk fromProto(const v1::LogChunk& message) {
    return read<values::LogChunk, v1::LogChunk>(message, logChunkFields);
}

}  // namespace millrace::convert
