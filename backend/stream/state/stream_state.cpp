#include "backend/stream/state/stream_state.h"

#include "backend/stream/state/tiny_json.h"

namespace millrace::stream {
namespace {

/// Empty, or what is wrong.
std::string readSteps(const TinyJson& list, SegmentSums& sums) {
    if (list.items.size() > kMaxRecordSteps) {
        return "more than " + std::to_string(kMaxRecordSteps) + " steps";
    }
    for (const TinyJson& item : list.items) {
        StepRows& step = sums.steps.emplace_back();
        if (!item.readPair(step.in, step.out)) {
            return "'steps' must be a list of [rows in, rows out]";
        }
    }
    return "";
}

/// Empty, or what is wrong.
std::string readCounts(const TinyJson& object, SegmentSums& sums) {
    if (object.members.size() > kMaxRecordCounts) {
        return "'counts' must be an object of at most " + std::to_string(kMaxRecordCounts) +
               " counts";
    }
    for (const TinyJson::Member& member : object.members) {
        const bool isCount = !member.name.empty() && member.name.size() <= kMaxCountNameBytes &&
                             member.value.isCount();
        if (!isCount || !sums.counts.emplace(member.name, member.value.count).second) {
            return "'counts' must be counts by names of 1 to " +
                   std::to_string(kMaxCountNameBytes) + " bytes, each name once";
        }
    }
    return "";
}

}  // namespace

std::string StreamState::toText() const {
    TinyJsonText text;
    text.counts("counts", sums.counts).member("cursor", cursor.toText());
    text.text("order_hash", orderHash.hex()).count("rows_delivered", rowsDelivered);
    text.count("rows_kept", sums.rowsKept);
    if (rowsLeftOut > 0) {
        text.count("rows_left_out", rowsLeftOut);
    }
    text.count("rows_pruned", sums.rowsPruned);
    text.count("rows_scanned", sums.rowsScanned).count("segments", sums.segments);
    text.pairs("steps", sums.steps, &StepRows::in, &StepRows::out).count("version", kVersion);
    return text.object();
}

std::string StreamState::read(std::string_view text) {
    *this = StreamState();
    TinyJson json;
    if (!TinyJson::parse(text, json)) {
        return "state: not the text of a state: a JSON object of counts, texts and lists";
    }
    TinyJsonMembers members(json);
    const std::int64_t version = members.count("version");
    if (members.wrong().empty() && version == 1) {
        return "state: version 1: its order hash is of an older kind that no later micro-batch can "
               "be added to, and it is one rank's share; start the run anew";
    }
    if (members.wrong().empty() && version != kVersion) {
        return "state: version " + std::to_string(version) + ", this program reads version " +
               std::to_string(kVersion);
    }
    const TinyJson& place = members.object("cursor");
    const std::string hash = members.hash("order_hash");
    rowsDelivered = members.count("rows_delivered");
    rowsLeftOut = members.countOr("rows_left_out", 0);
    sums.segments = members.count("segments");
    sums.rowsScanned = members.count("rows_scanned");
    sums.rowsPruned = members.count("rows_pruned");
    sums.rowsKept = members.count("rows_kept");
    const TinyJson& steps = members.list("steps");
    const TinyJson& counts = members.object("counts");
    std::string wrong = members.wrong();
    wrong = wrong.empty() ? readSteps(steps, sums) : wrong;
    wrong = wrong.empty() ? readCounts(counts, sums) : wrong;
    if (!wrong.empty()) {
        return "state: " + wrong;
    }
    orderHash = OrderHash::fromHex(hash).value_or(OrderHash());
    return cursor.read(place);
}

}  // namespace millrace::stream
