#pragma once
// Everything that a feed must know of a stream whose segments it does not compute: names, sizes,
// the layout of its frames. It needs no dataset and no side table for that.
//
// StreamInput makes it, so that computing and receiving processes get it from one source.
// Threads: a value.
#include <cstdint>
#include <string>
#include <vector>

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
    std::vector<std::string> heads;                     ///< as CompiledRecipe::heads()
};

}  // namespace millrace::segment
