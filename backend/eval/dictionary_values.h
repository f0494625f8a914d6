#pragma once
// Expressions of one text column that came as a dictionary: evaluated once for each of its texts,
// then looked up by row. Every function depends on its arguments alone, so both are the same.
//
// A text that belongs to no row may fail; then the rows are evaluated. So are they where there are
// fewer of them than texts. Threads: pure. Failure: kResourceExhausted.
#include <functional>
#include <optional>

#include <arrow/type_fwd.h>

#include "backend/arrays/text_codes.h"
#include "backend/eval/evaluator.h"

namespace millrace::eval {

/// What evaluates an expression over an input.
using EvaluateCall = std::function<Result<ArrayPtr>(ExprInput&)>;

/// Of an expression that reads the column `text` alone, one value a row; absent: it is to be
/// evaluated over the rows.
std::optional<ArrayPtr> evaluateEntries(const std::string& text, ExprInput& input,
                                        const EvaluateCall& evaluate);

/// Of each row what was made of its entry (`made`: a value an entry, of any type).
Result<ArrayPtr> gatherEntries(const arrays::TextCodes& coded, const ArrayPtr& made,
                               arrow::MemoryPool* pool);

}  // namespace millrace::eval
