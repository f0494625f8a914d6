#pragma once
// The reader process of `millrace stream --through-ring`: reads the rings as the ranks of a run do,
// each on a thread of its own, and holds what they know against each other.
#include <string>
#include <vector>

namespace millrace::loader {

struct RingReaderOptions {
    std::vector<std::string> socketPaths;  ///< one for all ranks, or one a rank
    std::string part = "train";
    int ranks = 1;
    std::string statePath;   ///< a file with the state to go on from; "": the start
    bool reads = false;      ///< every value
    bool dropsLast = false;  ///< an epoch's last step that is not whole
};

/// Reads all rings to their end and writes one JSON object with their sums to stdout; the exit
/// code. States of two ranks that differ at the end of a step are an error, and so is an order hash
/// that is not that of the rows that came.
int runRingReader(const RingReaderOptions& options);

}  // namespace millrace::loader
