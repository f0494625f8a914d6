// MetricReader: reads series from chunks and tail, whole or decimated for a plot.
#include <algorithm>
#include <optional>

#include "backend/runs/metrics/decimate.h"
#include "backend/runs/metrics/metric_chunk.h"
#include "backend/runs/metrics/metric_table.h"
#include "backend/runs/metrics/tail_line.h"

namespace millrace::runs {
namespace {

constexpr int kRunNoBits = 32;

Result<std::vector<PlacedPoint>> readLevel(Database& db, const ChunkHead& head, int bucket) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare(strCat("SELECT level", bucket, " FROM metric_chunk WHERE no = ?"), head.no));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    if (!isRow) {
        return dataLoss("it is gone");
    }
    ASSIGN_OR_RETURN(std::vector<PlacedPoint> points, decodeLevel(query.blobAt(0)));
    const auto byPlace = [](const PlacedPoint& a, const PlacedPoint& b) {
        return a.place >= b.place;
    };
    const bool isInOrder =
        std::adjacent_find(points.begin(), points.end(), byPlace) == points.end();
    if (!isInOrder || points.front().place != 0 || points.back().place != head.numPoints - 1) {
        return dataLoss("its places are not those of ", head.numPoints, " points");
    }
    return points;
}

// The coarsest level from which a plot with buckets of `bucketPoints` may be drawn; 0: the points.
int levelFor(const ChunkHead& head, std::int64_t bucketPoints) {
    for (const int bucket : kLevelBuckets) {
        if (bucket <= bucketPoints && hasLevel(head.numPoints, bucket)) {
            return bucket;
        }
    }
    return 0;
}

// Feeds a series into a Thinner: its very first and last points separately, the rest in pieces.
class ThinFeed {
 public:
    ThinFeed(std::int64_t numPoints, int maxPoints, bool isOfRanks)
        : numPoints_(numPoints), thinner_(numPoints, maxPoints, isOfRanks) {}

    void addPoints(std::span<const values::MetricPoint> points) {
        for (const values::MetricPoint& point : points) {
            add(offset_, offset_, {&point, 1});
            ++offset_;
        }
    }

    void addLevel(const std::vector<PlacedPoint>& level, int bucket, std::int64_t numPoints) {
        for (std::size_t from = 0, to = 0; from < level.size(); from = to) {
            const std::int64_t number = level[from].place / bucket;
            piece_.clear();
            for (to = from; to < level.size() && level[to].place / bucket == number; ++to) {
                piece_.push_back(level[to].point);
            }
            add(offset_ + level[from].place, offset_ + level[to - 1].place, piece_);
        }
        offset_ += numPoints;
    }

    std::int64_t bucketPoints() const { return thinner_.bucketPoints(); }
    std::vector<values::MetricPoint> take() { return thinner_.take(); }

 private:
    // `first` and `last`: places of the piece's first and last points.
    void add(std::int64_t first, std::int64_t last, std::span<const values::MetricPoint> piece) {
        if (first == 0) {
            thinner_.addStart(piece.front());
            piece = piece.subspan(1);
        }
        if (last == numPoints_ - 1 && !piece.empty()) {
            thinner_.addEnd(piece.back());
            piece = piece.first(piece.size() - 1);
        }
        thinner_.add(first, piece);
    }

    const std::int64_t numPoints_;
    Thinner thinner_;
    std::int64_t offset_ = 0;
    std::vector<values::MetricPoint> piece_;
};

bool isInside(const ChunkHead& head, const MetricRange& range) {
    return head.firstStep >= range.fromStep && head.lastStep <= range.toStep;
}

}  // namespace

TailRows tailRowsOf(std::int64_t runNo) {
    return {runNo << kRunNoBits, ((runNo + 1) << kRunNoBits) - 1};
}

Result<std::int64_t> findMetricKey(Database& db, std::string_view key) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT no FROM metric_key WHERE name = ?", key));
    ASSIGN_OR_RETURN(const bool isThere, query.step());
    return isThere ? query.intAt(0) : 0;
}

const std::string_view kTailColumns =
    "step, epoch, rows, time_ms, attempt, data, summaries, rank, no";

