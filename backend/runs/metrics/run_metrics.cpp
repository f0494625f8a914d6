#include "backend/runs/metrics/run_metrics.h"

#include <algorithm>
#include <map>

#include "backend/runs/metrics/metric_table.h"
#include "backend/runs/metrics/rank_fold.h"
#include "backend/runs/metrics/tail_line.h"
#include "backend/runs/run_rows.h"

namespace millrace::runs {
namespace {

// A page of lines with more values than this ends early.
constexpr std::size_t kPageValues = 20'000;

// The series that holds a rank's reports: with one rank only, it is the run's.
Result<int> storedRank(Database& db, std::int64_t no, std::string_view id, int rank) {
    if (rank == values::kNoRank) {
        return rank;
    }
    ASSIGN_OR_RETURN(
        const std::int64_t numRanks,
        db.queryInt("SELECT coalesce(max(num_ranks), 1) FROM attempt WHERE run_no = ?", no));
    if (rank < 0 || rank >= numRanks) {
        return invalidArgument("rank ", rank, ": run ", id, " has ", numRanks,
                               numRanks == 1 ? " rank: 0" : " ranks, from 0");
    }
    if (numRanks > kRanksKept) {
        return failedPrecondition(
            "run ", id, " has ", numRanks, " ranks: of more than ", kRanksKept,
            " the least, the median and the greatest are kept, not each rank's values");
    }
    return numRanks == 1 ? values::kNoRank : rank;
}

// Reads lines behind a cursor, of one rank or the run: sealed ones from chunks, others from the
// tail.
class LineReader {
 public:
    LineReader(Database& db, std::int64_t runNo, int rank, std::size_t most)
        : db_(db), runNo_(runNo), rank_(rank), most_(static_cast<std::int64_t>(most)) {}

    Status read(std::int64_t after, MetricLines& out) {
        ASSIGN_OR_RETURN(const std::int64_t sealed,
                         db_.queryInt("SELECT sealed_line FROM run WHERE no = ?", runNo_));
        std::int64_t at = after;
        while (lines_.empty() && at < sealed) {
            ASSIGN_OR_RETURN(at, readSealed(at, sealed));
        }
        bool isMore = at < sealed;
        if (lines_.empty()) {
            ASSIGN_OR_RETURN(isMore, readTail(at));
        } else if (!isMore) {
            isMore = true;  // the tail may have more
        }
        take(at, isMore, out);
        return okStatus();
    }

 private:
    // Reads a range of sealed lines behind `after`; returns its end.
    Result<std::int64_t> readSealed(std::int64_t after, std::int64_t sealed) {
        ASSIGN_OR_RETURN(Statement next,
                         db_.prepare("SELECT min(first_line) FROM metric_chunk WHERE run_no = ? "
                                     "AND last_line > ? AND rank = ?",
                                     runNo_, after, rank_));
        ASSIGN_OR_RETURN(const bool isRow, next.step());
        if (!isRow || next.isNullAt(0)) {
            return sealed;
        }
        const std::int64_t first = std::max(next.intAt(0), after + 1);
        const std::int64_t last = std::min(first + most_ - 1, sealed);
        ASSIGN_OR_RETURN(Statement query,
                         db_.prepare(strCat("SELECT ", kChunkHeadColumns,
                                            ", key_no FROM metric_chunk WHERE run_no = ? AND "
                                            "last_line >= ? AND first_line <= ? AND rank = ?"),
                                     runNo_, first, last, rank_));
        for (;;) {
            ASSIGN_OR_RETURN(const bool isChunk, query.step());
            if (!isChunk) {
                return last;
            }
            // A damaged chunk is reported to clients that request its series.
            const Result<std::vector<values::MetricPoint>> points =
                readChunk(db_, readChunkHead(query));
            if (!points.ok() && !absl::IsDataLoss(points.status())) {
                return points.status();
            }
            for (std::size_t i = 0; points.ok() && i < points->size(); ++i) {
                const values::MetricPoint& point = (*points)[i];
                if (point.line >= first && point.line <= last) {
                    add(point, static_cast<std::uint32_t>(query.intAt(6)));
                }
            }
        }
    }

    void add(const values::MetricPoint& point, std::uint32_t key) {
        values::MetricLine& line = lineOf(point);
        line.values.push_back({key, point.value, point.ranks});
    }

    values::MetricLine& lineOf(const values::MetricPoint& point) {
        const auto [found, isNew] = lines_.try_emplace(point.line);
        if (isNew) {
            found->second = {point.line,   point.step,    point.epoch, point.rows,
                             point.timeMs, point.attempt, rank_,       {}};
        }
        return found->second;
    }

    // Returns true if there are more than `most`.
    Result<bool> readTail(std::int64_t after) {
        const TailRows rows = tailRowsOf(runNo_);
        ASSIGN_OR_RETURN(
            Statement query,
            db_.prepare(
                strCat(
                    "SELECT ", kTailColumns,
                    " FROM metric_line WHERE no > ? AND no <= ? AND rank = ? ORDER BY no LIMIT ?"),
                rows.first + after, rows.last, rank_, most_));
        std::int64_t count = 0;
        for (;; ++count) {
            ASSIGN_OR_RETURN(const bool isRow, query.step());
            if (!isRow) {
                return count == most_;
            }
            values::MetricLine& line = lineOf(readTailPoint(query, rows));
            const TailValues told(query.blobAt(5));
            for (std::size_t i = 0; i < told.size(); ++i) {
                line.values.push_back({told.keyAt(i), told.valueAt(i), std::nullopt});
            }
            for (const TailSummary& one : unpackTailSummaries(query.blobAt(6))) {
                line.values.push_back({one.keyNo, one.summary.median, one.summary.ranks});
            }
        }
    }

