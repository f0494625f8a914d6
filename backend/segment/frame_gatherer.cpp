#include "backend/segment/frame_gatherer.h"

#include <algorithm>
#include <cstring>

#include "backend/segment/gather.h"
#include "backend/stream/state/order_hash.h"

namespace millrace::segment {

namespace {

// Reading the clock for each column of every frame would cost more than counters are allowed to.
constexpr std::uint64_t kFramesPerTimed = 16;

constexpr std::size_t kRunsAhead = 6;
constexpr std::size_t kRunBytesAhead = 256;  // longer runs are prefetched by the processor itself

std::size_t aheadBytes(const FrameGatherer::Run& run, std::size_t width) {
    return std::min(static_cast<std::size_t>(run.rows) * width, kRunBytesAhead);
}

void copyBytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0) {
        std::memcpy(to, from, bytes);
    }
}

}  // namespace

// Finds runs of adjacent rows among the picks.
void FrameGatherer::findRuns(std::span<const RowPick> picks) {
    for (std::size_t k = 0; k < picks.size();) {
        std::size_t end = k + 1;
        while (end < picks.size() && picks[end].chunk == picks[k].chunk &&
               picks[end].row == picks[end - 1].row + 1) {
            ++end;
        }
        runs_.push_back({&output_->chunks[picks[k].chunk], std::int64_t{picks[k].row},
                         static_cast<std::int64_t>(end - k)});
        k = end;
    }
}

