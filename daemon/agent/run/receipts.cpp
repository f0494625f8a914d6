#include "daemon/agent/run/receipts.h"

#include <optional>

#include "backend/rank/frame_traffic_json.h"
#include "backend/stream/read_state.h"
#include "backend/stream/receipt.h"
#include "backend/text/json_slices.h"

namespace millrace::agent {
namespace {

// Returns the receipt's list of files: the plan's, without their splits. Writes file by file: as
// trees, plan and receipt of very many files would take twenty times their size.
Result<std::string> filesOf(std::string_view plan) {
    JsonElements files(jsonMemberText(plan, "files").value_or(""));
    std::string text;
    while (const std::optional<std::string_view> file = files.next()) {
        ASSIGN_OR_RETURN(Json one, parseJson(withJsonMember(*file, "splits", "[]"), "stored plan"));
        one.erase("splits");
        strAppend(&text, text.empty() ? "" : ",", dumpJson(one));
    }
    return strCat("[", text, "]");
}

// Parses the plan without its lists of files.
Result<stream::Plan> headOf(std::string_view plan) {
    const std::string head =
        withJsonMember(withJsonMember(plan, "files", "[]"), "eval_files", "[]");
    ASSIGN_OR_RETURN(const Json json, parseJson(head, "stored plan"));
    return stream::Plan::fromJson(json);
}

values::FileReceipt fileOf(const Json& json) {
    values::FileReceipt file;
    file.path = jsonString(json, "relative_path", jsonString(json, "path"));
    file.bytes = static_cast<std::uint64_t>(jsonInt(json, "bytes"));
    file.footerHash = jsonString(json, "footer_hash", jsonString(json, "hash"));
    file.rows = jsonInt(json, "rows", -1);
    return file;
}

values::StepReceipt stepOf(const Json& json) {
    values::StepReceipt step{jsonString(json, "name"), jsonInt(json, "rows_in"),
                             jsonInt(json, "rows_out")};
    for (const Json& reason : jsonMember(json, "reasons")) {
        step.reasons.push_back({jsonString(reason, "name"), jsonInt(reason, "rows")});
    }
    return step;
}

values::DataWorkersReceipt dataWorkersOf(const Json& json) {
    values::DataWorkersReceipt workers;
    workers.segments = jsonInt(json, "segments");
    workers.cpuSeconds = jsonReal(json, "cpu_seconds");
    workers.frameBytes = static_cast<std::uint64_t>(jsonInt(json, "frame_bytes"));
    workers.networkBytes = static_cast<std::uint64_t>(jsonInt(json, "network_bytes"));
    workers.directBytes = static_cast<std::uint64_t>(jsonInt(json, "direct_bytes"));
    workers.carriedBytes = static_cast<std::uint64_t>(jsonInt(json, "carried_bytes"));
    workers.traffic = rank::trafficOf(jsonMember(json, "traffic"));
    const Json& link = jsonMember(json, "link");
    workers.linkMbPerSecond = jsonReal(link, "mb_per_second");
    for (const Json& column : jsonMember(link, "columns")) {
        workers.columns.push_back(jsonString(column, "name"));
        workers.codecs.push_back(jsonString(column, "codec"));
    }
    return workers;
}

values::Receipt receiptOf(const Json& json, std::int64_t filesTotal) {
    values::Receipt receipt;
    receipt.filesTotal = filesTotal;
    for (const Json& file : jsonMember(json, "files")) {
        receipt.files.push_back(fileOf(file));
    }
    for (const Json& table : jsonMember(json, "side_tables")) {
        receipt.sideTables.push_back(fileOf(table));
    }
    for (const Json& step : jsonMember(json, "steps")) {
        receipt.steps.push_back(stepOf(step));
    }
    for (const Json& vocabulary : jsonMember(json, "vocabularies")) {
        receipt.vocabularies.push_back({jsonString(vocabulary, "feature"),
                                        jsonInt(vocabulary, "ids"), jsonInt(vocabulary, "unknown"),
                                        jsonInt(vocabulary, "eval_ids"),
                                        jsonInt(vocabulary, "eval_unknown")});
    }
    for (const Json& label : jsonMember(json, "labels")) {
        receipt.labels.push_back(
            {jsonString(label, "head"), jsonInt(label, "null"), jsonInt(label, "nan")});
    }
    receipt.dataWorkers = dataWorkersOf(jsonMember(json, "data_workers"));
    for (const auto& [role, seconds] : jsonMember(json, "cpu_seconds").items()) {
        receipt.costs.push_back({role, seconds.is_number() ? seconds.get<double>() : 0,
                                 jsonInt(jsonMember(json, "peak_memory_bytes"), role.c_str())});
    }
    receipt.orderHash = jsonString(json, "order_hash");
    receipt.evalOrderHash = jsonString(json, "eval_order_hash");
    receipt.orderHashVersion = static_cast<int>(jsonInt(json, "order_hash_version"));
    receipt.planHash = jsonString(json, "plan_hash");
    receipt.rowsScanned = jsonInt(json, "rows_scanned");
    receipt.rowsPruned = jsonInt(json, "rows_pruned");
    receipt.rowsKept = jsonInt(json, "rows_kept");
    receipt.rowsTrained = jsonInt(json, "rows_trained");
    receipt.endsInsideSegment = jsonBool(json, "ends_inside_segment");
    receipt.isOpenSegmentCounted = jsonBool(json, "open_segment_counted");
    receipt.json = dumpJson(json);
    return receipt;
}

// Adds the evaluation's counts to the vocabularies of `json`.
void addEvaluated(const stream::Plan& plan, std::string_view evalState, Json& json) {
    const Result<stream::StreamState> state = stream::readState(evalState);
    if (!state.ok()) {
        return;
    }
    for (const auto& counted : stream::Receipt::of(plan, *state, {}, 0).vocabularies) {
        for (Json& vocabulary : json["vocabularies"]) {
            if (jsonString(vocabulary, "feature") == counted.feature) {
                vocabulary["eval_ids"] = counted.ids;
                vocabulary["eval_unknown"] = counted.unknown;
            }
        }
    }
}

}  // namespace

Result<std::string> makeReceipt(const ReceiptInputs& inputs) {
    ASSIGN_OR_RETURN(const stream::Plan plan, headOf(inputs.plan));
    ASSIGN_OR_RETURN(const std::string files, filesOf(inputs.plan));
    if (inputs.state.empty()) {
        return invalidArgument("receipt: no committed position");
    }
    ASSIGN_OR_RETURN(const stream::StreamState state, stream::readState(inputs.state));
    const std::int64_t rows = inputs.rowsTrained >= 0 ? inputs.rowsTrained : state.rowsDelivered;
    Json json = stream::Receipt::of(plan, state, inputs.stepNames, rows).toJson();
    if (!inputs.evalOrderHash.empty()) {
        json["eval_order_hash"] = inputs.evalOrderHash;
    }
    addEvaluated(plan, inputs.evalState, json);
    if (!inputs.weightsHash.empty()) {
        json["weights_hash"] = inputs.weightsHash;
    }
    if (!inputs.dataWorkers.is_null()) {
        json["data_workers"] = inputs.dataWorkers;
    }
    for (const auto& [role, cost] : inputs.costs.items()) {
        json["cpu_seconds"][role] = jsonReal(cost, "cpu_seconds");
        json["peak_memory_bytes"][role] = jsonInt(cost, "peak_memory_bytes");
    }
    return withJsonMember(dumpJson(json), "files", files);
}

Result<values::Receipt> shownReceipt(std::string_view receipt, std::size_t mostFiles) {
    std::size_t numFiles = 0, shown = 0;
    const std::string_view files = jsonMemberText(receipt, "files").value_or("[]");
    JsonElements elements(files);
    while (elements.next()) {
        ++numFiles;
        shown = numFiles <= mostFiles ? elements.position() : shown;
    }
    const bool isWhole = numFiles <= mostFiles;
    const std::string some = isWhole ? "" : strCat(shown == 0 ? "[" : files.substr(0, shown), "]");
    ASSIGN_OR_RETURN(Json json, parseJson(isWhole ? std::string(receipt)
                                                  : withJsonMember(receipt, "files", some),
                                          "receipt"));
    if (!isWhole) {
        json["files_total"] = numFiles;
    }
    return receiptOf(json, static_cast<std::int64_t>(numFiles));
}

}  // namespace millrace::agent
