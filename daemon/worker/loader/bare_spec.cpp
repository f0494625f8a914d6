#include "daemon/worker/loader/bare_spec.h"

#include <utility>

namespace millrace::loader {

spec::RunSpec bareSpec(spec::RunSpec spec, spec::FeaturesSpec features) {
    spec.features = std::move(features);
    spec.batch.shuffle = "none";
    spec.model = {};
    spec.model.body = spec::MlpModel();
    spec.source = nullptr;
    return spec;
}

Result<std::unique_ptr<SplitStream>> SplitStream::open(spec::RunSpec spec, stream::Plan plan,
                                                       const Options& options) {
    std::unique_ptr<SplitStream> stream(new SplitStream(options.mostBytes));
    const std::int64_t poolBytes = spec.resources.memoryLimitMb * 1'000'000;
    plan.segmentSplits = options.segmentSplits;
    ASSIGN_OR_RETURN(stream->input_, segment::StreamInput::open(std::move(spec), std::move(plan),
                                                                options.part, stream->budget_));
    stream->pool_ = std::make_unique<segment::BufferPool>(poolBytes);
    stream->runner_ =
        std::make_unique<segment::SegmentRunner>(stream->input_, *stream->pool_, stream->counters_);
    return stream;
}

}  // namespace millrace::loader
