#pragma once
// Scores of evaluations. `millrace-loader scores DIRECTORY` keeps those of an evaluation that a
// script made, from stdin: a line of JSON (step, rows_evaluated, hash, rows, heads: names), then
// the rows' keys (u64) and of each head scores and labels (float32). The question "pair" of
// `inspect` pairs those of a first run with those of each other one, row by row.
//
// Threads: one owner. Failure: what is wrong with stdin or a file, in one sentence; of pairs it
// stands in the document.
#include <string>

#include "backend/core/json.h"

namespace millrace::loader {

/// The role. The process's exit code.
int runScores(const std::string& directory);

/// `runs`: a list of {id, directory}, the newest scores of each in it. The pairs in the form of
/// PairRunsResponse.
Json pairRuns(const Json& runs);

}  // namespace millrace::loader
