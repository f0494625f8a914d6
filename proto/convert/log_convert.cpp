#include "proto/convert/log_convert.h"

#include "proto/convert/enum_convert.h"
#include "proto/convert/fields.h"

namespace millrace::convert {

MR_BOTH_WAYS(LogLine, LogLine) {
    MR_FIELD(timeMs, time_ms);
    MR_FIELD(worker, worker);
    MR_FIELD(text, text);
    MR_ENUM(level, level);
    MR_FIELD(isStderr, is_stderr);
    MR_FIELD(attempt, attempt);
    MR_OPTIONAL(rank, rank);
}

MR_BOTH_WAYS(LogsRequest, LogsRequest) {
    MR_FIELD(run, run);
    MR_LIST(workers, workers);
    MR_FIELD(tailLines, tail_lines);
    MR_FIELD(follow, follow);
    MR_FIELD(attempt, attempt);
    MR_ENUM(minLevel, min_level);
    MR_FIELD(cursor, cursor);
}

MR_BOTH_WAYS(LogChunk, LogChunk) {
    MR_VALUES(lines, lines);
    MR_FIELD(cursor, cursor);
    MR_FIELD(isEnd, is_end);
    MR_FIELD(droppedLines, dropped_lines);
}

}  // namespace millrace::convert
