#include "backend/stream/cursor.h"

#include <limits>

#include "backend/core/hash.h"
#include "backend/stream/cursor_check.h"
#include "backend/stream/json_read.h"

namespace millrace::stream {
namespace {
constexpr std::size_t kMaxRestParts = std::size_t{1} << 20;

/// Over all other members: a number that a hand changed would place the stream where it never was.
std::string checkOf(Json json) {
    json.erase("check");
    return hashHex(dumpJson(json)).substr(0, 16);
}

}  // namespace

Cursor Cursor::start(std::string streamHash, std::string planHash) {
    Cursor cursor;
    cursor.streamHash = std::move(streamHash);
    cursor.planHash = std::move(planHash);
    return cursor;
}

std::vector<std::int64_t> Cursor::segmentsToRecompute(std::int64_t numSegments) const {
    std::vector<std::int64_t> segments;
    for (const RestPart& part : rest) {
        segments.push_back(part.segment);
    }
    if (segment < numSegments) {
        segments.push_back(segment);
    }
    return segments;
}

Json Cursor::toJson() const {
    Json parts = Json::array();
    for (const RestPart& part : rest) {
        parts.push_back(Json::array({part.segment, part.rows}));
    }
    return Json{{"version", kVersion},   {"stream_hash", streamHash},
                {"plan_hash", planHash}, {"epoch", epoch},
                {"next", next},          {"segment", segment},
                {"offset", offset},      {"rest", std::move(parts)}};
}

Json checkedJson(const Cursor& cursor) {
    Json json = cursor.toJson();
    json["check"] = checkOf(json);
    return json;
}

Result<Cursor> Cursor::fromJson(const Json& json) {
    JsonRead read(json);
    Cursor cursor;
    const std::int64_t version = read.count("version");
    if (read.status().ok() && version != kVersion) {
        return invalidArgument("cursor: version ", version, ", this program reads version ",
                               kVersion);
    }
    cursor.streamHash = read.hash("stream_hash");
    cursor.planHash = read.hash("plan_hash");
    const std::int64_t epoch = read.count("epoch");
    cursor.next = read.count("next");
    cursor.segment = read.count("segment");
    cursor.offset = read.count("offset");
    const Json& rest = read.list("rest");
    RETURN_IF_ERROR(annotate(read.status(), "cursor"));
    // The state that a rank keeps has none: it stands in a checkpoint, which has its own.
    if (json.contains("check") && json["check"] != Json(checkOf(json))) {
        return invalidArgument(
            "cursor: it was changed: its numbers do not belong to its check; take it as "
            "`millrace stream` printed it");
    }
    if (epoch > std::numeric_limits<std::uint32_t>::max() || cursor.offset > cursor.next ||
        rest.size() > kMaxRestParts) {
        return invalidArgument("cursor: epoch, offset or rest out of range");
    }
    cursor.epoch = static_cast<std::uint32_t>(epoch);
    std::int64_t before = -1;
    for (const Json& part : rest) {
        const bool pair = part.is_array() && part.size() == 2 && JsonRead::isCount(part[0]) &&
                          JsonRead::isCount(part[1]);
        if (!pair) {
            return invalidArgument("cursor: 'rest' must be a list of [segment, rows]");
        }
        const RestPart p{part[0].get<std::int64_t>(), part[1].get<std::int64_t>()};
        if (p.segment <= before || p.segment >= cursor.segment || p.rows < 1) {
            return invalidArgument("cursor: 'rest' must name earlier segments in order, with rows");
        }
        before = p.segment;
        cursor.rest.push_back(p);
    }
    return cursor;
}

Result<Cursor> Cursor::fromText(std::string_view text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "cursor"));
    return fromJson(json);
}

Status Cursor::check(std::string_view wantedStream, std::string_view wantedPlan,
                     std::int64_t numSegments, std::int64_t microRows) const {
    if (streamHash != wantedStream) {
        return failedPrecondition("cursor: taken from stream ", streamHash, ", this one is ",
                                  wantedStream,
                                  "; keys that shape the stream (dataset, recipe, labels, "
                                  "features, seed, ...) were changed");
    }
    if (planHash != wantedPlan) {
        return failedPrecondition("cursor: taken from plan ", planHash, ", this one is ",
                                  wantedPlan, "; the dataset's files are others");
    }
    std::int64_t rows = 0;
    for (const RestPart& part : rest) {
        rows = part.rows < microRows ? rows + part.rows : microRows;
        if (rows >= microRows) {
            return invalidArgument("cursor: the open rest holds a whole micro-batch of ", microRows,
                                   " rows");
        }
    }
    if (segment > numSegments || (segment == numSegments && offset > 1)) {
        return invalidArgument("cursor: segment ", segment, ", micro-batch ", offset,
                               " of a plan of ", numSegments, " segments");
    }
    return okStatus();
}

}  // namespace millrace::stream
