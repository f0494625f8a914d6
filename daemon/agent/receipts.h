#pragma once
// The receipt of a run: what its committed position says was read (SEMANTICS 4).
//
// Pure. Failure: kInvalidArgument when plan or state cannot be read; a run without receipt goes on.
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"

namespace millrace::agent {

struct ReceiptInputs {
    std::string plan;                    ///< canonical JSON, as stored
    std::vector<std::string> states;     ///< of the ranks at one committed cursor, rank 0 first
    std::vector<std::string> stepNames;  ///< of the recipe, in order
    std::int64_t rowsTrained = -1;       ///< -1: the rows delivered up to the cursor
    std::string evalOrderHash;           ///< "" unknown
    std::string weightsHash;             ///< of the final weights; "" unknown
};

/// Canonical JSON text.
Result<std::string> makeReceipt(const ReceiptInputs& inputs);

}  // namespace millrace::agent
