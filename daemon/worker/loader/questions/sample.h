#pragma once
// Op `steps` of `millrace-loader inspect`: some rows of a split before the recipe and after each of
// its steps, as training would see them in epoch 0.
//
// Threads: one owner. Failure: errors as values with their places in the text; stages before a
// failing step are returned with them.
#include <cstdint>
#include <string>

#include "backend/text/json.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

struct SampleRequest {
    ResolveRequest spec;        ///< text, fileName, baseDir, sets
    std::string variation;      ///< "": the base
    std::int64_t rows = 50;     ///< most rows that dataset.where keeps; fewer if they are too large
    std::int64_t split = 0;     ///< of the plan, in its order
    std::int64_t firstRow = 0;  ///< within the split
};

struct SampleReply {
    spec::SpecErrors errors;
    Json stages = Json::array();  ///< as SampleStage of proto/millrace/v1/inspect.proto
    std::int64_t splits = 0, splitRows = 0;
};

/// Most bytes of all stages' values; larger samples get fewer rows.
inline constexpr std::size_t kSampleBytesMax = std::size_t{8} << 20;

SampleReply sampleSteps(const SampleRequest& request);

}  // namespace millrace::loader
