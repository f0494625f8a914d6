#pragma once
// `millrace-loader stream SPEC`: the loader alone, with a sink in the ring's place, and what it
// did.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::loader {

struct StreamOptions {
    std::string specPath;
    std::string variation;
    std::vector<std::string> sets;
    std::string from;            ///< a cursor or a stream state: text, or a file that holds it
    std::string sink = "hash";   ///< or "null"
    std::string part = "train";  ///< or "eval"
    std::int64_t epochs = 0;     ///< 0: the spec's
    std::int64_t threads = 0;    ///< 0: the spec's, else one for each core
    bool isThroughRing = false;
    bool isJson = false;
};

/// The role. The process's exit code: 0, 3 stopped by a signal, 4 input or data, 5 other.
int runStream(const StreamOptions& options);

/// The reader process of --through-ring: reads the ring at `socketPath` to its end and writes one
/// JSON object with its sums to stdout.
int runRingReader(const std::string& socketPath, const std::string& part, bool reads);

}  // namespace millrace::loader
