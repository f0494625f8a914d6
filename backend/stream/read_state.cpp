#include "backend/stream/read_state.h"

#include <string>

#include "backend/core/hash.h"
#include "backend/stream/state/mismatch.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::stream {
namespace {

// Over all other members: a manually changed number would resume the stream at a place that it
// never reached.
std::string checkOf(Json json) {
    json.erase("check");
    return hashHex(dumpJson(json)).substr(0, 16);
}

Status verifyCheck(const Json& cursor) {
    // A rank's state has no check: it is in a checkpoint, which has its own checksum.
    if (cursor.is_object() && cursor.contains("check") &&
        cursor["check"] != Json(checkOf(cursor))) {
        return invalidArgument(
            "cursor: it was changed: its numbers do not belong to its check; take it as "
            "`millrace stream` printed it");
    }
    return okStatus();
}

}  // namespace

Result<Cursor> readCursor(std::string_view text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "cursor"));
    RETURN_IF_ERROR(verifyCheck(json));
    TinyJson tiny;
    if (!TinyJson::parse(text, tiny)) {
        return invalidArgument("cursor: not a JSON object of counts, texts and lists");
    }
    Cursor cursor;
    if (const std::string wrong = cursor.read(tiny); !wrong.empty()) {
        return invalidArgument(wrong);
    }
    return cursor;
}

Result<StreamState> readState(std::string_view text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "state"));
    RETURN_IF_ERROR(verifyCheck(jsonMember(json, "cursor")));
    StreamState state;
    if (const std::string wrong = state.read(text); !wrong.empty()) {
        return invalidArgument(wrong);
    }
    return state;
}

Json checkedJson(const Cursor& cursor) {
    Json json = parseJson(cursor.toText(), "cursor").value_or(Json::object());
    json["check"] = checkOf(json);
    return json;
}

Status checkCursor(const Cursor& cursor, std::string_view streamHash, std::string_view planHash,
                   std::int64_t numSegments, std::int64_t microRows) {
    if (const std::string_view why = mismatchOf(cursor, streamHash, planHash); !why.empty()) {
        return failedPrecondition("cursor: taken from stream ", cursor.streamHash, " of plan ",
                                  cursor.planHash, ", this one is ", streamHash, " of plan ",
                                  planHash, "; ", why);
    }
    std::int64_t rows = 0;
    for (const RestPart& part : cursor.rest) {
        rows = part.rows < microRows ? rows + part.rows : microRows;
        if (rows >= microRows) {
            return invalidArgument("cursor: the open rest holds a whole micro-batch of ", microRows,
                                   " rows");
        }
    }
    if (cursor.segment > numSegments || (cursor.segment == numSegments && cursor.offset > 1)) {
        return invalidArgument("cursor: segment ", cursor.segment, ", micro-batch ", cursor.offset,
                               " of a plan of ", numSegments, " segments");
    }
    return okStatus();
}

}  // namespace millrace::stream
