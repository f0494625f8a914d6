#include "backend/stream/state/segment_record.h"

#include <algorithm>

namespace millrace::stream {
namespace {

// A ring's bytes come from another process: sums of their values must not overflow.
void addTo(std::int64_t& sum, std::int64_t value) {
    sum = std::min(sum + value, kMaxCount);
}

}  // namespace

void SegmentSums::add(const SegmentSums& other) {
    addTo(segments, other.segments);
    addTo(rowsScanned, other.rowsScanned);
    addTo(rowsPruned, other.rowsPruned);
    addTo(rowsKept, other.rowsKept);
    steps.resize(std::max(steps.size(), other.steps.size()));
    for (std::size_t i = 0; i < other.steps.size(); ++i) {
        addTo(steps[i].in, other.steps[i].in);
        addTo(steps[i].out, other.steps[i].out);
    }
    for (const auto& [name, value] : other.counts) {
        addCount(name, value);
    }
}

void SegmentSums::addCount(const std::string& name, std::int64_t value) {
    addTo(counts[name], value);
}

}  // namespace millrace::stream
