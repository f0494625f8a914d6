#include "daemon/worker/loader/segments.h"

#include <algorithm>

#include "backend/text/text.h"

namespace millrace::loader {
namespace {

/// A smaller difference in the length of splits does not matter.
constexpr std::int64_t kMuchLonger = 2;

std::string reasonOf(stream::SegmentRule rule) {
    switch (rule) {
        case stream::SegmentRule::kAll:
            return "all of an epoch";
        case stream::SegmentRule::kRows:
            return strCat("as many as hold ", formatCount(dataset::kSegmentTargetRows), " rows");
        case stream::SegmentRule::kBytes:
            return strCat("as many as decode to ",
                          formatBytes(static_cast<double>(dataset::kSegmentTargetBytes)));
        case stream::SegmentRule::kGiven:
            break;
    }
    return "batch.segment_splits";
}

}  // namespace

dataset::SegmentSize segmentSizeOf(const stream::Plan& plan) {
    return {plan.segmentSplits, plan.segmentRule};
}

std::string segmentsText(const dataset::SegmentSize& size) {
    return strCat(formatCount(size.splits), size.splits == 1 ? " split" : " splits", " each, ",
                  reasonOf(size.rule));
}

std::string segmentsAdvice(const stream::Plan& plan) {
    std::int64_t longest = 0;
    for (const stream::PlanFile& file : plan.files) {
        for (const stream::PlanSplit& split : file.splits) {
            longest = std::max(longest, split.rows);
        }
    }
    const bool isWanted = plan.segmentRule == stream::SegmentRule::kGiven;
    if (isWanted || longest <= kMuchLonger * dataset::kSegmentTargetRows) {
        return "";
    }
    return strCat("row groups of up to ", formatCount(longest), " rows are segments of their own; ",
                  "of at most ", formatCount(dataset::kSegmentTargetRows),
                  " the first batch comes sooner, each thread finds work, and less memory is held "
                  "(stream SPEC --rows --all-rows --sink parquet writes such)");
}

void addSegments(const dataset::SegmentSize& size, Json& json) {
    json["segment_splits"] = size.splits;
    json["segment_rule"] = nameOf(size.rule);
}

}  // namespace millrace::loader