values::MetricPoint readTailPoint(const Statement& row, const TailRows& rows) {
    values::MetricPoint point;
    point.step = row.intAt(0);
    point.epoch = row.intAt(1);
    point.rows = row.intAt(2);
    point.timeMs = row.intAt(3);
    point.attempt = static_cast<int>(row.intAt(4));
    point.line = row.intAt(8) - rows.first;
    return point;
}

const std::string_view kChunkHeadColumns =
    "no, position, first_step, last_step, num_points, num_ranks";

ChunkHead readChunkHead(const Statement& row) {
    return {row.intAt(0), row.intAt(1), row.intAt(2), row.intAt(3), row.intAt(4), row.intAt(5)};
}

Result<std::vector<ChunkHead>> readChunkHeads(Database& db, std::int64_t runNo,
                                              const SeriesNo& series, std::int64_t fromStep,
                                              std::int64_t toStep) {
    return db.select(readChunkHead,
                     strCat("SELECT ", kChunkHeadColumns,
                            " FROM metric_chunk WHERE run_no = ? AND key_no = ? AND rank = ? AND "
                            "last_step >= ? AND first_step <= ? ORDER BY position"),
                     runNo, series.key, series.rank, fromStep, toStep);
}

Result<std::vector<values::MetricPoint>> readChunk(Database& db, const ChunkHead& head) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT points FROM metric_chunk WHERE no = ?", head.no));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    if (!isRow) {
        return dataLoss("it is gone");
    }
    ASSIGN_OR_RETURN(std::vector<values::MetricPoint> points, decodePoints(query.blobAt(0)));
    if (static_cast<std::int64_t>(points.size()) != head.numPoints ||
        points.front().step != head.firstStep || points.back().step != head.lastStep) {
        return dataLoss("its points are not those of its row");
    }
    return points;
}

std::int64_t MetricReader::Piece::numPoints() const {
    if (isLoaded) {
        return static_cast<std::int64_t>(points.size());
    }
    std::int64_t count = 0;
    for (const ChunkHead& head : chunks) {
        count += head.numPoints;
    }
    return count;
}

bool MetricReader::Piece::isOfRanks() const {
    const auto hasRanks = [](const values::MetricPoint& point) { return point.ranks.has_value(); };
    return std::ranges::any_of(chunks, [](const ChunkHead& head) { return head.numRanks > 0; }) ||
           std::ranges::any_of(points, hasRanks);
}

Result<std::vector<values::MetricSeries>> MetricReader::read(
    const std::vector<MetricRequest>& requests) {
    RETURN_IF_ERROR(readTail(requests));
    std::vector<values::MetricSeries> all;
    all.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        ASSIGN_OR_RETURN(values::MetricSeries series, readOne(requests[i], i));
        all.push_back(std::move(series));
    }
    return all;
}

// Reads the tail once for all requests.
Status MetricReader::readTail(const std::vector<MetricRequest>& requests) {
    std::int64_t from = INT64_MAX, to = INT64_MIN;
    series_.assign(requests.size(), {});
    tails_.assign(requests.size(), {});
    wanted_.clear();
    for (std::size_t i = 0; i < requests.size(); ++i) {
        ASSIGN_OR_RETURN(series_[i].key, findMetricKey(db_, requests[i].key));
        series_[i].rank = requests[i].range.rank;
        if (series_[i].key > 0) {
            wanted_.emplace_back(static_cast<std::uint32_t>(series_[i].key), i);
            from = std::min(from, requests[i].range.fromStep);
            to = std::max(to, requests[i].range.toStep);
        }
    }
    std::ranges::sort(wanted_);
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(
        Statement query,
        db_.prepare(
            strCat(
                "SELECT ", kTailColumns,
                " FROM metric_line WHERE no BETWEEN ? AND ? AND step BETWEEN ? AND ? ORDER BY no"),
            rows.first, rows.last, from, to));
    RETURN_IF_ERROR(query.forEach([&](const Statement& row) { addTailRow(row, requests); }));
    for (std::vector<values::MetricPoint>& tail : tails_) {
        settle(tail);
    }
    return okStatus();
}

