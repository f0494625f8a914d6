// MetricWriter: appends to the tail and makes chunks of it.
#include <algorithm>
#include <array>

#include "backend/runs/metrics/metric_chunk.h"
#include "backend/runs/metrics/metric_table.h"
#include "backend/runs/metrics/tail_line.h"

namespace millrace::runs {
namespace {

// Every reader reads the whole tail, so its length is a cost for readers. Each seal compresses the
// last small chunk again.
constexpr std::int64_t kTailLines = 1024;
constexpr std::int64_t kTailValues = 128 << 10;
// A chunk that is not full is joined with new points unless it is much larger. Each point is thus
// recompressed only a few times, and a metric has only a few small chunks.
constexpr std::int64_t kJoinRatio = 3;

// Merges a late rank's report about a step that was summarized without it.
void joinInto(values::MetricPoint& into, const values::MetricPoint& late) {
    const values::RankSummary joined =
        values::joined({into.value, *into.ranks}, {late.value, *late.ranks});
    into.value = joined.median;
    into.ranks = joined.ranks;
    into.line = std::max(into.line, late.line);
    into.timeMs = std::max(into.timeMs, late.timeMs);
}

}  // namespace

void settle(std::vector<values::MetricPoint>& points) {
    const auto byStep = [](const values::MetricPoint& a, const values::MetricPoint& b) {
        return a.step < b.step;
    };
    if (!std::ranges::is_sorted(points, byStep)) {
        std::ranges::stable_sort(points, byStep);
    }
    std::size_t kept = 0;
    for (std::size_t from = 0, to = 0; from < points.size(); from = to) {
        int newest = points[from].attempt;
        for (to = from; to < points.size() && points[to].step == points[from].step; ++to) {
            newest = std::max(newest, points[to].attempt);
        }
        std::size_t summary = points.size();  // index of the step's summary
        for (std::size_t i = from; i < to; ++i) {
            if (points[i].attempt != newest) {
                continue;
            }
            if (points[i].ranks && summary < kept) {
                joinInto(points[summary], points[i]);
                continue;
            }
            summary = points[i].ranks ? kept : summary;
            points[kept++] = points[i];
        }
    }
    points.resize(kept);
}

Result<std::int64_t> MetricWriter::keyNo(const std::string& key) {
    if (const auto known = keyNos_.find(key); known != keyNos_.end()) {
        return known->second;
    }
    ASSIGN_OR_RETURN(std::int64_t no, findMetricKey(db_, key));
    if (no == 0) {
        RETURN_IF_ERROR(db_.run("INSERT INTO metric_key(name) VALUES(?)", key));
        ASSIGN_OR_RETURN(no, findMetricKey(db_, key));
    }
    keyNos_.emplace(key, no);
    return no;
}

// The line after the newest one that is in the tail or was sealed.
Status MetricWriter::findNextLine() {
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(
        Statement newest,
        db_.prepare("SELECT max((SELECT coalesce(max(no), 0) FROM metric_line WHERE no BETWEEN ?1 "
                    "AND ?2), (SELECT ?1 + sealed_line FROM run WHERE no = ?3))",
                    rows.first, rows.last, runNo_));
    ASSIGN_OR_RETURN(const bool isRow, newest.step());
    INVARIANT(isRow, "an aggregate has a row");
    nextLine_ = newest.intAt(0) + 1;
    return okStatus();
}

Status MetricWriter::append(int attempt, const ReportedLine& line) {
    if (nextLine_ < 0) {
        RETURN_IF_ERROR(findNextLine());
    }
    std::vector<TailValue> told;
    told.reserve(line.values.size());
    for (const auto& [key, value] : line.values) {
        ASSIGN_OR_RETURN(const std::int64_t no, keyNo(key));
        told.push_back({static_cast<std::uint32_t>(no), value});
    }
    std::vector<TailSummary> summaries;
    for (const auto& [key, summary] : line.summaries) {
        ASSIGN_OR_RETURN(const std::int64_t no, keyNo(key));
        summaries.push_back({static_cast<std::uint32_t>(no), summary});
    }
    ASSIGN_OR_RETURN(Statement insert,
                     db_.prepare("INSERT INTO metric_line VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                 nextLine_++, attempt, line.rank, line.step, line.epoch));
    const std::string packed = packTailValues(std::move(told));
    insert.bind(line.rows).bind(line.timeMs).bindBlob(packed);
    if (summaries.empty()) {
        return insert.bindNull().run();
    }
    const std::string packedSummaries = packTailSummaries(std::move(summaries));
    return insert.bindBlob(packedSummaries).run();
}

Status MetricWriter::sealIfLong() {
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(Statement size, db_.prepare("SELECT count(*), coalesce(sum(length(data)), 0) "
                                                 "FROM metric_line WHERE no BETWEEN ? AND ?",
                                                 rows.first, rows.last));
    ASSIGN_OR_RETURN(const bool isRow, size.step());
    const bool isLong =
        isRow && (size.intAt(0) >= kTailLines || size.intAt(1) >= kTailValues * kTailValueBytes);
    return isLong ? seal() : okStatus();
}

Result<MetricWriter::Tail> MetricWriter::readTail() {
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(Statement query,
                     db_.prepare(strCat("SELECT ", kTailColumns,
                                        " FROM metric_line WHERE no BETWEEN ? AND ? ORDER BY no"),
                                 rows.first, rows.last));
    Tail tail;
    RETURN_IF_ERROR(query.forEach([&](const Statement& row) {
        values::MetricPoint point = readTailPoint(row, rows);
        const int rank = static_cast<int>(row.intAt(7));
        tail.lastLine = point.line;
        const TailValues told(row.blobAt(5));
        for (std::size_t i = 0; i < told.size(); ++i) {
            point.value = told.valueAt(i);
            tail.points[{told.keyAt(i), rank}].push_back(point);
        }
        for (const TailSummary& one : unpackTailSummaries(row.blobAt(6))) {
            point.value = one.summary.median;
            point.ranks = one.summary.ranks;
            tail.points[{one.keyNo, rank}].push_back(point);
        }
    }));
    return tail;
}

Status MetricWriter::seal() {
    ASSIGN_OR_RETURN(Tail tail, readTail());
    if (tail.lastLine == 0) {
        return okStatus();
    }
    for (auto& [series, points] : tail.points) {
        RETURN_IF_ERROR(addSealed(series, std::move(points)));
    }
    nextLine_ = -1;
    RETURN_IF_ERROR(db_.run("UPDATE run SET sealed_line = ? WHERE no = ?", tail.lastLine, runNo_));
    const TailRows rows = tailRowsOf(runNo_);
    return db_.run("DELETE FROM metric_line WHERE no BETWEEN ? AND ?", rows.first, rows.last);
}

Status MetricWriter::addSealed(const SeriesNo& series, std::vector<values::MetricPoint> points) {
    settle(points);
    if (points.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, series, INT64_MIN, INT64_MAX));
    std::size_t from = heads.size();
    auto total = static_cast<std::int64_t>(points.size());
    while (from > 0) {
        const ChunkHead& before = heads[from - 1];
        const bool isOverlapping = before.lastStep >= points.front().step;
        const bool isSmall =
            before.numPoints < kChunkPoints && before.numPoints <= kJoinRatio * total;
        if (!isOverlapping && !isSmall) {
            break;
        }
        total += before.numPoints;
        --from;
    }
    std::vector<values::MetricPoint> all;
    all.reserve(static_cast<std::size_t>(total));
    for (std::size_t i = from; i < heads.size(); ++i) {
        const Result<std::vector<values::MetricPoint>> part = readChunk(db_, heads[i]);
        if (absl::IsDataLoss(part.status())) {
            continue;  // stays in place, for a reader to report
        }
        RETURN_IF_ERROR(part.status());
        all.insert(all.end(), part->begin(), part->end());
        RETURN_IF_ERROR(removeChunk(heads[i].no));
    }
    all.insert(all.end(), points.begin(), points.end());
    settle(all);
    std::int64_t position = heads.empty() ? 0 : heads.back().position + 1;
    for (std::size_t at = 0; at < all.size(); at += kChunkPoints) {
        const std::size_t count = std::min<std::size_t>(kChunkPoints, all.size() - at);
        RETURN_IF_ERROR(writeChunk(series, position++, std::span(all).subspan(at, count)));
    }
    return okStatus();
}

Status MetricWriter::writeChunk(const SeriesNo& series, std::int64_t position,
                                std::span<const values::MetricPoint> part) {
    ASSIGN_OR_RETURN(
        Statement insert,
        db_.prepare(
            "INSERT INTO metric_chunk(run_no, key_no, rank, position, first_step, last_step, "
            "num_points, num_ranks, first_line, last_line, level1024, level256, level64, level16, "
            "points) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    const auto count = static_cast<std::int64_t>(part.size());
    std::int64_t numRanks = 0, firstLine = INT64_MAX, lastLine = 0;
    for (const values::MetricPoint& point : part) {
        numRanks = std::max<std::int64_t>(numRanks, point.ranks ? point.ranks->numRanks : 0);
        firstLine = std::min(firstLine, point.line);
        lastLine = std::max(lastLine, point.line);
    }
    insert.bind(runNo_).bind(series.key).bind(series.rank).bind(position);
    insert.bind(part.front().step).bind(part.back().step).bind(count).bind(numRanks);
    insert.bind(firstLine).bind(lastLine);
    std::array<std::string, kLevelBuckets.size()> levels;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        if (hasLevel(count, kLevelBuckets[i])) {
            levels[i] = encodeLevel(part, kLevelBuckets[i]);
            insert.bindBlob(levels[i]);
        } else {
            insert.bindNull();
        }
    }
    const std::string points = encodePoints(part);
    return insert.bindBlob(points).run();
}

Status MetricWriter::removeChunk(std::int64_t no) {
    return db_.run("DELETE FROM metric_chunk WHERE no = ?", no);
}

Status MetricWriter::cutAfter(std::int64_t step) {
    RETURN_IF_ERROR(seal());
    std::vector<SeriesNo> all;
    {
        ASSIGN_OR_RETURN(
            Statement query,
            db_.prepare(
                "SELECT DISTINCT key_no, rank FROM metric_chunk WHERE run_no = ? AND last_step > ?",
                runNo_, step));
        RETURN_IF_ERROR(query.forEach([&](const Statement& row) {
            all.push_back({row.intAt(0), static_cast<int>(row.intAt(1))});
        }));
    }
    for (const SeriesNo& series : all) {
        RETURN_IF_ERROR(cutSeries(series, step));
    }
    return okStatus();
}

Status MetricWriter::cutSeries(const SeriesNo& series, std::int64_t step) {
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, series, INT64_MIN, INT64_MAX));
    for (const ChunkHead& head : heads) {
        if (head.lastStep <= step) {
            continue;
        }
        if (head.firstStep > step) {
            RETURN_IF_ERROR(removeChunk(head.no));
            continue;
        }
        Result<std::vector<values::MetricPoint>> part = readChunk(db_, head);
        if (absl::IsDataLoss(part.status())) {
            continue;
        }
        RETURN_IF_ERROR(part.status());
        std::erase_if(*part, [&](const values::MetricPoint& point) { return point.step > step; });
        RETURN_IF_ERROR(removeChunk(head.no));
        RETURN_IF_ERROR(writeChunk(series, head.position, *part));
    }
    return okStatus();
}

}  // namespace millrace::runs
