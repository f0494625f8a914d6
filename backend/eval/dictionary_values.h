#pragma once
// Expressions of one dictionary-coded text column: evaluated once per distinct text, then looked up
// by row. Every function depends on its arguments alone, so the result is the same.
//
// A text that no row uses may fail; the rows are evaluated then. They also are if there are fewer
// rows than texts. Threads: pure. Failure: kResourceExhausted.
#include <functional>
#include <optional>

#include <arrow/type_fwd.h>

#include "backend/arrays/text_codes.h"
#include "backend/eval/evaluator.h"

namespace millrace::eval {

/// Evaluates an expression over an input.
using EvaluateCall = std::function<Result<ArrayPtr>(ExprInput&)>;

/// Evaluates an expression that reads only the column `text`, one value per row. Absent if it has
/// to be evaluated over the rows.
std::optional<ArrayPtr> evaluateEntries(const std::string& text, ExprInput& input,
                                        const EvaluateCall& evaluate);

/// For each row, the value made from its entry (`made`: one value per entry, of any type).
Result<ArrayPtr> gatherEntries(const arrays::TextCodes& coded, const ArrayPtr& made,
                               arrow::MemoryPool* pool);

}  // namespace millrace::eval
