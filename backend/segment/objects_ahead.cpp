#include "backend/segment/objects_ahead.h"

#include <algorithm>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/objects/object_store.h"
#include "backend/segment/memory/memory_need.h"

namespace millrace::segment {
namespace {

std::shared_ptr<dataset::ReadAhead> readAheadOf(const StreamInput& input, BufferPool& pool) {
    if (!input.dataset()->hasObjects()) {
        return nullptr;
    }
    dataset::ReadAheadOptions options;
    options.hasIndexes = input.readsPartsOfRowGroups();
    if (pool.limitBytes() > 0) {
        options.bytesMax = std::min(options.bytesMax, pool.limitBytes() / kReadAheadShare);
    }
    return std::make_shared<dataset::ReadAhead>(input.dataset(), &pool, options);
}

}  // namespace

std::vector<dataset::SplitRange> splitRangesOf(const StreamInput& input, std::uint32_t epoch,
                                               std::int64_t segment) {
    std::vector<dataset::SplitRange> ranges;
    for (const stream::SplitRef& ref : input.splitsOf(epoch, segment)) {
        const stream::PlanSplit& split = input.files()[ref.file].splits[ref.split];
        ranges.push_back({ref.file, split.rowGroup, split.firstRow, split.rows});
    }
    return ranges;
}

std::vector<std::string> columnsAhead(const StreamInput& input) {
    return input.dataset()->hasObjects()
               ? dataset::columnsRead(input.spec(), input.dataset()->schema())
               : std::vector<std::string>();
}

ObjectsAhead::ObjectsAhead(const StreamInput& input, BufferPool& pool)
    : input_(input), columns_(columnsAhead(input)), readAhead_(readAheadOf(input, pool)) {}

std::int64_t ObjectsAhead::leftOf(std::int64_t bytes) const {
    return readAhead_ != nullptr ? bytes - bytes / kReadAheadShare : bytes;
}

void ObjectsAhead::announce(std::uint32_t epoch, std::int64_t segment) const {
    if (readAhead_ == nullptr) {
        return;
    }
    for (const dataset::SplitRange& split : splitRangesOf(input_, epoch, segment)) {
        if (objects::isObjectUri(input_.dataset()->files()[split.file].path)) {
            readAhead_->announce(split, columns_);
        }
    }
}

void ObjectsAhead::release(std::uint32_t epoch, std::int64_t segment) const {
    if (readAhead_ == nullptr) {
        return;
    }
    for (const dataset::SplitRange& split : splitRangesOf(input_, epoch, segment)) {
        readAhead_->release(split);
    }
}

}  // namespace millrace::segment
