// libFuzzer target: input of the C library from a ring and from a checkpoint: the bytes of a
// segment's record and of a step's mark, and the text of a state. What is read must be bounded and
// must be written as the same text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/stream/state/record_bytes.h"
#include "backend/stream/state/step_mark.h"
#include "backend/stream/state/stream_state.h"

namespace {

namespace stream = millrace::stream;
using stream::SegmentRecord;
using stream::SegmentSums;
using stream::StreamState;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void checkSums(const SegmentSums& sums) {
    require(sums.steps.size() <= stream::kMaxRecordSteps);
    require(sums.counts.size() <= stream::kMaxRecordCounts);
    for (const auto& [name, value] : sums.counts) {
        require(!name.empty() && name.size() <= stream::kMaxCountNameBytes);
        require(value >= 0 && value <= stream::kMaxCount);
    }
}

void checkText(const StreamState& state) {
    StreamState again;
    require(again.read(state.toText()).empty());
    require(again.toText() == state.toText() && again.cursor == state.cursor);
    require(again.sums == state.sums);
}

void requireRecord(const SegmentRecord& record) {
    checkSums(record.sums);
    StreamState state;
    state.cursor = stream::Cursor::start(std::string(32, 'a'), std::string(32, 'a'));
    state.sums = record.sums;
    state.sums.add(record.sums);
    checkText(state);
    require(stream::checkRecord(record) == nullptr);
    const auto bytes = stream::recordBytes(record);
    SegmentRecord again;
    require(stream::readRecord(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                               again) == nullptr);
    require(again == record);
}

void requireMark(const stream::StepMark& mark) {
    require(mark.batches >= 0 && mark.rows >= 0 && mark.rowsDelivered <= stream::kMaxCount);
    const auto bytes = stream::markBytes(mark);
    stream::StepMark again;
    require(stream::readMark(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                             again) == nullptr);
    require(again == mark);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    stream::StepMark mark;
    if (stream::readMark(data, size, mark) == nullptr) {
        requireMark(mark);
    }
    SegmentRecord record;
    if (stream::readRecord(data, size, record) == nullptr) {
        requireRecord(record);
    }
    StreamState state;
    if (state.read({reinterpret_cast<const char*>(data), size}).empty()) {
        checkSums(state.sums);
        checkText(state);
    }
    return 0;
}
