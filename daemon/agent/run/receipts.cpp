#include "daemon/agent/run/receipts.h"

#include <optional>

#include "backend/core/json_slices.h"
#include "backend/stream/read_state.h"
#include "backend/stream/receipt.h"

namespace millrace::agent {
namespace {

// The receipt's list of files: the plan's, without their splits. Written at once, file by file: as
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

// The plan, but for the lists of its files.
Result<stream::Plan> headOf(std::string_view plan) {
    const std::string head =
        withJsonMember(withJsonMember(plan, "files", "[]"), "eval_files", "[]");
    ASSIGN_OR_RETURN(const Json json, parseJson(head, "stored plan"));
    return stream::Plan::fromJson(json);
}

}  // namespace

Result<std::string> makeReceipt(const ReceiptInputs& inputs) {
    ASSIGN_OR_RETURN(const stream::Plan plan, headOf(inputs.plan));
    ASSIGN_OR_RETURN(const std::string files, filesOf(inputs.plan));
    std::vector<stream::StreamState> states;
    for (const std::string& text : inputs.states) {
        ASSIGN_OR_RETURN(stream::StreamState state, stream::readState(text));
        states.push_back(std::move(state));
    }
    if (states.empty()) {
        return invalidArgument("receipt: no committed position");
    }
    ASSIGN_OR_RETURN(const stream::StreamState merged, stream::mergeStates(states));
    const std::int64_t rows = inputs.rowsTrained >= 0 ? inputs.rowsTrained : merged.rowsDelivered;
    Json json = stream::Receipt::of(plan, merged, inputs.stepNames, rows).toJson();
    if (!inputs.evalOrderHash.empty()) {
        json["eval_order_hash"] = inputs.evalOrderHash;
    }
    if (!inputs.weightsHash.empty()) {
        json["weights_hash"] = inputs.weightsHash;
    }
    return withJsonMember(dumpJson(json), "files", files);
}

Json planFactsOf(std::string_view plan) {
    std::int64_t numFiles = 0, splits = 0, rows = 0, bytes = 0;
    JsonElements files(jsonMemberText(plan, "files").value_or(""));
    while (const std::optional<std::string_view> file = files.next()) {
        const Result<Json> one = parseJson(*file, "stored plan");
        if (one.ok()) {
            ++numFiles;
            splits += static_cast<std::int64_t>(jsonMember(*one, "splits").size());
            rows += jsonInt(*one, "rows");
            bytes += jsonInt(*one, "bytes");
        }
    }
    return {{"files", numFiles}, {"splits", splits}, {"rows", rows}, {"bytes", bytes}};
}

Result<ReceiptHead> headOfReceipt(std::string_view receipt, std::size_t mostFiles) {
    ReceiptHead head;
    const std::string_view files = jsonMemberText(receipt, "files").value_or("[]");
    JsonElements elements(files);
    std::size_t shown = 0;
    while (elements.next()) {
        ++head.numFiles;
        shown = head.numFiles <= mostFiles ? elements.position() : shown;
    }
    const bool isWhole = head.numFiles <= mostFiles;
    const std::string some = isWhole ? "" : strCat(shown == 0 ? "[" : files.substr(0, shown), "]");
    ASSIGN_OR_RETURN(head.json,
                     parseJson(isWhole ? std::string(receipt)
                                       : withJsonMember(receipt, "files", some), "receipt"));
    if (!isWhole) {
        head.json["files_total"] = head.numFiles;
    }
    return head;
}

}  // namespace millrace::agent
