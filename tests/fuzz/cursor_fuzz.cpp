// libFuzzer target: a cursor with its state, as a checkpoint or a rank supplies it. A cursor that
// is read must be written as the same text, and one that passes the check must be resumable.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backend/stream/read_state.h"

namespace {

using millrace::stream::Cursor;
using millrace::stream::StreamState;

constexpr std::int64_t kSegments = 7, kMicroRows = 100;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void checkCursor(const Cursor& cursor) {
    const auto again = millrace::stream::readCursor(cursor.toText());
    require(again.ok() && *again == cursor);
    if (!checkCursor(cursor, cursor.streamHash, cursor.planHash, kSegments, kMicroRows).ok()) {
        return;
    }
    require(cursor.segmentFirst() >= 0);
    std::int64_t before = -1, rows = 0;
    for (const auto& part : cursor.rest) {
        require(part.segment > before && part.segment < kSegments);
        before = part.segment;
        rows += part.rows;
    }
    require(rows < kMicroRows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto cursor = millrace::stream::readCursor(text);
    if (cursor.ok()) {
        checkCursor(*cursor);
    }
    const auto state = millrace::stream::readState(text);
    if (state.ok()) {
        checkCursor(state->cursor);
        const auto again = millrace::stream::readState(state->toText());
        require(again.ok() && again->toText() == state->toText());
        require(again->cursor == state->cursor && again->sums == state->sums);
    }
    return 0;
}
