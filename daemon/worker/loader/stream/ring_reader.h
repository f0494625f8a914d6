#pragma once
// The reader process of `millrace stream --through-ring`: reads the rings like the ranks of a run,
// each on a thread of its own, and compares their states.
#include <string>
#include <vector>

namespace millrace::loader {

struct RingReaderOptions {
    std::vector<std::string> socketPaths;  ///< one for all ranks, or one per rank
    std::string part = "train";
    int ranks = 1;
    std::string statePath;   ///< a file with the state to resume from; "": the start
    bool reads = false;      ///< every value
    bool dropsLast = false;  ///< drops an epoch's last step if it is not whole
};

/// Reads all rings to their end and writes one JSON object with their sums to stdout; returns the
/// exit code. It is an error if the states of two ranks differ at the end of a step, or if an order
/// hash does not match the rows that arrived.
int runRingReader(const RingReaderOptions& options);

}  // namespace millrace::loader
