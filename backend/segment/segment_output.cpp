#include "backend/segment/segment_output.h"

#include <algorithm>
#include <cstring>

#include "backend/segment/gather.h"

namespace millrace::segment {

namespace {

std::byte* placeOf(const frame::FrameWriter& writer, std::size_t column) {
    switch (frame::sizeOf(writer.layout().columns()[column].dtype)) {
        case 1:
            return reinterpret_cast<std::byte*>(writer.values<std::uint8_t>(column).data());
        case 2:
            return reinterpret_cast<std::byte*>(writer.values<std::uint16_t>(column).data());
        case 4:
            return reinterpret_cast<std::byte*>(writer.values<std::uint32_t>(column).data());
        default:
            return reinterpret_cast<std::byte*>(writer.values<std::uint64_t>(column).data());
    }
}

// Reading the clock for each column of each frame would cost more than the counters may.
constexpr std::uint64_t kFramesPerTimed = 16;

void copyBytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0) {
        std::memcpy(to, from, bytes);
    }
}

}  // namespace

void SegmentOutput::countRows() {
    rowsKept_ = 0;
    for (const Chunk& chunk : chunks) {
        rowsKept_ += chunk.rows;
    }
}

void FrameGatherer::select(const SegmentOutput& output, std::int64_t first, std::int64_t rows) {
    output_ = &output;
    runs_.clear();
    picks_ = {};
    if (!output.order.empty()) {
        picks_ = std::span(output.order)
                     .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
        return;
    }
    for (const Chunk& chunk : output.chunks) {
        if (rows > 0 && first < chunk.rows) {
            const std::int64_t count = std::min(rows, chunk.rows - first);
            runs_.push_back({&chunk, first, count});
            rows -= count;
            first = 0;
        } else {
            first -= chunk.rows;
        }
    }
}

// Rows of one group share a stored item, wherever they stand in the frame: the first of them stands
// for all.
void FrameGatherer::findItems() {
    items_.clear();
    inverse_.clear();
    ++frame_;
    met_.resize(std::max(met_.size(), output_->chunks.size()));
    const auto add = [&](std::uint32_t chunk, std::uint32_t row) {
        const std::uint32_t group = output_->chunks[chunk].groups[row];
        auto& met = met_[chunk];
        if (met.size() <= group) {
            met.resize(std::max<std::size_t>(2 * met.size(), group + 1));
        }
        auto& [frame, item] = met[group];
        if (frame != frame_) {
            frame = frame_;
            item = static_cast<std::uint32_t>(items_.size());
            items_.push_back({chunk, row});
        }
        inverse_.push_back(item);
    };
    for (const RowPick& pick : picks_) {
        add(pick.chunk, pick.row);
    }
    for (const Run& run : runs_) {
        const auto chunk = static_cast<std::uint32_t>(run.chunk - output_->chunks.data());
        for (std::int64_t r = 0; r < run.rows; ++r) {
            add(chunk, static_cast<std::uint32_t>(run.from + r));
        }
    }
}

std::uint64_t FrameGatherer::listValues(std::size_t column) const {
    std::uint64_t count = 0;
    const auto add = [&count](const Chunk::Column& from, std::int64_t row) {
        const std::int64_t item = from.item(row);
        count += static_cast<std::uint64_t>(from.offsets[item + 1] - from.offsets[item]);
    };
    if (writer_.layout().columns()[column].dedup) {
        for (const RowPick& pick : items_) {
            add(output_->chunks[pick.chunk].columns[column], pick.row);
        }
        return count;
    }
    for (const RowPick& pick : picks_) {
        add(output_->chunks[pick.chunk].columns[column], pick.row);
    }
    for (const Run& run : runs_) {
        const Chunk::Column& from = run.chunk->columns[column];
        if (from.items == nullptr) {
            count += static_cast<std::uint64_t>(from.offsets[run.from + run.rows] -
                                                from.offsets[run.from]);
            continue;
        }
        for (std::int64_t r = 0; r < run.rows; ++r) {
            add(from, run.from + r);
        }
    }
    return count;
}

Result<std::uint64_t> FrameGatherer::measure(const SegmentOutput& output, std::int64_t first,
                                             std::int64_t rows) {
    select(output, first, rows);
    const auto& columns = writer_.layout().columns();
    counts_.assign(columns.size(), 0);
    if (writer_.layout().inverseColumn() >= 0) {
        findItems();
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (columns[c].encoding == frame::Encoding::kLists) {
            counts_[c] = listValues(c);
        }
    }
    return writer_.declare(static_cast<std::uint32_t>(rows), counts_,
                           static_cast<std::uint32_t>(items_.size()));
}

Status FrameGatherer::write(std::span<std::byte> memory, const frame::FrameId& id) {
    RETURN_IF_ERROR(writer_.bind(memory, id));
    writeRowIds();
    if (counters_ != nullptr && frames_++ % kFramesPerTimed == 0) {
        writeTimed();
        return okStatus();
    }
    for (std::size_t c = 2; c < writer_.layout().numColumns(); ++c) {
        writeColumn(c);
    }
    return okStatus();
}

