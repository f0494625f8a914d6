// MetricWriter: the tail, and chunks made of it.
#include <algorithm>
#include <array>

#include "backend/runs/metric_chunk.h"
#include "backend/runs/metric_table.h"
#include "backend/runs/tail_line.h"

namespace millrace::runs {
namespace {

// A tail is read as a whole, so its length is what a reader pays; each seal compresses again what
// the last small chunk has.
constexpr std::int64_t kTailLines = 1024;
constexpr std::int64_t kTailValues = 128 << 10;
// A chunk that is not full is joined with what comes unless it is much larger: each point is
// compressed again a few times at most, and a metric has a few small chunks at most.
constexpr std::int64_t kJoinRatio = 3;

}  // namespace

void settle(std::vector<MetricPoint>& points) {
    const auto byStep = [](const MetricPoint& a, const MetricPoint& b) { return a.step < b.step; };
    if (!std::is_sorted(points.begin(), points.end(), byStep)) {
        std::stable_sort(points.begin(), points.end(), byStep);
    }
    std::size_t kept = 0;
    for (std::size_t from = 0, to = 0; from < points.size(); from = to) {
        int newest = points[from].attempt;
        for (to = from; to < points.size() && points[to].step == points[from].step; ++to) {
            newest = std::max(newest, points[to].attempt);
        }
        for (std::size_t i = from; i < to; ++i) {
            if (points[i].attempt == newest) {
                points[kept++] = points[i];
            }
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
        ASSIGN_OR_RETURN(Statement insert, db_.prepare("INSERT INTO metric_key(name) VALUES(?)"));
        RETURN_IF_ERROR(insert.bind(key).run());
        ASSIGN_OR_RETURN(no, findMetricKey(db_, key));
    }
    keyNos_.emplace(key, no);
    return no;
}

Status MetricWriter::append(int attempt, const MetricLine& line) {
    const TailRows rows = tailRowsOf(runNo_);
    if (nextLine_ < 0) {
        ASSIGN_OR_RETURN(Statement newest,
                         db_.prepare("SELECT max(no) FROM metric_line WHERE no BETWEEN ? AND ?"));
        ASSIGN_OR_RETURN(const bool isRow, newest.bind(rows.first).bind(rows.last).step());
        nextLine_ = !isRow || newest.isNullAt(0) ? rows.first : newest.intAt(0) + 1;
    }
    std::vector<TailValue> values;
    values.reserve(line.values.size());
    for (const auto& [key, value] : line.values) {
        ASSIGN_OR_RETURN(const std::int64_t no, keyNo(key));
        values.push_back({static_cast<std::uint32_t>(no), value});
    }
    ASSIGN_OR_RETURN(Statement insert,
                     db_.prepare("INSERT INTO metric_line VALUES(?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(nextLine_++).bind(attempt).bind(line.step).bind(line.epoch).bind(line.rows);
    const std::string packed = packTailValues(std::move(values));
    return insert.bind(line.timeMs).bindBlob(packed).run();
}

Status MetricWriter::sealIfLong() {
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(Statement size,
                     db_.prepare("SELECT count(*), coalesce(sum(length(data)), 0) FROM metric_line "
                                 "WHERE no BETWEEN ? AND ?"));
    ASSIGN_OR_RETURN(const bool isRow, size.bind(rows.first).bind(rows.last).step());
    const bool isLong =
        isRow && (size.intAt(0) >= kTailLines || size.intAt(1) >= kTailValues * kTailValueBytes);
    return isLong ? seal() : okStatus();
}

Result<MetricWriter::ByKey> MetricWriter::readTail() {
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(Statement query,
                     db_.prepare("SELECT step, epoch, rows, time_ms, attempt, data FROM "
                                 "metric_line WHERE no BETWEEN ? AND ? ORDER BY no"));
    query.bind(rows.first).bind(rows.last);
    ByKey points;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return points;
        }
        MetricPoint point{query.intAt(0),
                          query.intAt(1),
                          query.intAt(2),
                          query.intAt(3),
                          0,
                          static_cast<int>(query.intAt(4))};
        const TailValues values(query.blobAt(5));
        for (std::size_t i = 0; i < values.size(); ++i) {
            point.value = values.valueAt(i);
            points[values.keyAt(i)].push_back(point);
        }
    }
}

Status MetricWriter::seal() {
    ASSIGN_OR_RETURN(ByKey tail, readTail());
    for (auto& [keyNo, points] : tail) {
        RETURN_IF_ERROR(addSealed(keyNo, std::move(points)));
    }
    const TailRows rows = tailRowsOf(runNo_);
    ASSIGN_OR_RETURN(Statement remove,
                     db_.prepare("DELETE FROM metric_line WHERE no BETWEEN ? AND ?"));
    nextLine_ = -1;
    return remove.bind(rows.first).bind(rows.last).run();
}

Status MetricWriter::addSealed(std::int64_t keyNo, std::vector<MetricPoint> points) {
    settle(points);
    if (points.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, keyNo, INT64_MIN, INT64_MAX));
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
    std::vector<MetricPoint> all;
    all.reserve(static_cast<std::size_t>(total));
    for (std::size_t i = from; i < heads.size(); ++i) {
        const Result<std::vector<MetricPoint>> part = readChunk(db_, heads[i]);
        if (absl::IsDataLoss(part.status())) {
            continue;  // it stays as it is, for a reader to name
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
        RETURN_IF_ERROR(writeChunk(keyNo, position++, std::span(all).subspan(at, count)));
    }
    return okStatus();
}

Status MetricWriter::writeChunk(std::int64_t keyNo, std::int64_t position,
                                std::span<const MetricPoint> part) {
    ASSIGN_OR_RETURN(Statement insert,
                     db_.prepare("INSERT INTO metric_chunk(run_no, key_no, position, first_step, "
                                 "last_step, num_points, level1024, level256, level64, level16, "
                                 "points) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    const auto count = static_cast<std::int64_t>(part.size());
    insert.bind(runNo_).bind(keyNo).bind(position);
    insert.bind(part.front().step).bind(part.back().step).bind(count);
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
    ASSIGN_OR_RETURN(Statement remove, db_.prepare("DELETE FROM metric_chunk WHERE no = ?"));
    return remove.bind(no).run();
}

Status MetricWriter::cutAfter(std::int64_t step) {
    RETURN_IF_ERROR(seal());
    std::vector<std::int64_t> keyNos;
    {
        ASSIGN_OR_RETURN(Statement query,
                         db_.prepare("SELECT DISTINCT key_no FROM metric_chunk WHERE run_no = ? "
                                     "AND last_step > ?"));
        query.bind(runNo_).bind(step);
        for (;;) {
            ASSIGN_OR_RETURN(const bool isRow, query.step());
            if (!isRow) {
                break;
            }
            keyNos.push_back(query.intAt(0));
        }
    }
    for (const std::int64_t keyNo : keyNos) {
        RETURN_IF_ERROR(cutKey(keyNo, step));
    }
    return okStatus();
}

Status MetricWriter::cutKey(std::int64_t keyNo, std::int64_t step) {
    ASSIGN_OR_RETURN(const std::vector<ChunkHead> heads,
                     readChunkHeads(db_, runNo_, keyNo, INT64_MIN, INT64_MAX));
    for (const ChunkHead& head : heads) {
        if (head.lastStep <= step) {
            continue;
        }
        if (head.firstStep > step) {
            RETURN_IF_ERROR(removeChunk(head.no));
            continue;
        }
        Result<std::vector<MetricPoint>> part = readChunk(db_, head);
        if (absl::IsDataLoss(part.status())) {
            continue;
        }
        RETURN_IF_ERROR(part.status());
        std::erase_if(*part, [&](const MetricPoint& point) { return point.step > step; });
        RETURN_IF_ERROR(removeChunk(head.no));
        RETURN_IF_ERROR(writeChunk(keyNo, head.position, *part));
    }
    return okStatus();
}

namespace {

// One metric of one run among the old rows, which stand in order.
Status sealOldMetric(Database& db, std::int64_t runNo, std::int64_t keyNo,
                     const AttemptLimits& limits) {
    std::vector<MetricPoint> points;
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT step, epoch, rows, time_ms, value, attempt FROM "
                                "metric_point WHERE run_no = ? AND key_no = ? "
                                "ORDER BY step, attempt, worker, seq"));
    query.bind(runNo).bind(keyNo);
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            break;
        }
        const MetricPoint point{query.intAt(0),    query.intAt(1),
                                query.intAt(2),    query.intAt(3),
                                query.doubleAt(4), static_cast<int>(query.intAt(5))};
        if (limits.isVisible(point.attempt, point.step)) {
            points.push_back(point);
        }
    }
    return MetricWriter(db, runNo).addSealed(keyNo, std::move(points));
}

}  // namespace

Status sealOldPoints(Database& db) {
    std::int64_t runNo = -1, keyNo = -1;
    AttemptLimits limits;
    for (;;) {
        // The next metric by a jump of the primary key, not by reading all rows between.
        ASSIGN_OR_RETURN(Statement next,
                         db.prepare("SELECT run_no, key_no FROM metric_point WHERE "
                                    "(run_no, key_no) > (?, ?) ORDER BY run_no, key_no LIMIT 1"));
        ASSIGN_OR_RETURN(const bool isRow, next.bind(runNo).bind(keyNo).step());
        if (!isRow) {
            return okStatus();
        }
        if (next.intAt(0) != runNo) {
            ASSIGN_OR_RETURN(limits, AttemptLimits::readOld(db, next.intAt(0)));
        }
        runNo = next.intAt(0);
        keyNo = next.intAt(1);
        RETURN_IF_ERROR(sealOldMetric(db, runNo, keyNo, limits));
    }
}

}  // namespace millrace::runs
