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

segment::SegmentPart SplitStream::firstRowsOf(std::int64_t segment, std::int64_t mostRows) const {
    using Part = segment::SegmentPart;
    const auto splits = input_->splitsOf(0, segment);
    const std::int64_t rows =
        splits.empty() ? 0 : input_->files()[splits[0].file].splits[splits[0].split].rows;
    return rows <= mostRows ? Part{} : Part{Part::Kind::kHead, 0, mostRows};
}

}  // namespace millrace::loader
