#pragma once
// Tables of several runs side by side: results at the end of following, and `compare`.
#include <set>
#include <string>
#include <vector>

#include "app/cli/frame/context.h"

namespace millrace::cli {

/// One row per run: state, test metrics, rows read/kept/trained, samples/s; below it, whether all
/// were evaluated on the same rows.
std::string resultTable(const std::vector<values::RunSummary>& runs, const Terminal& terminal,
                        const std::vector<std::string>& metrics = {});

/// The sentence below a table; "" if fewer than two runs were evaluated.
std::string sameRowsSentence(const std::vector<values::RunSummary>& runs, const Terminal& terminal);

/// Explains which rows the counts of runs that ended inside a segment include; "" if no run did.
std::string countedRowsText(const std::vector<values::RunDetail>& runs, const Terminal& terminal);

enum class SameRows { kUnknown, kSame, kDifferent, kNotComparable };
/// Whether all runs with an evaluation hash have the same; kUnknown if fewer than two have one,
/// kNotComparable if the hashes are of several versions.
SameRows evaluatedOnSameRows(const std::vector<values::RunSummary>& runs);

}  // namespace millrace::cli
