#include "backend/stream/state/stream_state.h"

#include "backend/stream/state/tiny_json.h"

namespace millrace::stream {
namespace {

/// Returns "" or the error.
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

/// Returns "" or the error.
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

/// Returns "" or the error.
std::string readSums(TinyJsonMembers& members, SegmentSums& sums) {
    sums.segments = members.count("segments");
    sums.rowsScanned = members.count("rows_scanned");
    sums.rowsPruned = members.count("rows_pruned");
    sums.rowsKept = members.count("rows_kept");
    const TinyJson& steps = members.list("steps");
    const TinyJson& counts = members.object("counts");
    std::string wrong = members.wrong();
    wrong = wrong.empty() ? readSteps(steps, sums) : wrong;
    return wrong.empty() ? readCounts(counts, sums) : wrong;
}

/// Writes all but the counts. Members are in the order of their names.
void addRows(const SegmentSums& sums, std::int64_t rowsLeftOut, TinyJsonText& text) {
    text.count("rows_kept", sums.rowsKept);
    if (rowsLeftOut > 0) {
        text.count("rows_left_out", rowsLeftOut);
    }
    text.count("rows_pruned", sums.rowsPruned);
    text.count("rows_scanned", sums.rowsScanned).count("segments", sums.segments);
    text.pairs("steps", sums.steps, &StepRows::in, &StepRows::out);
}

}  // namespace

std::string StreamState::toText() const {
    TinyJsonText text;
    text.counts("counts", sums.counts).member("cursor", cursor.toText());
    if (opened.segments > 0) {
        TinyJsonText segment;
        segment.counts("counts", opened.counts);
        addRows(opened, 0, segment);
        text.member("opened", segment.object());
    }
    text.text("order_hash", orderHash.hex()).count("rows_delivered", rowsDelivered);
    addRows(sums, rowsLeftOut, text);
    return text.count("version", kVersion).object();
}

std::string StreamState::read(std::string_view text) {
    *this = StreamState();
    TinyJson json;
    if (!TinyJson::parse(text, json)) {
        return "state: not the text of a state: a JSON object of counts, texts and lists";
    }
    TinyJsonMembers members(json);
    const std::int64_t version = members.count("version");
    if (members.wrong().empty() && version != kVersion) {
        return "state: version " + std::to_string(version) + ", this program reads version " +
               std::to_string(kVersion);
    }
    const TinyJson& place = members.object("cursor");
    const std::string hash = members.hash("order_hash");
    rowsDelivered = members.count("rows_delivered");
    rowsLeftOut = members.countOr("rows_left_out", 0);
    std::string wrong = readSums(members, sums);
    if (const TinyJson* segment = json.find("opened"); wrong.empty() && segment != nullptr) {
        TinyJsonMembers inside(*segment);
        wrong = readSums(inside, opened);
    }
    if (!wrong.empty()) {
        return "state: " + wrong;
    }
    orderHash = OrderHash::fromHex(hash).value_or(OrderHash());
    return cursor.read(place);
}

}  // namespace millrace::stream
