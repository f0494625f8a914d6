#include "backend/stream/receipt.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "backend/stream/json_read.h"

namespace millrace::stream {
namespace {

constexpr std::size_t kMaxSteps = 64, kMaxCounts = 1024, kMaxCountNameBytes = 255;

Result<std::vector<StepRows>> readSteps(const Json& list) {
    std::vector<StepRows> steps;
    if (list.size() > kMaxSteps) {
        return invalidArgument("more than ", kMaxSteps, " steps");
    }
    for (const Json& pair : list) {
        if (!pair.is_array() || pair.size() != 2 || !JsonRead::isCount(pair[0]) ||
            !JsonRead::isCount(pair[1])) {
            return invalidArgument("'steps' must be a list of [rows in, rows out]");
        }
        steps.push_back({pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>()});
    }
    return steps;
}

/// A text without counts that has segments comes from a program that knew none.
Status readCounts(const Json& json, SegmentSums& sums) {
    const auto counts = json.find("counts");
    sums.hasCounts = counts != json.end() || sums.segments == 0;
    if (counts == json.end()) {
        return okStatus();
    }
    if (!counts->is_object() || counts->size() > kMaxCounts) {
        return invalidArgument("'counts' must be an object of at most ", kMaxCounts, " counts");
    }
    for (const auto& [name, value] : counts->items()) {
        if (name.empty() || name.size() > kMaxCountNameBytes || !JsonRead::isCount(value)) {
            return invalidArgument("'counts' must be counts by names of 1 to ", kMaxCountNameBytes,
                                   " bytes");
        }
        sums.counts.emplace(name, value.get<std::int64_t>());
    }
    return okStatus();
}

/// Takes `prefix` off the front; false when it is not there.
bool takePrefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

/// "2/no partner": a reason of the third step.
void addReason(std::string_view text, std::int64_t rows, std::vector<ReceiptStep>& steps) {
    std::size_t step = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (error == std::errc() && step < steps.size() && takePrefix(text, "/")) {
        steps[step].reasons.push_back({std::string(text), rows});
    }
}

/// The names are sorted: so are the reasons of a step, and the vocabularies.
void addCounts(const std::map<std::string, std::int64_t>& counts, Receipt& receipt) {
    for (const auto& [name, count] : counts) {
        std::string_view rest = name;
        if (takePrefix(rest, "step/")) {
            addReason(rest, count, receipt.steps);
        } else if (takePrefix(rest, "ids/")) {
            const auto unknown = counts.find(strCat("unknown/", rest));
            receipt.vocabularies.push_back(
                {std::string(rest), count, unknown == counts.end() ? 0 : unknown->second});
        }
    }
}

}  // namespace

void SegmentSums::add(const SegmentSums& other) {
    segments += other.segments;
    rowsScanned += other.rowsScanned;
    rowsPruned += other.rowsPruned;
    rowsKept += other.rowsKept;
    steps.resize(std::max(steps.size(), other.steps.size()));
    for (std::size_t i = 0; i < other.steps.size(); ++i) {
        steps[i].in += other.steps[i].in;
        steps[i].out += other.steps[i].out;
    }
    hasCounts = hasCounts && other.hasCounts;
    if (!hasCounts) {
        counts.clear();
        return;
    }
    for (const auto& [name, value] : other.counts) {
        counts[name] += value;
    }
}

std::string StreamState::toText() const {
    Json steps = Json::array();
    for (const StepRows& s : sums.steps) {
        steps.push_back(Json::array({s.in, s.out}));
    }
    Json json{{"version", kVersion},
              {"cursor", cursor.toJson()},
              {"order_hash", orderHash.hex()},
              {"rows_delivered", rowsDelivered},
              {"segments", sums.segments},
              {"rows_scanned", sums.rowsScanned},
              {"rows_pruned", sums.rowsPruned},
              {"rows_kept", sums.rowsKept},
              {"steps", std::move(steps)}};
    if (sums.hasCounts) {
        json["counts"] = sums.counts;
    }
    return dumpJson(json);
}

Result<StreamState> StreamState::fromText(std::string_view text) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, "state"));
    JsonRead read(json);
    StreamState state;
    const std::int64_t version = read.count("version");
    if (read.status().ok() && version != kVersion) {
        return invalidArgument("state: version ", version, ", this program reads version ",
                               kVersion);
    }
    const Json& cursor = read.object("cursor");
    const std::string hash = read.hash("order_hash");
    state.rowsDelivered = read.count("rows_delivered");
    state.sums.segments = read.count("segments");
    state.sums.rowsScanned = read.count("rows_scanned");
    state.sums.rowsPruned = read.count("rows_pruned");
    state.sums.rowsKept = read.count("rows_kept");
    const Json& steps = read.list("steps");
    RETURN_IF_ERROR(annotate(read.status(), "state"));
    ASSIGN_OR_RETURN(state.sums.steps, readSteps(steps));
    RETURN_IF_ERROR(annotate(readCounts(json, state.sums), "state"));
    ASSIGN_OR_RETURN(state.cursor, Cursor::fromJson(cursor));
    ASSIGN_OR_RETURN(state.orderHash, OrderHash::fromHex(hash));
    return state;
}

Result<StreamState> StreamState::merge(const std::vector<StreamState>& ofRanks) {
    if (ofRanks.empty()) {
        return invalidArgument("state: nothing to merge");
    }
    StreamState all = ofRanks.front();
    for (std::size_t r = 1; r < ofRanks.size(); ++r) {
        if (ofRanks[r].cursor != all.cursor) {
            return failedPrecondition("state: rank ", r, " stands at micro-batch ",
                                      ofRanks[r].cursor.next, " of epoch ", ofRanks[r].cursor.epoch,
                                      ", rank 0 elsewhere");
        }
        all.orderHash.add(ofRanks[r].orderHash);
        all.rowsDelivered += ofRanks[r].rowsDelivered;
    }
    return all;
}

