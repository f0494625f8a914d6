#pragma once
// The receipt of a run: what its committed position says was read (SEMANTICS 4); and what plans and
// receipts of very many files are shown as.
//
// Pure. Failure: kInvalidArgument when plan or state cannot be read; a run without receipt goes on.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/values/receipt.h"

namespace millrace::agent {

struct ReceiptInputs {
    std::string plan;                    ///< canonical JSON, as stored
    std::string state;                   ///< at the committed cursor: any rank's; "" none
    std::vector<std::string> stepNames;  ///< of the recipe, in order
    bool hasStream = true;               ///< false: there is nothing to make a receipt of
    std::int64_t rowsTrained = -1;       ///< -1: the rows delivered up to the cursor
    /// Of a script whose rank 0 failed: the last step that it ended, its rows and the state there;
    /// "" unknown. It counts where no rank is behind that step.
    std::int64_t endedStep = 0, endedRows = 0;
    std::string endedState;
    std::int64_t endedByAll = 0;  ///< the last step that all ranks of this machine have ended
    std::string evalOrderHash;    ///< "" unknown
    std::string weightsHash;      ///< of the final weights; "" unknown
    Json dataWorkers;             ///< what they did in all attempts; null: there were none
    Json costs;  ///< of all attempts by role, `cpu_seconds`, `peak_memory_bytes`; null: unknown
};

/// Canonical JSON text.
Result<std::string> makeReceipt(const ReceiptInputs& inputs);

/// A receipt as it is shown: the first of its files. The text of one that has more says so in
/// "files_total".
Result<values::Receipt> shownReceipt(std::string_view receipt, std::size_t mostFiles);

/// Numbers "files", "splits", "rows" and "bytes" of a plan: of a run that an older version stored
/// without them.
Json planFactsOf(std::string_view plan);

}  // namespace millrace::agent
