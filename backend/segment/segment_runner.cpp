#include "backend/segment/segment_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <arrow/api.h>

#include "backend/segment/objects_ahead.h"
#include "backend/segment/requests.h"
#include "backend/text/text.h"

namespace millrace::segment {
namespace {

constexpr std::int64_t kSegmentsAhead = 8;  // the read-ahead itself bounds the bytes
// If runs have at least this many rows on average they are copied by column, otherwise by record.
constexpr std::int64_t kRowsARun = 8;
// A split of more pieces than this always runs in pieces: its columns fit no cache.
constexpr std::int64_t kPiecesOfLarge = 16;

// Approximate values per row of one of `columns` columns: more than one for lists or long texts.
std::int64_t valuesARow(const stream::PlanSplit& split, std::size_t columns) {
    constexpr std::int64_t kBytes = 8;
    const std::int64_t all =
        kBytes * split.rows * static_cast<std::int64_t>(std::max<std::size_t>(columns, 1));
    return std::max<std::int64_t>(split.decodedBytes / std::max<std::int64_t>(all, 1), 1);
}

}  // namespace

SegmentRunner::SegmentRunner(std::shared_ptr<const StreamInput> input, BufferPool& pool,
                             StageCounters& counters, std::shared_ptr<dataset::ReadAhead> readAhead,
                             std::uint32_t epochs, WorkStealing* jobs)
    : input_(std::move(input)),
      pool_(pool),
      counters_(counters),
      records_(input_->layout()),
      readAhead_(std::move(readAhead)),
      reader_(input_->dataset(), &pool, readAhead_),
      jobs_(jobs),
      sharing_{jobs, std::nullopt, pool, counters},
      epochs_(epochs),
      columnsAhead_(columnsAhead(*input_)) {}

// Announces this segment's splits and those of the segments that follow, whichever threads compute
// them.
void SegmentRunner::announce(std::uint32_t epoch, std::int64_t segment) {
    std::vector<dataset::SplitRange> splits;
    for (std::int64_t ahead = 0; ahead < kSegmentsAhead; ++ahead, ++segment) {
        if (segment == input_->numSegments()) {
            segment = 0;
            ++epoch;
        }
        if (epoch >= epochs_ && ahead > 0) {
            break;
        }
        const std::vector<dataset::SplitRange> ranges = splitRangesOf(*input_, epoch, segment);
        splits.insert(splits.end(), ranges.begin(), ranges.end());
    }
    reader_.announce(splits, columnsAhead_);
}

dataset::SplitReader& SegmentRunner::helper() {
    if (!helper_) {
        helper_.emplace(input_->dataset(), &pool_, readAhead_, dataset::SplitReader::Role::kHelper);
    }
    return *helper_;
}

Readers SegmentRunner::readers() {
    return {reader_, sharing_.isOn() ? helper() : reader_};
}

bool SegmentRunner::help() {
    return jobs_ != nullptr && jobs_->help({reader_, helper()});
}

Result<SegmentOutput> SegmentRunner::run(std::uint32_t epoch, std::int64_t segment,
                                         const SegmentPart& part,
                                         std::optional<std::int64_t> flightNumber) {
    SegmentOutput output;
    output.epoch = epoch;
    output.segment = segment;
    requestStarts_.clear();
    sharing_.place.reset();
    if (flightNumber) {
        sharing_.place = {.flightNumber = *flightNumber};
    }
    if (!columnsAhead_.empty()) {
        announce(epoch, segment);
    }
    RETURN_IF_ERROR(runSplits(part, output));
    output.countRows();
    output.counts.rowsKept = output.rowsKept();
    if (input_->shuffle() != Shuffle::kNone && output.rowsKept() > 0) {
        StageTimer timer(counters_);
        const std::int64_t runs = orderRows(epoch, output);
        timer.stop(Stage::kOrder, output.rowsKept());
        if (output.rowsKept() < runs * kRowsARun) {
            RETURN_IF_ERROR(eachChunk(Stage::kCollate, output, [&](std::size_t c) {
                return output.chunks[c].makeRecords(records_, pool_);
            }));
            output.hasRecords = true;
            timer.stop(Stage::kCollate);
        }
    }
    return output;
}

// Helpers take whole splits too. Then no thread waits for another's last column, or works alone
// between two splits. Fetched objects are released in the order in which they were announced, by
// one thread. Returns the error of the first split that fails; the splits before it are done by
// then.
Status SegmentRunner::runSplits(const SegmentPart& part, SegmentOutput& output) {
    const std::vector<stream::SplitRef> splits = input_->splitsOf(output.epoch, output.segment);
    std::vector<Result<SplitOutput>> outputs(splits.size(), Result<SplitOutput>(SplitOutput()));
    const UnitWork one = [&](std::size_t s, const Readers& readers) {
        Sharing sharing = sharing_;
        if (sharing.place) {
            sharing.place->split = static_cast<std::int64_t>(s);
        }
        const Result<RowRange> wanted = rowRangeOf(splits, s, part, readers.own);
        outputs[s] = wanted.ok() ? runSplit(splits[s], *wanted, output.epoch, sharing, readers)
                                 : Result<SplitOutput>(wanted.status());
        return outputs[s].ok();
    };
    if (sharing_.isOn() && splits.size() > 1 && columnsAhead_.empty()) {
        jobs_->runSplits(sharing_.place->flightNumber, splits.size(), one, readers());
    } else {
        for (std::size_t s = 0; s < splits.size() && one(s, readers()); ++s) {
        }
    }
    output.counts.steps.resize(input_->recipe().stepNames().size());
    output.counts.vocabularies.resize(input_->recipe().vocabularies().size());
    output.counts.labels.resize(input_->recipe().heads().size());
    for (Result<SplitOutput>& split : outputs) {
        RETURN_IF_ERROR(split.status());
        output.counts.add(split->counts);
        output.decodedBytes += split->decodedBytes;
        std::move(split->chunks.begin(), split->chunks.end(), std::back_inserter(output.chunks));
        requestStarts_.insert(requestStarts_.end(), split->requestStarts.begin(),
                              split->requestStarts.end());
    }
    return okStatus();
}

// A request that continues behind the head's rows is left whole to the rest. What is stored once
// per request must not depend on where a stream started.
Result<SegmentRunner::RowRange> SegmentRunner::rowRangeOf(
    const std::vector<stream::SplitRef>& splits, std::size_t index, const SegmentPart& part,
    dataset::SplitReader& reader) const {
    const stream::SplitRef& ref = splits[index];
    const stream::PlanSplit& split = input_->files()[ref.file].splits[ref.split];
    const bool isHead = part.kind == SegmentPart::Kind::kHead;
    if (part.kind == SegmentPart::Kind::kWhole || index != part.headSplits || part.headRows == 0) {
        const bool isWanted =
            part.kind == SegmentPart::Kind::kWhole || (index < part.headSplits) == isHead;
        return isWanted ? RowRange{0, split.rows} : RowRange{};
    }
    std::int64_t border = part.headRows;
    if (input_->layout().inverseColumn() >= 0) {
        const dataset::SplitRange head{ref.file, split.rowGroup, split.firstRow, border};
        ASSIGN_OR_RETURN(const auto requests,
                         reader.readColumns(head, {input_->spec().features.request}));
        const auto firstRow = static_cast<std::uint64_t>(split.firstRow);
        border = static_cast<std::int64_t>(requestStarts(*requests[0], firstRow).back() - firstRow);
    }
    return isHead ? RowRange{0, border} : RowRange{border, split.rows};
}

Result<SegmentRunner::SplitOutput> SegmentRunner::runSplit(const stream::SplitRef& ref,
                                                           const RowRange& wanted,
                                                           std::uint32_t epoch,
                                                           const Sharing& sharing,
                                                           const Readers& readers) const {
    SplitOutput output;
    dataset::SplitReader& reader = readers.own;
    const stream::PlanFile& file = input_->files()[ref.file];
    const stream::PlanSplit& split = file.splits[ref.split];
    const std::int64_t rows = wanted.end - wanted.begin;
    output.counts.rowsScanned = rows;
    if (rows == 0) {
        return output;
    }
    const dataset::SplitRange whole{ref.file, split.rowGroup, split.firstRow, split.rows};
    ASSIGN_OR_RETURN(const bool isEmpty, reader.provesEmpty(whole, input_->pruner()));
    if (isEmpty) {
        output.counts.rowsPruned = rows;
        reader.skip(whole);
        return output;
    }
    const std::int64_t firstRow = split.firstRow + wanted.begin;
    const dataset::SplitRange range{ref.file, split.rowGroup, firstRow, rows};
    ASSIGN_OR_RETURN(const auto candidates, reader.rowsNotRuledOut(range, input_->pruner()));
    if (candidates) {
        output.counts.rowsPruned = rows - static_cast<std::int64_t>(candidates->size());
        if (candidates->empty()) {
            reader.skip(whole);
            return output;
        }
    }
    SplitColumns columns(sharing, range, readers,
                         valuesARow(split, input_->recipe().columnsRead().size()));
    const recipe::SplitInput in{ref.file,
                                file.relativePath,
                                static_cast<std::uint64_t>(firstRow),
                                rows,
                                &columns,
                                &pool_,
                                candidates ? &*candidates : nullptr};
    SplitRows rowsOfSplit{in, columns, epoch, sharing, readers, nullptr};
    RETURN_IF_ERROR(runRows(rowsOfSplit, output));
    return output;
}

// Computes labels and features of a split's rows, and its chunks. If other threads help and memory
// does not suffice, the split fails here and is computed again when its segment is alone.
Status SegmentRunner::runRows(SplitRows& rows, SplitOutput& output) const {
    StageTimer timer(counters_);
    if (isDeduplicated() || input_->shuffle() == Shuffle::kRequests) {
        ASSIGN_OR_RETURN(const auto values, rows.columns.keep(input_->spec().features.request));
        rows.requests = std::make_shared<const std::vector<std::uint64_t>>(
            requestStarts(*values, rows.in.firstRow));
    }
    const bool mayBeShort = !rows.sharing.isOn();
    bool isShort = mayBeShort && shortRows_ > 0;
    SplitOutput made;
    if (!isShort) {
        const Status status = runAtOnce(rows, made);
        isShort = mayBeShort && status.code() == absl::StatusCode::kResourceExhausted;
        RETURN_IF_ERROR(isShort ? okStatus() : status);
    }
    if (isShort) {
        made = {};
        RETURN_IF_ERROR(runShort(rows, made));
    }
    std::int64_t kept = 0;
    for (const Chunk& chunk : made.chunks) {
        kept += chunk.rows;
    }
    made.requestStarts.assign(made.chunks.size(), rows.requests);
    made.counts.add(output.counts);
    output = std::move(made);
    const dataset::ColumnCost lap = timer.lap();
    counters_.add(Stage::kRecipe, lap.busyNs - rows.columns.readNs() - rows.countedNs, kept, 0);
    counters_.addWait(Stage::kRecipe, Wait::kStarved,
                      std::max<std::int64_t>(0, lap.waitNs - rows.columns.waitNs()));
    return okStatus();
}

// Makes one chunk per piece, so that threads share the work.
Status SegmentRunner::runAtOnce(SplitRows& rows, SplitOutput& output) const {
    const recipe::SplitInput& in = rows.in;
    PiecesOfSplit pieces(
        rows.sharing, rows.columns, in,
        pieceBorders(in.rows, pieceRows(in.rows), rows.requests.get(), in.firstRow), rows.readers);
    ASSIGN_OR_RETURN(std::vector<recipe::FeatureBatch> batches, batchesOf(rows, pieces));
    std::vector<Result<Chunk>> chunks(batches.size(), Result<Chunk>(Chunk()));
    const auto makeChunk = [&](std::size_t b) { chunks[b] = chunkOf(std::move(batches[b]), rows); };
    for (const recipe::FeatureBatch& batch : batches) {
        countSteps(batch, output.counts);
        output.decodedBytes += batch.decodedBytes;
    }
    if (batches.size() > 1) {
        pieces.each(makeChunk);
    } else {
        makeChunk(0);
    }
    rows.countedNs += pieces.countedNs();
    for (Result<Chunk>& chunk : chunks) {
        RETURN_IF_ERROR(chunk.status());
        if (chunk->rows > 0 || chunks.size() == 1) {
            output.chunks.push_back(*std::move(chunk));
        }
    }
    return okStatus();
}

// Runs one piece after another. After a piece that does not fit, the next has half as many rows, or
// one request. The columns read of the split are held whole meanwhile and read again for shorter
// pieces.
Status SegmentRunner::runShort(SplitRows& rows, SplitOutput& output) const {
    const recipe::SplitInput& in = rows.in;
    pool_.takeMissing();
    std::int64_t size = shortRows_ > 0 ? shortRows_.load() : std::max<std::int64_t>(in.rows / 2, 1);
    for (std::int64_t done = 0; done < in.rows;) {
        std::vector<std::int64_t> borders =
            pieceBorders(in.rows - done, size, rows.requests.get(),
                         in.firstRow + static_cast<std::uint64_t>(done));
        for (std::int64_t& border : borders) {
            border += done;
        }
        if (done > 0) {
            borders.insert(borders.begin(), 0);
        }
        PiecesOfSplit pieces(rows.sharing, rows.columns, in, std::move(borders), rows.readers);
        std::vector<const std::vector<std::int64_t>*> left;
        for (std::size_t p = 0; p < pieces.count(); ++p) {
            left.push_back(pieces.piece(p).candidates);
        }
        pieces.leave(left);
        for (std::size_t p = done > 0 ? 1 : 0; p < pieces.count(); ++p) {
            const recipe::SplitInput piece = pieces.piece(p);
            const Status status = runPiece(rows, pieces, p, output);
            if (status.code() == absl::StatusCode::kResourceExhausted) {
                if (size == 1 || piece.rows == 1) {
                    return pieces.failure().ok() ? tooLarge(rows, piece, status) : status;
                }
                size = std::min(size, piece.rows) / 2;
                break;
            }
            RETURN_IF_ERROR(status);
            done += piece.rows;
        }
        rows.countedNs += pieces.countedNs();
    }
    shortRows_ = 2 * size;  // more rows of the next split may fit
    return okStatus();
}

Status SegmentRunner::runPiece(const SplitRows& rows, PiecesOfSplit& pieces, std::size_t index,
                               SplitOutput& output) const {
    Result<Chunk> chunk = Chunk();
    pieces.one(index, [&](std::size_t p) {
        Result<recipe::FeatureBatch> batch = input_->recipe().run(pieces.piece(p), rows.epoch);
        if (!batch.ok()) {
            chunk = batch.status();
            return;
        }
        RowCounts counts;
        countSteps(*batch, counts);
        const std::int64_t decodedBytes = batch->decodedBytes;
        chunk = chunkOf(*std::move(batch), rows);
        if (chunk.ok()) {
            output.counts.add(counts);
            output.decodedBytes += decodedBytes;
        }
    });
    RETURN_IF_ERROR(chunk.status());
    output.chunks.push_back(*std::move(chunk));
    return okStatus();
}

Status SegmentRunner::tooLarge(const SplitRows& rows, const recipe::SplitInput& piece,
                               const Status& status) const {
    const std::int64_t missing = pool_.takeMissing();
    const auto last = piece.firstRow + static_cast<std::uint64_t>(piece.rows) - 1;
    return resourceExhausted(
        rows.in.relativePath, piece.rows == 1 ? ": row " : ": a request, rows ", piece.firstRow,
        piece.rows == 1 ? "" : strCat(" to ", last), ": ", messageOf(status),
        missing > 0 ? strCat("; it needs a limit that is at least ",
                             formatBytes(static_cast<double>(missing)), " higher")
                    : "");
}

// The error of a piece may differ from the split's: in the split another step or row may fail
// first. So the split runs again whole, and its error does not depend on the pieces.
Result<std::vector<recipe::FeatureBatch>> SegmentRunner::batchesOf(const SplitRows& rows,
                                                                   PiecesOfSplit& pieces) const {
    if (pieces.count() > 1 && input_->part() == recipe::Part::kTrain) {
        auto batches = input_->recipe().runPieces(pieces, rows.epoch);
        if (batches.ok() || batches.status().code() == absl::StatusCode::kResourceExhausted) {
            return batches;
        }
    }
    std::vector<recipe::FeatureBatch> whole(1);
    ASSIGN_OR_RETURN(whole.front(), input_->recipe().run(rows.in, rows.epoch));
    return whole;
}

Result<Chunk> SegmentRunner::chunkOf(recipe::FeatureBatch batch, const SplitRows& rows) const {
    ASSIGN_OR_RETURN(Chunk chunk, Chunk::make(std::move(batch), input_->layout(), pool_));
    if (isDeduplicated()) {
        const bool isRequired = input_->spec().features.dedup == "required";
        RETURN_IF_ERROR(annotate(chunk.findGroups(input_->layout(), *rows.requests, isRequired),
                                 rows.in.relativePath));
    }
    return chunk;
}

// Pieces cost more than the whole split if each thread has a segment of its own, because work done
// once per dictionary entry is repeated for each piece. So they are used only
// - for large splits;
// - for the segment that the first frame waits for, and for those behind it. Their threads help
//   with it between two pieces. (A stream that keeps its rows in order has a head instead.)
// They are not used for a stream's last segment: nothing runs beside it, and they would cost as
// much as its threads gain. Nor are they used with fetched objects, which the reader of the split's
// owner releases, so that the owner reads alone.
std::int64_t SegmentRunner::pieceRows(std::int64_t rows) const {
    const std::int64_t size = jobs_ != nullptr ? jobs_->pieceRows() : kPieceRows;
    const bool isForFirst =
        sharing_.isOn() && jobs_->isHasty() &&
        (input_->shuffle() != Shuffle::kNone || sharing_.place->flightNumber == 0);
    const bool areWorthIt = rows > kPiecesOfLarge * size || isForFirst;
    return areWorthIt && columnsAhead_.empty() ? size : std::max<std::int64_t>(rows, 1);
}

bool SegmentRunner::isDeduplicated() const {
    return input_->layout().inverseColumn() >= 0;
}

// Runs on every thread that is free. Helpers count their own time; the caller counts its own.
Status SegmentRunner::eachChunk(Stage stage, const SegmentOutput& output,
                                const std::function<Status(std::size_t)>& work) {
    const std::size_t count = output.chunks.size();
    std::vector<Status> done(count);
    const UnitWork one = [&](std::size_t c, const Readers& readers) {
        dataset::BusyClock clock;
        done[c] = work(c);
        if (&readers.own != &reader_) {
            counters_.add(stage, clock.lap(), 0, 0);
        }
        return true;
    };
    if (sharing_.isOn() && count > 1 && output.rowsKept() > jobs_->pieceRows()) {
        jobs_->runPieces(*sharing_.place, count, one, readers());
    } else {
        for (std::size_t c = 0; c < count; ++c) {
            one(c, {reader_, reader_});
        }
    }
    for (const Status& status : done) {
        RETURN_IF_ERROR(status);
    }
    return okStatus();
}

void SegmentRunner::countSteps(const recipe::FeatureBatch& batch, RowCounts& counts) const {
    const std::vector<std::string>& names = input_->recipe().stepNames();
    std::vector<recipe::StepCount>& steps = counts.steps;
    steps.resize(names.size());
    counts.vocabularies.resize(input_->recipe().vocabularies().size());
    counts.labels.resize(input_->recipe().heads().size());
    for (std::size_t s = 0; s < batch.steps.size() && s < steps.size(); ++s) {
        const recipe::StepCount& step = batch.steps[s];
        steps[s].add(step);
        counters_.addStep(names[s], {step.busyNs, step.rowsIn, step.rowsOut});
        for (const recipe::ExpressionTime& expression : step.expressions) {
            counters_.addExpression(names[s], expression.column, expression.busyNs);
        }
    }
    for (std::size_t v = 0; v < batch.vocabularies.size(); ++v) {
        counts.vocabularies[v].add(batch.vocabularies[v]);
    }
    for (std::size_t h = 0; h < batch.heads.size(); ++h) {
        counts.labels[h].add(batch.heads[h].gaps);
    }
    counters_.addStep(std::string(kLabelsStep), {batch.labelsNs, batch.rows, batch.rows});
    counters_.addEncoded(batch.featureTimes);
}

std::uint64_t SegmentRunner::keyRow(std::size_t chunk, std::uint64_t row) const {
    if (input_->shuffle() != Shuffle::kRequests) {
        return row;
    }
    const std::vector<std::uint64_t>& starts = *requestStarts_[chunk];
    return *std::prev(std::upper_bound(starts.begin(), starts.end(), row));
}

// Keys of the first row of each run of adjacent rows of one chunk. If runs may have several rows,
// `ends` holds the row behind each run, at the index of the run's first row.
void SegmentRunner::keyRuns(std::uint32_t epoch, std::size_t c, const Chunk& chunk,
                            std::span<KeyedRow> out, Runs& runs) const {
    const bool canRun = input_->shuffle() == Shuffle::kRequests;
    const std::uint64_t seed = input_->spec().batch.seed;
    const std::uint64_t fileKey = stream::fileKey(epoch, input_->files()[chunk.file].relativePath);
    const auto count = static_cast<std::size_t>(chunk.rows);
    std::uint64_t lastRow = ~std::uint64_t{0};
    std::size_t first = 0;
    runs.ends.resize(canRun ? count : 0);
    for (std::size_t r = 0; r < count; ++r) {
        const std::uint64_t row = keyRow(c, chunk.rowNumbers[r]);
        if (!canRun || row != lastRow) {
            first = r;
            lastRow = row;
            out[runs.count++] = {stream::rowKey(seed, fileKey, row),
                                 {static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(r)}};
        }
        if (canRun) {
            runs.ends[first] = static_cast<std::uint32_t>(r + 1);
        }
    }
}

// Returns the number of runs.
std::int64_t SegmentRunner::orderRows(std::uint32_t epoch, SegmentOutput& output) {
    const auto& chunks = output.chunks;
    std::vector<std::size_t> starts;
    std::size_t rows = 0;
    for (const Chunk& chunk : chunks) {
        starts.push_back(rows);
        rows += static_cast<std::size_t>(chunk.rows);
    }
    std::vector<KeyedRow> keyed(rows);
    std::vector<Runs> runs(chunks.size());
    const Status status = eachChunk(Stage::kOrder, output, [&](std::size_t c) {
        keyRuns(epoch, c, chunks[c],
                std::span(keyed).subspan(starts[c], static_cast<std::size_t>(chunks[c].rows)),
                runs[c]);
        return okStatus();
    });
    INVARIANT(status.ok(), "keys do not fail");
    auto end = keyed.begin();
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        const auto from = keyed.begin() + static_cast<std::ptrdiff_t>(starts[c]);
        end = std::move(from, from + static_cast<std::ptrdiff_t>(runs[c].count), end);
    }
    keyed.erase(end, keyed.end());
    const auto numRuns = static_cast<std::int64_t>(keyed.size());
    output.order = orderedByKey(std::move(keyed), [&chunks](RowPick a, RowPick b) {
        const Chunk &x = chunks[a.chunk], &y = chunks[b.chunk];
        return x.file != y.file ? x.file < y.file : x.rowNumbers[a.row] < y.rowNumbers[b.row];
    });
    if (output.order.size() < rows) {
        std::vector<RowPick> all;
        all.reserve(rows);
        for (const RowPick first : output.order) {
            for (RowPick pick = first; pick.row < runs[first.chunk].ends[first.row]; ++pick.row) {
                all.push_back(pick);
            }
        }
        output.order = std::move(all);
    }
    return numRuns;
}

}  // namespace millrace::segment
