#include <algorithm>
#include <cstring>

#include "backend/frame/frame.h"

namespace millrace::frame {
namespace {

struct Items {
    std::uint32_t from = 0, to = 0;
};

bool fits(const ColumnSpec& spec, const ColumnEntry& e) {
    return spec.role == e.role && spec.dtype == e.dtype && spec.encoding == e.encoding &&
           spec.width == e.width && spec.dedup == ((e.flags & kDedup) != 0);
}

/// The stored items used by rows [from, to): a range, as requests are runs of adjacent rows.
Result<Items> requestsOf(const RowRange& range) {
    const FrameView& frame = *range.frame;
    if (frame.inverseColumn() < 0 || range.from == range.to) {
        return Items{};
    }
    const auto inverse =
        frame.values<std::uint32_t>(static_cast<std::size_t>(frame.inverseColumn()))
            .subspan(range.from, range.to - range.from);
    const auto [low, high] = std::minmax_element(inverse.begin(), inverse.end());
    if (*high >= frame.header().requests) {
        return dataLoss("frame: the inverse index points beyond the requests");
    }
    return Items{*low, *high + 1};
}

/// Number of values of list column `c` in items [from, to); offsets may be unchecked.
Result<std::uint64_t> valuesIn(const FrameView& frame, std::size_t c, const Items& items) {
    const std::span<const std::int64_t> offsets = frame.offsets(c);
    const std::int64_t from = offsets[items.from], to = offsets[items.to];
    if (from < 0 || to < from || static_cast<std::uint64_t>(to) > frame.entry(c).values) {
        return dataLoss("frame: column '", frame.name(c), "': offsets are outside its values");
    }
    return static_cast<std::uint64_t>(to - from);
}

bool hasColumns(const FrameView& frame, const FrameLayout& layout) {
    bool same = frame.numColumns() == layout.numColumns();
    for (std::size_t c = 0; same && c < layout.numColumns(); ++c) {
        same =
            fits(layout.columns()[c], frame.entry(c)) && layout.columns()[c].name == frame.name(c);
    }
    return same;
}

Status checkRange(const FrameLayout& layout, const RowRange& range) {
    const FrameView& frame = *range.frame;
    if (range.from > range.to || range.to > frame.rows()) {
        return invalidArgument("frame: rows ", range.from, " to ", range.to, " of a frame of ",
                               frame.rows());
    }
    return hasColumns(frame, layout) ? okStatus()
                                     : invalidArgument("frame: a frame of another layout");
}

}  // namespace

Result<FrameLayout> FrameLayout::of(const FrameView& frame) {
    std::vector<ColumnSpec> columns;
    for (std::size_t c = 2; c < frame.numColumns(); ++c) {
        const ColumnEntry& entry = frame.entry(c);
        columns.push_back({entry.role, entry.dtype, std::string(frame.name(c)), entry.width,
                           entry.encoding, entry.group, (entry.flags & kDedup) != 0});
    }
    ASSIGN_OR_RETURN(FrameLayout layout, make(std::move(columns), ""));
    std::memcpy(layout.streamHash_, frame.header().streamHash, sizeof layout.streamHash_);
    return layout.isOf(frame) ? Result<FrameLayout>(std::move(layout))
                              : Result<FrameLayout>(dataLoss("frame: columns that no layout has"));
}

bool FrameLayout::isOf(const FrameView& frame) const {
    return hasColumns(frame, *this) &&
           std::memcmp(frame.header().streamHash, streamHash_, sizeof streamHash_) == 0;
}

Result<FrameConcat> FrameConcat::make(const FrameLayout& layout, std::span<const RowRange> ranges) {
    FrameConcat concat(layout);
    std::vector<std::uint64_t> values(layout.numColumns());
    std::uint64_t rows = 0, requests = 0;
    for (const RowRange& range : ranges) {
        RETURN_IF_ERROR(checkRange(layout, range));
        ASSIGN_OR_RETURN(const Items stored, requestsOf(range));
        for (std::size_t c = 0; c < layout.numColumns(); ++c) {
            if (layout.columns()[c].encoding == Encoding::kLists) {
                const Items items =
                    layout.columns()[c].dedup ? stored : Items{range.from, range.to};
                ASSIGN_OR_RETURN(const std::uint64_t more, valuesIn(*range.frame, c, items));
                values[c] += more;
            }
        }
        rows += range.to - range.from;
        requests += stored.to - stored.from;
        concat.ranges_.push_back(range);
        concat.requests_.emplace_back(stored.from, stored.to);
    }
    if (rows > kMaxRows || requests > kMaxRows) {
        return invalidArgument("frame: ", rows, " rows are too many for one frame");
    }
    ASSIGN_OR_RETURN([[maybe_unused]] const std::uint64_t bytes,
                     concat.writer_.declare(static_cast<std::uint32_t>(rows), values,
                                            static_cast<std::uint32_t>(requests)));
    return concat;
}

namespace {

/// Position of the next range in one column.
struct WriteAt {
    std::uint64_t item = 0, value = 0;
};

void copyFixed(const FrameWriter& writer, const FrameView& from, std::size_t c, const Items& items,
               WriteAt& at) {
    const ColumnEntry& e = from.entry(c);
    const std::size_t itemBytes = sizeOf(e.dtype) * e.width;
    std::byte* out = writer.bytesOf(c) + at.item * itemBytes;
    std::memcpy(out, from.bytes().data() + e.data.offset + items.from * itemBytes,
                (items.to - items.from) * itemBytes);
    at.item += items.to - items.from;
}

void copyLists(const FrameWriter& writer, const FrameView& from, std::size_t c, const Items& items,
               WriteAt& at) {
    const ColumnEntry& e = from.entry(c);
    const std::span<const std::int64_t> in = from.offsets(c);
    const std::span<std::int64_t> out = writer.offsets(c);
    const std::int64_t first = in[items.from];
    const auto count = static_cast<std::uint64_t>(in[items.to] - first);
    const std::int64_t shift = static_cast<std::int64_t>(at.value) - first;
    for (std::uint32_t i = items.from; i < items.to; ++i) {
        out[at.item++] = in[i] + shift;
    }
    const std::size_t size = sizeOf(e.dtype);
    std::memcpy(writer.bytesOf(c) + at.value * size,
                from.bytes().data() + e.data.offset + static_cast<std::uint64_t>(first) * size,
                count * size);
    if (e.role == Role::kWeighted) {
        std::memcpy(writer.weights(c).data() + at.value, from.weights(c).data() + first,
                    count * sizeof(float));
    }
    at.value += count;
}

void copyInverse(const FrameWriter& writer, const RowRange& range, std::size_t c,
                 const Items& stored, WriteAt& at, std::uint64_t& requests) {
    const std::span<const std::uint32_t> in = range.frame->values<std::uint32_t>(c);
    const std::span<std::uint32_t> out = writer.values<std::uint32_t>(c);
    for (std::uint32_t row = range.from; row < range.to; ++row) {
        out[at.item++] = static_cast<std::uint32_t>(in[row] - stored.from + requests);
    }
    requests += stored.to - stored.from;
}

}  // namespace

Status FrameConcat::write(std::span<std::byte> memory, const FrameId& id) {
    RETURN_IF_ERROR(writer_.bind(memory, id));
    const std::vector<ColumnSpec>& columns = writer_.layout().columns();
    for (std::size_t c = 0; c < columns.size(); ++c) {
        WriteAt at;
        std::uint64_t requests = 0;
        for (std::size_t r = 0; r < ranges_.size(); ++r) {
            const RowRange& range = ranges_[r];
            const Items stored{requests_[r].first, requests_[r].second};
            const Items items = columns[c].dedup ? stored : Items{range.from, range.to};
            if (items.from == items.to) {
                continue;
            }
            if (columns[c].role == Role::kInverse) {
                copyInverse(writer_, range, c, stored, at, requests);
            } else if (columns[c].encoding == Encoding::kLists) {
                copyLists(writer_, *range.frame, c, items, at);
            } else {
                copyFixed(writer_, *range.frame, c, items, at);
            }
        }
        if (columns[c].encoding == Encoding::kLists) {
            writer_.offsets(c)[at.item] = static_cast<std::int64_t>(at.value);
        }
    }
    return okStatus();
}

}  // namespace millrace::frame
