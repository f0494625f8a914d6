#pragma once
// Scores of evaluations. `millrace-loader scores DIRECTORY` stores the scores of a script's
// evaluation from stdin: a line of JSON (step, rows_evaluated, hash, rows, heads: names), then the
// rows' keys (u64) and for each head scores and labels (float32). The question "pair" of `inspect`
// pairs the scores of a first run with those of each other run, row by row.
//
// Threads: one owner. Failure: errors of stdin or a file, in one sentence; for pairs it is in the
// document.
#include <string>

#include "backend/text/json.h"

namespace millrace::loader {

/// The role. The process's exit code.
int runScores(const std::string& directory);

/// `runs`: a list of {id, directory}; uses the newest scores in each. Returns the pairs in the form
/// of PairRunsResponse.
Json pairRuns(const Json& runs);

}  // namespace millrace::loader