void MetricReader::addTailRow(const Statement& row, const std::vector<MetricRequest>& requests) {
    values::MetricPoint point = readTailPoint(row, tailRowsOf(runNo_));
    const int rank = static_cast<int>(row.intAt(7));
    const TailValues told(row.blobAt(5));
    const std::vector<TailSummary> summaries = unpackTailSummaries(row.blobAt(6));
    std::size_t at = 0;
    for (const auto& [keyNo, index] : wanted_) {
        const MetricRange& range = requests[index].range;
        if (range.rank != rank || point.step < range.fromStep || point.step > range.toStep) {
            continue;
        }
        at = told.lowerBound(keyNo, at);
        if (at < told.size() && told.keyAt(at) == keyNo) {
            point.value = told.valueAt(at);
            point.ranks.reset();
            tails_[index].push_back(point);
        }
        const auto isBefore = [](const TailSummary& one, std::uint32_t no) {
            return one.keyNo < no;
        };
        const auto found = std::lower_bound(summaries.begin(), summaries.end(), keyNo, isBefore);
        if (found != summaries.end() && found->keyNo == keyNo) {
            point.value = found->summary.median;
            point.ranks = found->summary.ranks;
            tails_[index].push_back(point);
        }
    }
}

Result<values::MetricSeries> MetricReader::readOne(const MetricRequest& request,
                                                   std::size_t index) {
    values::MetricSeries series;
    series.key = request.key;
    series.rank = request.range.rank;
    const MetricRange& range = request.range;
    const Status status = [&]() -> Status {
        ASSIGN_OR_RETURN(std::vector<Piece> pieces, piecesOf(index, range));
        std::int64_t total = 0;
        for (const Piece& piece : pieces) {
            total += piece.numPoints();
        }
        series.numPoints = total;
        const bool isThin = range.maxPoints > 0 && total > std::max(range.maxPoints, 4);
        return isThin ? readThin(pieces, std::max(range.maxPoints, 4), series)
                      : readRaw(pieces, series);
    }();
    if (absl::IsDataLoss(status)) {
        RETURN_IF_ERROR(readAround(index, range, series));
        return series;
    }
    RETURN_IF_ERROR(status);
    return series;
}

// Chunks are ordered by step. If one ends in the step in which the next begins, they form one
// piece, because a point of the tail may replace points of both.
Result<std::vector<MetricReader::Piece>> MetricReader::piecesOf(std::size_t index,
                                                                const MetricRange& range) {
    std::vector<values::MetricPoint>& tail = tails_[index];
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, series_[index], range.fromStep, range.toStep));
    std::vector<Piece> pieces;
    std::size_t usedTail = 0;
    for (std::size_t from = 0, to = 0; from < heads.size(); from = to) {
        Piece piece;
        std::int64_t last = heads[from].lastStep;
        bool isWhole = true;
        for (to = from; to < heads.size() && (to == from || heads[to].firstStep <= last); ++to) {
            last = std::max(last, heads[to].lastStep);
            isWhole = isWhole && isInside(heads[to], range);
            piece.chunks.push_back(heads[to]);
        }
        while (usedTail < tail.size() && tail[usedTail].step <= last) {
            piece.points.push_back(tail[usedTail++]);
        }
        if (!isWhole || !piece.points.empty()) {
            RETURN_IF_ERROR(load(piece, range));
        }
        pieces.push_back(std::move(piece));
    }
    if (usedTail < tail.size()) {
        Piece rest;
        rest.isLoaded = true;
        rest.points.assign(tail.begin() + static_cast<std::ptrdiff_t>(usedTail), tail.end());
        pieces.push_back(std::move(rest));
    }
    return pieces;
}

Status MetricReader::load(Piece& piece, const MetricRange& range) {
    std::vector<values::MetricPoint> points;
    for (const ChunkHead& head : piece.chunks) {
        ASSIGN_OR_RETURN(const std::vector<values::MetricPoint> part, readChunk(db_, head));
        points.insert(points.end(), part.begin(), part.end());
    }
    std::erase_if(points, [&](const values::MetricPoint& point) {
        return point.step < range.fromStep || point.step > range.toStep;
    });
    points.insert(points.end(), piece.points.begin(), piece.points.end());
    settle(points);
    piece.points = std::move(points);
    piece.isLoaded = true;
    return okStatus();
}

