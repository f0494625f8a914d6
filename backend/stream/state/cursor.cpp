#include "backend/stream/state/cursor.h"

#include <limits>
#include <utility>

#include "backend/stream/state/tiny_json.h"

namespace millrace::stream {
namespace {

constexpr std::size_t kMaxRestParts = std::size_t{1} << 20;

/// Returns "" or the error. Only earlier segments can have left rows, each of them once.
std::string readRest(const TinyJson& list, std::int64_t segment, std::vector<RestPart>& rest) {
    if (list.items.size() > kMaxRestParts) {
        return "epoch, offset or rest out of range";
    }
    std::int64_t before = -1;
    for (const TinyJson& item : list.items) {
        RestPart part;
        if (!item.readPair(part.segment, part.rows)) {
            return "'rest' must be a list of [segment, rows]";
        }
        if (part.segment <= before || part.segment >= segment || part.rows < 1) {
            return "'rest' must name earlier segments in order, with rows";
        }
        before = part.segment;
        rest.push_back(part);
    }
    return "";
}

}  // namespace

Cursor Cursor::start(std::string streamHash, std::string planHash) {
    Cursor cursor;
    cursor.streamHash = std::move(streamHash);
    cursor.planHash = std::move(planHash);
    return cursor;
}

std::string Cursor::toText() const {
    TinyJsonText text;
    text.count("epoch", epoch).count("next", next).count("offset", offset);
    text.text("plan_hash", planHash).pairs("rest", rest, &RestPart::segment, &RestPart::rows);
    text.count("segment", segment).text("stream_hash", streamHash).count("version", kVersion);
    return text.object();
}

std::string Cursor::read(const TinyJson& json) {
    *this = Cursor();
    TinyJsonMembers members(json);
    const std::int64_t version = members.count("version");
    if (members.wrong().empty() && version != kVersion) {
        return "cursor: version " + std::to_string(version) +
               ", this program reads versions 1 to " + std::to_string(kVersion);
    }
    streamHash = members.hash("stream_hash");
    planHash = members.hash("plan_hash");
    const std::int64_t number = members.count("epoch");
    next = members.count("next");
    segment = members.count("segment");
    offset = members.count("offset");
    const TinyJson& parts = members.list("rest");
    std::string wrong = members.wrong();
    if (wrong.empty() && (number > std::numeric_limits<std::uint32_t>::max() || offset > next)) {
        wrong = "epoch, offset or rest out of range";
    }
    epoch = static_cast<std::uint32_t>(number);
    if (wrong.empty()) {
        wrong = readRest(parts, segment, rest);
    }
    return wrong.empty() ? "" : "cursor: " + wrong;
}

}  // namespace millrace::stream
