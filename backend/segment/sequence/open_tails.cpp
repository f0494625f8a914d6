#include "backend/segment/sequence/open_tails.h"

#include <algorithm>
#include <utility>

namespace millrace::segment {
namespace {

void addKeys(const std::vector<std::uint64_t>& from, std::int64_t first, std::int64_t rows,
             std::vector<std::uint64_t>& keys) {
    if (!from.empty()) {
        keys.insert(keys.end(), from.begin() + first, from.begin() + first + rows);
    }
}

}  // namespace

Status OpenTails::keep(const SegmentFrames& frames, const FrameRows& rows, const frame::FrameId& id,
                       std::int64_t segmentRow, FrameTools& tools) {
    ASSIGN_OR_RETURN(const std::uint64_t bytes, frames.measure(rows, tools));
    ASSIGN_OR_RETURN(PooledBuffer buffer,
                     PooledBuffer::allocate(pool_, static_cast<std::int64_t>(bytes)));
    RETURN_IF_ERROR(frames.write(rows, tools, buffer.bytes(), id));
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(buffer.bytes(), frame::CheckLevel::kDirectory));
    tails_.insert_or_assign(static_cast<std::int64_t>(id.segment),
                            Tail{std::move(buffer), view, segmentRow, frames.keys(rows, tools)});
    return okStatus();
}

Result<OpenTails::Joined> OpenTails::rowsOf(const stream::JoinedBatch& joined) const {
    Joined rows;
    for (const stream::Piece& piece : joined.pieces) {
        const auto tail = tails_.find(piece.segment);
        if (tail == tails_.end()) {  // only a manually edited cursor can request it
            return failedPrecondition("the cursor's open rest asks for ", piece.rows,
                                      " rows of segment ", piece.segment, ", which keeps none");
        }
        const Tail& t = tail->second;
        const std::int64_t from = piece.from == stream::Piece::kFromEnd
                                      ? std::int64_t{t.view.rows()} - piece.rows
                                      : piece.from - t.firstRow;
        if (from < 0 || from + piece.rows > std::int64_t{t.view.rows()}) {
            return failedPrecondition("the cursor's open rest asks for ", piece.rows,
                                      " rows of segment ", piece.segment, ", which leaves ",
                                      t.view.rows());
        }
        rows.ranges.push_back({&t.view, static_cast<std::uint32_t>(from),
                               static_cast<std::uint32_t>(from + piece.rows)});
        addKeys(t.keys.requests, from, piece.rows, rows.keys.requests);
        addKeys(t.keys.users, from, piece.rows, rows.keys.users);
    }
    return rows;
}

void OpenTails::keepOnly(const std::vector<stream::RestPart>& parts) {
    std::erase_if(tails_, [&parts](const auto& tail) {
        return std::ranges::none_of(
            parts, [&tail](const stream::RestPart& part) { return part.segment == tail.first; });
    });
}

}  // namespace millrace::segment