Receipt Receipt::of(const Plan& plan, const StreamState& state,
                    const std::vector<std::string>& stepNames, std::int64_t rowsTrained) {
    Receipt receipt;
    for (const PlanFile& f : plan.files) {
        receipt.files.push_back({f.path, f.relativePath, f.footerHash, f.bytes, f.rows});
    }
    receipt.sideTables = plan.sideTables;
    const std::size_t steps = std::max(stepNames.size(), state.sums.steps.size());
    for (std::size_t i = 0; i < steps; ++i) {
        const StepRows rows = i < state.sums.steps.size() ? state.sums.steps[i] : StepRows{};
        receipt.steps.push_back(
            {i < stepNames.size() ? stepNames[i] : strCat("step ", i + 1), rows.in, rows.out});
    }
    addCounts(state.sums.counts, receipt);
    receipt.rowsScanned = state.sums.rowsScanned;
    receipt.rowsPruned = state.sums.rowsPruned;
    receipt.rowsKept = state.sums.rowsKept;
    receipt.rowsDelivered = state.rowsDelivered;
    receipt.rowsTrained = rowsTrained;
    receipt.planHash = state.cursor.planHash;
    receipt.streamHash = state.cursor.streamHash;
    receipt.orderHash = state.orderHash.hex();
    return receipt;
}

Json Receipt::toJson() const {
    Json fileList = Json::array(), tableList = Json::array(), stepList = Json::array();
    Json vocabularyList = Json::array();
    for (const ReceiptFile& f : files) {
        fileList.push_back(Json{{"path", f.path},
                                {"relative_path", f.relativePath},
                                {"footer_hash", f.footerHash},
                                {"bytes", f.bytes},
                                {"rows", f.rows}});
    }
    for (const SideTable& t : sideTables) {
        tableList.push_back(Json{{"path", t.path}, {"bytes", t.bytes}, {"hash", t.hash}});
    }
    for (const ReceiptStep& s : steps) {
        Json reasons = Json::array();
        for (const ReceiptReason& r : s.reasons) {
            reasons.push_back(Json{{"name", r.name}, {"rows", r.rows}});
        }
        stepList.push_back(Json{{"name", s.name},
                                {"rows_in", s.rowsIn},
                                {"rows_out", s.rowsOut},
                                {"reasons", std::move(reasons)}});
    }
    for (const ReceiptVocabulary& v : vocabularies) {
        vocabularyList.push_back(
            Json{{"feature", v.feature}, {"ids", v.ids}, {"unknown", v.unknown}});
    }
    return Json{{"files", std::move(fileList)},    {"side_tables", std::move(tableList)},
                {"steps", std::move(stepList)},    {"rows_scanned", rowsScanned},
                {"rows_pruned", rowsPruned},       {"rows_kept", rowsKept},
                {"rows_delivered", rowsDelivered}, {"rows_trained", rowsTrained},
                {"plan_hash", planHash},           {"stream_hash", streamHash},
                {"order_hash", orderHash},         {"vocabularies", std::move(vocabularyList)}};
}

namespace {

/// A list that older receipts do not have.
const Json& listOrNone(JsonRead& read, const Json& json, const char* key) {
    static const Json kEmpty = Json::array();
    return json.contains(key) ? read.list(key) : kEmpty;
}

Result<ReceiptStep> stepOf(const Json& json) {
    JsonRead read(json);
    ReceiptStep step{read.text("name"), read.count("rows_in"), read.count("rows_out")};
    for (const Json& item : listOrNone(read, json, "reasons")) {
        JsonRead reason(item);
        step.reasons.push_back({reason.text("name"), reason.count("rows")});
        RETURN_IF_ERROR(annotate(reason.status(), "reason"));
    }
    RETURN_IF_ERROR(read.status());
    return step;
}

}  // namespace

Result<Receipt> Receipt::fromJson(const Json& json) {
    JsonRead read(json);
    Receipt r;
    for (const Json& item : read.list("files")) {
        JsonRead file(item);
        r.files.push_back({file.text("path"), file.text("relative_path"), file.hash("footer_hash"),
                           file.count("bytes"), file.count("rows")});
        RETURN_IF_ERROR(annotate(file.status(), "receipt: file"));
    }
    for (const Json& item : read.list("side_tables")) {
        JsonRead table(item);
        r.sideTables.push_back({table.text("path"), table.count("bytes"), table.hash("hash")});
        RETURN_IF_ERROR(annotate(table.status(), "receipt: side table"));
    }
    for (const Json& item : read.list("steps")) {
        Result<ReceiptStep> step = stepOf(item);
        RETURN_IF_ERROR(annotate(step.status(), "receipt: step"));
        r.steps.push_back(std::move(*step));
    }
    for (const Json& item : listOrNone(read, json, "vocabularies")) {
        JsonRead one(item);
        r.vocabularies.push_back({one.text("feature"), one.count("ids"), one.count("unknown")});
        RETURN_IF_ERROR(annotate(one.status(), "receipt: vocabulary"));
    }
    r.rowsScanned = read.count("rows_scanned");
    r.rowsPruned = read.count("rows_pruned");
    r.rowsKept = read.count("rows_kept");
    r.rowsDelivered = read.count("rows_delivered");
    r.rowsTrained = read.count("rows_trained");
    r.planHash = read.hash("plan_hash");
    r.streamHash = read.hash("stream_hash");
    r.orderHash = read.hash("order_hash");
    RETURN_IF_ERROR(annotate(read.status(), "receipt"));
    return r;
}

}  // namespace millrace::stream
