#pragma once
// What a feed must know of a stream whose segments it does not compute: names, sizes, the layout of
// its frames. No dataset and no side table is needed for it.
//
// StreamInput makes it, so that whoever computes and whoever receives have it from one place; its
// text goes with the plan. Threads: a value. Failure: fromJson refuses what does not hold together.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/frame/frame.h"

namespace millrace::segment {

struct StreamShape {
    std::string streamHash, planHash;
    std::int64_t microRows = 1;
    std::int64_t numSegments = 0;
    frame::FrameLayout layout;
    std::vector<std::string> stepNames;                 ///< as CompiledRecipe::stepNames()
    std::vector<std::vector<std::string>> stepReasons;  ///< as CompiledRecipe::stepReasons()
    std::vector<std::string> vocabularies;              ///< as CompiledRecipe::vocabularies()
};

}  // namespace millrace::segment
