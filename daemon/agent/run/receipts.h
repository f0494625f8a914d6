#pragma once
// Makes the receipt of a run: what was read up to its committed position. Also makes
// the short forms of large plans and receipts for display. Used by DoneWords and RunService.
//
// Pure. Failure: kInvalidArgument when plan or state cannot be read; the run continues without a
// receipt.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/text/json.h"
#include "backend/values/receipt.h"

namespace millrace::agent {

struct ReceiptInputs {
    std::string plan;                    ///< canonical JSON, as stored
    std::string state;                   ///< any rank's, at the committed cursor; "": none
    std::vector<std::string> stepNames;  ///< of the recipe, in order
    bool hasStream = true;               ///< false: no receipt is made
    std::int64_t rowsTrained = -1;       ///< -1: the rows delivered up to the cursor
    /// For a script with a failed rank 0: the last step that it ended, its rows and its state
    /// there; "" unknown. It counts if no rank is behind that step.
    std::int64_t endedStep = 0, endedRows = 0;
    std::string endedState;
    std::int64_t endedByAll = 0;  ///< the last step that all ranks of this machine have ended
    std::string evalOrderHash;    ///< "": unknown
    std::string evalState;        ///< of the evaluation's stream, at its end; "": unknown
    std::string weightsHash;      ///< of the final weights; "": unknown
    Json dataWorkers;             ///< what they did in all attempts; null: there were none
    Json costs;  ///< of all attempts by role, `cpu_seconds`, `peak_memory_bytes`; null: unknown
};

/// Returns canonical JSON text.
Result<std::string> makeReceipt(const ReceiptInputs& inputs);

/// Returns a receipt for display, with its first files only. If there are more, the text has their
/// number in "files_total".
Result<values::Receipt> shownReceipt(std::string_view receipt, std::size_t mostFiles);

}  // namespace millrace::agent
