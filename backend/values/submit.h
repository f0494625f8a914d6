#pragma once
// A spec on its way to becoming runs: what is submitted, what is wrong with it, what came of it.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::values {

/// A longer spec is refused, by clients before they send it and by the daemon.
inline constexpr std::int64_t kSpecBytesMax = std::int64_t{8} << 20;

/// A mistake in a spec or a dataset, with its place.
struct SpecError {
    std::string message, code, file, path;  ///< path: of the key, "recipe.sample.keep"
    int line = 0, column = 0;               ///< from 1; 0: no place
    bool operator==(const SpecError&) const = default;
};

struct SubmitRequest {
    std::string specText, fileName, baseDir;
    std::vector<std::string> variations;
    bool allVariations = false, withoutBase = false;
    std::vector<std::string> sets;
    std::string key, owner, project, note;
    std::map<std::string, std::string> tags, packages;
    GitFacts git;
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