Status MetricReader::readRaw(const std::vector<Piece>& pieces, values::MetricSeries& series) {
    series.points.reserve(static_cast<std::size_t>(series.numPoints));
    for (const Piece& piece : pieces) {
        for (std::size_t i = 0; !piece.isLoaded && i < piece.chunks.size(); ++i) {
            ASSIGN_OR_RETURN(const std::vector<values::MetricPoint> part,
                             readChunk(db_, piece.chunks[i]));
            series.points.insert(series.points.end(), part.begin(), part.end());
        }
        series.points.insert(series.points.end(), piece.points.begin(), piece.points.end());
    }
    return okStatus();
}

Status MetricReader::readThin(std::vector<Piece>& pieces, int maxPoints,
                              values::MetricSeries& series) {
    const bool isOfRanks =
        std::ranges::any_of(pieces, [](const Piece& piece) { return piece.isOfRanks(); });
    ThinFeed feed(series.numPoints, maxPoints, isOfRanks);
    for (const Piece& piece : pieces) {
        if (piece.isLoaded) {
            feed.addPoints(piece.points);
            continue;
        }
        for (const ChunkHead& head : piece.chunks) {
            const int bucket = levelFor(head, feed.bucketPoints());
            if (bucket > 0) {
                ASSIGN_OR_RETURN(const std::vector<PlacedPoint> level,
                                 readLevel(db_, head, bucket));
                feed.addLevel(level, bucket, head.numPoints);
            } else {
                ASSIGN_OR_RETURN(const std::vector<values::MetricPoint> points,
                                 readChunk(db_, head));
                feed.addPoints(points);
            }
        }
    }
    series.points = feed.take();
    series.isDecimated = true;
    return okStatus();
}

Status MetricReader::readAround(std::size_t index, const MetricRange& range,
                                values::MetricSeries& series) {
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, series_[index], range.fromStep, range.toStep));
    series.points.clear();
    std::string lost, why;
    for (const ChunkHead& head : heads) {
        const Result<std::vector<values::MetricPoint>> part = readChunk(db_, head);
        if (part.ok()) {
            series.points.insert(series.points.end(), part->begin(), part->end());
            continue;
        }
        strAppend(&lost, lost.empty() ? "" : ", ", head.firstStep, " to ", head.lastStep);
        why = messageOf(part.status());
    }
    std::erase_if(series.points, [&](const values::MetricPoint& point) {
        return point.step < range.fromStep || point.step > range.toStep;
    });
    series.points.insert(series.points.end(), tails_[index].begin(), tails_[index].end());
    settle(series.points);
    series.problem =
        lost.empty() ? strCat("run ", runId_, ", metric '", series.key,
                              "': an overview is damaged; the points themselves are all there")
                     : strCat("run ", runId_, ", metric '", series.key, "': the points of steps ",
                              lost, " cannot be read (", why, "); all others are there. A copy of ",
                              db_.path(), " may still have them");
    series.numPoints = static_cast<std::int64_t>(series.points.size());
    series.isDecimated = range.maxPoints > 0 && series.numPoints > std::max(range.maxPoints, 4);
    if (series.isDecimated) {
        series.points = decimate(series.points, range.maxPoints);
    }
    return okStatus();
}

Result<std::optional<values::MetricPoint>> MetricReader::last(const std::string& key) {
    RETURN_IF_ERROR(readTail({{key, {}}}));
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, series_[0], INT64_MIN, INT64_MAX));
    std::optional<values::MetricPoint> newest;
    if (!tails_[0].empty()) {
        newest = tails_[0].back();
    }
    for (auto head = heads.rbegin(); head != heads.rend(); ++head) {
        const Result<std::vector<values::MetricPoint>> part = readChunk(db_, *head);
        if (!part.ok()) {
            continue;
        }
        if (!newest || newest->step < part->back().step) {
            newest = part->back();
        }
        break;
    }
    return newest;
}

}  // namespace millrace::runs
