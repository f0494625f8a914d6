#pragma once
// `millrace-loader scores DIRECTORY`: keeps the scores of an evaluation that a script made, from
// stdin: a line of JSON (step, rows_evaluated, hash, rows, heads: names), then the rows' keys (u64)
// and of each head scores and labels (float32). `millrace-loader pair DIRECTORY...`: pairs the
// scores in the first directory with those in each other one, row by row; one JSON document.
//
// Threads: one owner. Failure: what is wrong with stdin or a file, in one sentence; of `pair` it
// stands in the document.
#include <string>
#include <vector>

namespace millrace::loader {

/// The roles. The process's exit code.
int runScores(const std::string& directory);
int runPair(const std::vector<std::string>& directories);

}  // namespace millrace::loader
