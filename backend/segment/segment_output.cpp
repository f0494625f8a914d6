#include "backend/segment/segment_output.h"

namespace millrace::segment {

void SegmentOutput::prepend(const SegmentOutput& before, std::int64_t firstRow) {
    std::int64_t skipped = before.skippedRows + firstRow;
    auto first = before.chunks.begin();
    while (first != before.chunks.end() && skipped >= first->rows) {
        skipped -= first->rows;
        ++first;
    }
    chunks.insert(chunks.begin(), first, before.chunks.end());
    skippedRows = first == before.chunks.end() ? 0 : skipped;
    countRows();
}

}  // namespace millrace::segment
