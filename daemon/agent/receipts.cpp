#include "daemon/agent/receipts.h"

#include "backend/stream/receipt.h"

namespace millrace::agent {

Result<std::string> makeReceipt(const ReceiptInputs& inputs) {
    ASSIGN_OR_RETURN(const Json planJson, parseJson(inputs.plan, "stored plan"));
    ASSIGN_OR_RETURN(const stream::Plan plan, stream::Plan::fromJson(planJson));
    std::vector<stream::StreamState> states;
    for (const std::string& text : inputs.states) {
        ASSIGN_OR_RETURN(stream::StreamState state, stream::StreamState::fromText(text));
        states.push_back(std::move(state));
    }
    if (states.empty()) {
        return invalidArgument("receipt: no committed position");
    }
    ASSIGN_OR_RETURN(const stream::StreamState merged, stream::StreamState::merge(states));
    const std::int64_t rows = inputs.rowsTrained >= 0 ? inputs.rowsTrained : merged.rowsDelivered;
    Json json = stream::Receipt::of(plan, merged, inputs.stepNames, rows).toJson();
    if (!inputs.evalOrderHash.empty()) {
        json["eval_order_hash"] = inputs.evalOrderHash;
    }
    if (!inputs.weightsHash.empty()) {
        json["weights_hash"] = inputs.weightsHash;
    }
    return dumpJson(json);
}

}  // namespace millrace::agent