    void take(std::int64_t at, bool isMore, MetricLines& out) {
        std::size_t numValues = 0;
        out.cursor.line = std::max(out.cursor.line, at);
        out.isMore = isMore;
        for (auto& [number, line] : lines_) {
            if (numValues > kPageValues) {
                out.cursor.line = out.lines.back().number;
                out.isMore = true;
                return;
            }
            std::ranges::sort(line.values,
                              [](const auto& a, const auto& b) { return a.key < b.key; });
            numValues += line.values.size();
            out.cursor.line = std::max(out.cursor.line, number);
            out.lines.push_back(std::move(line));
        }
    }

    Database& db_;
    const std::int64_t runNo_;
    const int rank_;
    const std::int64_t most_;
    std::map<std::int64_t, values::MetricLine> lines_;
};

// Finds the newest attempt that has begun, and what attempts since `after` have made void.
Status readAttempts(Database& db, std::int64_t runNo, const values::MetricCursor& after,
                    MetricLines& out) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT attempt, resume_step FROM attempt WHERE "
                                                 "run_no = ? AND attempt > ? AND has_begun = 1",
                                                 runNo, after.attempt));
    RETURN_IF_ERROR(query.forEach([&](const Statement& row) {
        out.cursor.attempt = std::max(out.cursor.attempt, static_cast<int>(row.intAt(0)));
        // The first attempt replaces nothing, and a client that has read nothing has nothing to
        // drop.
        if (row.intAt(0) > 1 && after.line > 0) {
            out.replacesAfterStep =
                std::min(out.replacesAfterStep.value_or(INT64_MAX), row.intAt(1));
        }
    }));
    return okStatus();
}

// The cursor behind everything that is stored of a run.
Result<values::MetricCursor> newestCursor(Database& db, std::int64_t runNo) {
    const TailRows rows = tailRowsOf(runNo);
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT (SELECT coalesce(max(attempt), 0) FROM attempt WHERE "
                                "run_no = ?1 AND has_begun = 1), sealed_line, (SELECT max(no) FROM "
                                "metric_line WHERE no BETWEEN ?2 AND ?3) FROM run WHERE no = ?1",
                                runNo, rows.first, rows.last));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    INVARIANT(isRow, "the run was found");
    const std::int64_t tail = query.isNullAt(2) ? 0 : query.intAt(2) - rows.first;
    return values::MetricCursor{static_cast<int>(query.intAt(0)), std::max(query.intAt(1), tail)};
}

}  // namespace

Result<values::MetricSeries> RunMetrics::metrics(std::string_view id, std::string_view key,
                                                 const MetricRange& range) const {
    ASSIGN_OR_RETURN(std::vector<values::MetricSeries> series,
                     metrics(id, {{std::string(key), range}}));
    return std::move(series.front());
}

Result<std::vector<values::MetricSeries>> RunMetrics::metrics(
    std::string_view id, const std::vector<MetricRequest>& requests) const {
    ASSIGN_OR_RETURN(SeriesAtCursor read, metricsAtCursor(id, requests));
    return std::move(read.series);
}

Result<SeriesAtCursor> RunMetrics::metricsAtCursor(
    std::string_view id, const std::vector<MetricRequest>& requests) const {
    MutexLock lock(file_.browseMutex);
    Database& db = *file_.browser;
    // One snapshot: a seal moves points from the tail into chunks.
    return inSnapshot<SeriesAtCursor>(db, [&]() -> Result<SeriesAtCursor> {
        ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
        std::vector<MetricRequest> stored = requests;
        for (MetricRequest& request : stored) {
            ASSIGN_OR_RETURN(request.range.rank, storedRank(db, no, id, request.range.rank));
        }
        SeriesAtCursor out;
        ASSIGN_OR_RETURN(out.series, MetricReader(db, no, id).read(stored));
        for (std::size_t i = 0; i < requests.size(); ++i) {
            out.series[i].rank = requests[i].range.rank;
        }
        ASSIGN_OR_RETURN(out.cursor, newestCursor(db, no));
        return out;
    });
}

Result<std::vector<std::string>> RunMetrics::metricKeys(std::string_view id) const {
    MutexLock lock(file_.browseMutex);
    Database& db = *file_.browser;
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    return db.select(firstText, "SELECT key FROM latest_metric WHERE run_no = ? ORDER BY key", no);
}

Result<MetricLines> RunMetrics::metricLines(std::string_view id, const values::MetricCursor& after,
                                            std::size_t most, int rank) const {
    MutexLock lock(file_.browseMutex);
    Database& db = *file_.browser;
    return inSnapshot<MetricLines>(db, [&]() -> Result<MetricLines> {
        ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
        ASSIGN_OR_RETURN(const int stored, storedRank(db, no, id, rank));
        MetricLines out;
        out.cursor = after;
        ASSIGN_OR_RETURN(const Standing run, standingOf(db, no));
        out.hasEnded = run.hasEnded();
        RETURN_IF_ERROR(readAttempts(db, no, after, out));
        RETURN_IF_ERROR(
            LineReader(db, no, stored, std::max<std::size_t>(most, 1)).read(after.line, out));
        return out;
    });
}

Result<values::MetricNames> RunMetrics::metricNames(
    const std::vector<std::uint32_t>& metricKeyNumbers) const {
    MutexLock lock(file_.browseMutex);
    values::MetricNames names;
    for (const std::uint32_t number : metricKeyNumbers) {
        ASSIGN_OR_RETURN(Statement query,
                         file_.browser->prepare("SELECT name FROM metric_key WHERE no = ?",
                                                std::int64_t{number}));
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (isRow) {
            names[number] = query.textAt(0);
        }
    }
    return names;
}

}  // namespace millrace::runs
