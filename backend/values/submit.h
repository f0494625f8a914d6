#pragma once
// Submission of a spec: the request, the errors found, and the runs created.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::values {

/// A longer spec is rejected, by clients before they send it and by the daemon.
inline constexpr std::int64_t kSpecBytesMax = std::int64_t{8} << 20;

/// An error in a spec or a dataset, with its position.
struct SpecError {
    std::string message, code, file, path;  ///< path: the key's, "recipe.sample.keep"
    int line = 0, column = 0;               ///< from 1; 0: no position
    bool operator==(const SpecError&) const = default;
};

struct SubmitRequest {
    std::string specText, fileName, baseDir;
    std::vector<std::string> variations;
    bool allVariations = false, withoutBase = false;
    std::vector<std::string> sets;
    std::string key, owner, project, note;
    std::map<std::string, std::string> tags, packages;
    GitInfo git;
    LaunchPlace place;
    bool operator==(const SubmitRequest&) const = default;
};

struct SubmitReply {
    std::vector<RunSummary> runs;  ///< the base first
    std::vector<SpecError> errors, warnings;
    bool wasKnown = false;
    bool operator==(const SubmitReply&) const = default;
};

}  // namespace millrace::values