void FrameGatherer::select(const SegmentOutput& output, std::int64_t first, std::int64_t rows) {
    output_ = &output;
    runs_.clear();
    picks_ = {};
    if (!output.order.empty()) {
        const auto picks = std::span(output.order).subspan(first, rows);
        if (output.hasRecords) {
            picks_ = picks;
        } else {
            findRuns(picks);
        }
        return;
    }
    first += output.skippedRows;
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

Sum128 FrameGatherer::rowIdsHash(const SegmentOutput& output, std::int64_t first,
                                 std::int64_t rows) {
    select(output, first, rows);
    std::vector<std::uint32_t> files;
    std::vector<std::uint64_t> numbers;
    for (const RowPick& pick : picks_) {
        const Chunk& chunk = output.chunks[pick.chunk];
        files.push_back(chunk.file);
        std::memcpy(&numbers.emplace_back(),
                    chunk.records + pick.row * records_.stride() + records_.numberOffset(),
                    sizeof(std::uint64_t));
    }
    for (const Run& run : runs_) {
        const std::uint64_t* from = run.chunk->rowNumbers + run.from;
        files.insert(files.end(), static_cast<std::size_t>(run.rows), run.chunk->file);
        numbers.insert(numbers.end(), from, from + run.rows);
    }
    return stream::rowIdsHash(files, numbers);
}

// Rows of one group share a stored item, wherever in the frame they are. The group's first row
// provides it.
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

// The rows whose lists a column stores, if the rows are picked and not runs.
std::span<const RowPick> FrameGatherer::listPicks(std::size_t column) const {
    return writer_.layout().columns()[column].dedup ? std::span<const RowPick>(items_) : picks_;
}

void FrameGatherer::findSlices() {
    slices_.resize(writer_.layout().numColumns());
    for (const bool isDedup : {false, true}) {
        const std::span<const RowPick> picks = isDedup ? std::span<const RowPick>(items_) : picks_;
        sliceFields_.clear();
        slicesTo_.clear();
        for (const RecordLayout::Field& field : records_.lists()) {
            if (writer_.layout().columns()[field.column].dedup == isDedup) {
                slices_[field.column].resize(picks.size());
                sliceFields_.push_back(field);
                slicesTo_.push_back(slices_[field.column].data());
            }
        }
        if (!picks_.empty()) {
            gatherSlices(output_->chunks, picks, sliceFields_, records_.stride(), slicesTo_);
            continue;
        }
        for (std::size_t f = 0; f < sliceFields_.size(); ++f) {
            for (std::size_t k = 0; k < picks.size(); ++k) {
                const Chunk::Column& from =
                    output_->chunks[picks[k].chunk].columns[sliceFields_[f].column];
                slicesTo_[f][k] = from.slice(picks[k].row);
            }
        }
    }
}

// Number of values of a list column whose rows are in runs.
std::uint64_t FrameGatherer::runValues(std::size_t column) const {
    std::uint64_t count = 0;
    for (const Run& run : runs_) {
        const Chunk::Column& from = run.chunk->columns[column];
        if (from.items == nullptr) {
            count += static_cast<std::uint64_t>(from.offsets[run.from + run.rows] -
                                                from.offsets[run.from]);
            continue;
        }
        for (std::int64_t r = 0; r < run.rows; ++r) {
            count += static_cast<std::uint64_t>(from.slice(run.from + r).count);
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
    findSlices();
    for (const RecordLayout::Field& field : records_.lists()) {
        const std::size_t c = field.column;
        if (picks_.empty() && !columns[c].dedup) {
            counts_[c] = runValues(c);
            continue;
        }
        for (const ListSlice& slice : slices_[c]) {
            counts_[c] += static_cast<std::uint64_t>(slice.count);
        }
    }
    return writer_.declare(static_cast<std::uint32_t>(rows), counts_,
                           static_cast<std::uint32_t>(items_.size()));
}

Status FrameGatherer::write(std::span<std::byte> memory, const frame::FrameId& id) {
    RETURN_IF_ERROR(writer_.bind(memory, id));
    if (counters_ != nullptr && frames_++ % kFramesPerTimed == 0) {
        writeTimed();
        return okStatus();
    }
    writeRows();
    for (std::size_t c = 2; c < writer_.layout().numColumns(); ++c) {
        writeColumn(c);
    }
    return okStatus();
}

// Writes row ids and, for picked rows, everything that their records hold.
void FrameGatherer::writeRows() {
    std::uint32_t* file = writer_.values<std::uint32_t>(0).data();
    std::uint64_t* number = writer_.values<std::uint64_t>(1).data();
    if (picks_.empty()) {
        for (const Run& run : runs_) {
            file = std::fill_n(file, run.rows, run.chunk->file);
            number = std::copy_n(run.chunk->rowNumbers + run.from, run.rows, number);
        }
        return;
    }
    valuesTo_.clear();
    for (const RecordLayout::Field& field : records_.values()) {
        valuesTo_.push_back(writer_.bytesOf(field.column));
    }
    std::byte* const dense =
        records_.dense().bytes > 0 ? writer_.bytesOf(records_.dense().column) : nullptr;
    gatherRecords(output_->chunks, picks_, records_, {file, number, valuesTo_, dense});
}

// Keys of the frame's rows, in their order; empty if the chunks have no such keys.
void FrameGatherer::readKeys(const std::uint64_t* Chunk::* which,
                             std::vector<std::uint64_t>& keys) const {
    keys.clear();
    const auto hasKeys = [which](const Chunk& chunk) { return chunk.*which != nullptr; };
    if (output_ == nullptr || std::ranges::none_of(output_->chunks, hasKeys)) {
        return;
    }
    for (const RowPick& pick : picks_) {
        keys.push_back((output_->chunks[pick.chunk].*which)[pick.row]);
    }
    for (const Run& run : runs_) {
        const std::uint64_t* const from = run.chunk->*which + run.from;
        keys.insert(keys.end(), from, from + run.rows);
    }
}

std::vector<std::uint64_t> FrameGatherer::keys(const std::uint64_t* Chunk::* which) const {
    std::vector<std::uint64_t> keys;
    readKeys(which, keys);
    return keys;
}

BatchMix FrameGatherer::mix() {
    readKeys(&Chunk::requestKeys, requestKeys_);
    readKeys(&Chunk::userKeys, userKeys_);
    return meter_.mixOf(requestKeys_, userKeys_);
}

// Writes the part of a column that writeRows() has not written.
void FrameGatherer::writeColumn(std::size_t column) {
    const frame::ColumnSpec& spec = writer_.layout().columns()[column];
    const std::size_t width = frame::sizeOf(spec.dtype) * spec.width;
    if (spec.role == frame::Role::kInverse) {
        copyBytes(writer_.bytesOf(column), reinterpret_cast<const std::byte*>(inverse_.data()),
                  inverse_.size() * sizeof(inverse_[0]));
    } else if (spec.encoding == frame::Encoding::kLists) {
        writeList(column, width);
        if (spec.role == frame::Role::kWeighted) {
            writeWeights(column);
        }
    } else if (!picks_.empty()) {
        if (!records_.holds(column)) {
            gatherWide(output_->chunks, picks_, column, width, writer_.bytesOf(column));
        }
    } else if (spec.role == frame::Role::kDense) {
        writeDense(column);
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
    writeRows();
    const std::int64_t rowsNs = picks_.empty() ? 0 : timer.lap().busyNs;
    for (std::size_t c = 2; c < columns.size(); ++c) {
        writeColumn(c);
        times_[c - 2].second = timer.lap().busyNs;
    }
    const auto share = [&](const RecordLayout::Field& field) {
        if (field.bytes > 0) {  // records are copied as one: share by bytes
            times_[field.column - 2].second += rowsNs * static_cast<std::int64_t>(field.bytes) /
                                               static_cast<std::int64_t>(records_.stride());
        }
    };
    std::ranges::for_each(records_.values(), share);
    share(records_.dense());
    counters_->addCollated(times_);
}

void FrameGatherer::writeDense(std::size_t column) {
    float* out = writer_.values<float>(column).data();
    const std::size_t width = writer_.layout().columns()[column].width;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Run& run = runs_[i];
        if (i + 1 < runs_.size()) {
            for (const float* const values : runs_[i + 1].chunk->dense) {
                prefetchBytes(values + runs_[i + 1].from, aheadBytes(runs_[i + 1], sizeof(float)));
            }
        }
        copyDense(run.chunk->dense, run.from, run.rows, out, width);
        out += run.rows * width;
    }
}

void FrameGatherer::writeFixed(std::size_t column, std::size_t width) {
    std::byte* out = writer_.bytesOf(column);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Run& run = runs_[i];
        if (i + kRunsAhead < runs_.size()) {
            const Run& ahead = runs_[i + kRunsAhead];
            prefetchBytes(ahead.chunk->columns[column].values + ahead.from * width,
                          aheadBytes(ahead, width));
        }
        const std::size_t bytes = run.rows * width;
        copyBytes(out, run.chunk->columns[column].values + run.from * width, bytes);
        out += bytes;
    }
}

void FrameGatherer::writeList(std::size_t column, std::size_t width) {
    if (picks_.empty() && !writer_.layout().columns()[column].dedup) {
        writeRuns(column, width);
        return;
    }
    gatherLists(output_->chunks, listPicks(column), slices_[column], column, width,
                writer_.bytesOf(column), writer_.offsets(column).data());
}

void FrameGatherer::writeRuns(std::size_t column, std::size_t width) {
    std::byte* const out = writer_.bytesOf(column);
    std::int64_t* offsets = writer_.offsets(column).data();
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
        copyBytes(out + end * width, from.values + begin * width, count * width);
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
        gatherWeights(output_->chunks, picks_, slices_[column], column, out);
        return;
    }
    for (const Run& run : runs_) {
        const Chunk::Column& from = run.chunk->columns[column];
        out = std::copy(from.weights + from.offsets[run.from],
                        from.weights + from.offsets[run.from + run.rows], out);
    }
}

}  // namespace millrace::segment