void FrameGatherer::writeColumn(std::size_t column) {
    const frame::ColumnSpec& spec = writer_.layout().columns()[column];
    const std::size_t width = frame::sizeOf(spec.dtype) * spec.width;
    if (spec.role == frame::Role::kDense) {
        writeDense(column);
    } else if (spec.role == frame::Role::kInverse) {
        copyBytes(placeOf(writer_, column), reinterpret_cast<const std::byte*>(inverse_.data()),
                  inverse_.size() * sizeof(inverse_[0]));
    } else if (spec.encoding == frame::Encoding::kLists) {
        writeList(column, width);
        if (spec.role == frame::Role::kWeighted) {
            writeWeights(column);
        }
    } else {
        writeFixed(column, width);
    }
}

void FrameGatherer::writeTimed() {
    const auto& columns = writer_.layout().columns();
    for (std::size_t c = 2 + times_.size(); c < columns.size(); ++c) {
        times_.emplace_back(columns[c].role == frame::Role::kDense ? kDenseBlock : columns[c].name,
                            0);
    }
    StageTimer timer(*counters_);
    for (std::size_t c = 2; c < columns.size(); ++c) {
        writeColumn(c);
        times_[c - 2].second = timer.lap().busyNs;
    }
    counters_->addCollated(times_);
}

void FrameGatherer::writeRowIds() {
    std::uint32_t* file = writer_.values<std::uint32_t>(0).data();
    std::uint64_t* number = writer_.values<std::uint64_t>(1).data();
    for (const RowPick& pick : picks_) {
        const Chunk& chunk = output_->chunks[pick.chunk];
        *file++ = chunk.file;
        *number++ = chunk.rowNumbers[pick.row];
    }
    for (const Run& run : runs_) {
        file = std::fill_n(file, run.rows, run.chunk->file);
        number = std::copy_n(run.chunk->rowNumbers + run.from, run.rows, number);
    }
}

void FrameGatherer::writeDense(std::size_t column) {
    float* out = writer_.values<float>(column).data();
    const std::size_t width = writer_.layout().columns()[column].width;
    if (!picks_.empty()) {
        gatherDense(output_->chunks, picks_, width, out);
        return;
    }
    for (const Run& run : runs_) {
        copyDense(run.chunk->dense, run.from, run.rows, out);
        out += static_cast<std::size_t>(run.rows) * width;
    }
}

void FrameGatherer::writeFixed(std::size_t column, std::size_t width) {
    std::byte* out = placeOf(writer_, column);
    if (!picks_.empty()) {
        gatherFixed(output_->chunks, picks_, column, width, out);
        return;
    }
    for (const Run& run : runs_) {
        const std::size_t bytes = static_cast<std::size_t>(run.rows) * width;
        copyBytes(out,
                  run.chunk->columns[column].values + static_cast<std::size_t>(run.from) * width,
                  bytes);
        out += bytes;
    }
}

void FrameGatherer::writeList(std::size_t column, std::size_t width) {
    std::byte* out = placeOf(writer_, column);
    std::int64_t* offsets = writer_.offsets(column).data();
    const bool isDedup = writer_.layout().columns()[column].dedup;
    if (isDedup || !picks_.empty()) {
        gatherLists(output_->chunks, isDedup ? std::span<const RowPick>(items_) : picks_, column,
                    width, out, offsets);
        return;
    }
    std::int64_t end = 0;
    for (const Run& run : runs_) {
        const Chunk::Column& from = run.chunk->columns[column];
        if (from.items != nullptr) {
            end = expandLists(from, run.from, run.rows, width, out, offsets, end);
            offsets += run.rows;
            continue;
        }
        const std::int64_t begin = from.offsets[run.from];
        const std::int64_t count = from.offsets[run.from + run.rows] - begin;
        copyBytes(out + static_cast<std::size_t>(end) * width,
                  from.values + static_cast<std::size_t>(begin) * width,
                  static_cast<std::size_t>(count) * width);
        const std::int64_t shift = end - begin;
        for (std::int64_t r = 1; r <= run.rows; ++r) {
            offsets[r] = from.offsets[run.from + r] + shift;
        }
        offsets += run.rows;
        end += count;
    }
}

void FrameGatherer::writeWeights(std::size_t column) {
    float* out = writer_.weights(column).data();
    if (!picks_.empty()) {
        gatherWeights(output_->chunks, picks_, column, out);
        return;
    }
    for (const Run& run : runs_) {
        const Chunk::Column& from = run.chunk->columns[column];
        out = std::copy(from.weights + from.offsets[run.from],
                        from.weights + from.offsets[run.from + run.rows], out);
    }
}

}  // namespace millrace::segment
