#include "backend/runs/metrics/rank_fold.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace millrace::runs {
namespace {

// Packs a rank's values of one line: u16 length, name, f64 value, one after the other.
std::string packNamed(const std::vector<std::pair<std::string, double>>& items) {
    std::string bytes;
    for (const auto& [name, value] : items) {
        const auto length = static_cast<std::uint16_t>(std::min<std::size_t>(name.size(), 0xffff));
        char number[sizeof(double)];
        std::memcpy(number, &length, sizeof(length));
        bytes.append(number, sizeof(length));
        bytes.append(name, 0, length);
        std::memcpy(number, &value, sizeof(value));
        bytes.append(number, sizeof(value));
    }
    return bytes;
}

template <class Take>
void unpackNamed(std::string_view bytes, Take take) {
    std::uint16_t length = 0;
    while (bytes.size() >= sizeof(length)) {
        std::memcpy(&length, bytes.data(), sizeof(length));
        bytes.remove_prefix(sizeof(length));
        double value = 0;
        if (bytes.size() < length + sizeof(value)) {
            return;
        }
        std::memcpy(&value, bytes.data() + length, sizeof(value));
        take(bytes.substr(0, length), value);
        bytes.remove_prefix(length + sizeof(value));
    }
}

// The ranks' lines of one step.
struct OpenStep {
    ReportedLine line;
    std::map<std::string, std::vector<values::RankValue>, std::less<>> values;

    void add(const Statement& row) {
        line.step = row.intAt(0);
        line.epoch = std::max(line.epoch, row.intAt(2));
        line.rows = std::max(line.rows, row.intAt(3));
        line.timeMs = std::max(line.timeMs, row.intAt(4));
        const int rank = static_cast<int>(row.intAt(1));
        unpackNamed(row.blobAt(5), [&](std::string_view name, double value) {
            auto found = values.find(name);
            if (found == values.end()) {
                found = values.emplace(name, std::vector<values::RankValue>()).first;
            }
            found->second.push_back({rank, value});
        });
    }
    ReportedLine take() {
        for (auto& [name, told] : values) {
            line.summaries.emplace_back(name, values::summarize(std::move(told)));
        }
        return std::move(line);
    }
};

}  // namespace

RankParts partsOf(const ReportedLine& line, int rank) {
    const ReportedLine empty{line.seq, line.step, line.epoch, line.rows, line.timeMs, {}};
    RankParts parts{empty, empty};
    parts.ofRank.rank = rank;
    for (const auto& value : line.values) {
        if (values::isRankMetric(value.first)) {
            parts.ofRank.values.push_back(value);
        } else if (rank == 0) {
            parts.own.values.push_back(value);
        }
    }
    return parts;
}

Result<int> RankFold::numRanks() {
    ASSIGN_OR_RETURN(Statement query,
                     db_.prepare("SELECT num_ranks FROM attempt WHERE run_no = ? AND attempt = ?",
                                 runNo_, attempt_));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    return isRow ? static_cast<int>(query.intAt(0)) : 1;
}

Status RankFold::add(int rank, const ReportedLine& line) {
    if (line.values.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(
        Statement insert,
        db_.prepare("INSERT OR REPLACE INTO metric_open VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", runNo_,
                    attempt_, line.step, rank, line.seq));
    const std::string data = packNamed(line.values);
    return insert.bind(line.epoch).bind(line.rows).bind(line.timeMs).bindBlob(data).run();
}

Result<std::vector<ReportedLine>> RankFold::takeSettled() {
    ASSIGN_OR_RETURN(const int ranks, numRanks());
    std::int64_t settled = 0;
    {
        ASSIGN_OR_RETURN(Statement query,
                         db_.prepare("SELECT count(*), min(step), max(step) FROM worker WHERE "
                                     "run_no = ? AND attempt = ? AND step > 0",
                                     runNo_, attempt_));
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow || query.intAt(0) == 0) {
            return std::vector<ReportedLine>();
        }
        settled = query.intAt(0) < ranks ? 0 : query.intAt(1);
        settled = std::max(settled, query.intAt(2) - kOpenSteps);
    }
    return takeUpTo(settled);
}

Result<std::vector<ReportedLine>> RankFold::takeUpTo(std::int64_t step) {
    std::vector<ReportedLine> lines;
    {
        ASSIGN_OR_RETURN(
            Statement query,
            db_.prepare("SELECT step, rank, epoch, rows, time_ms, data FROM metric_open WHERE "
                        "run_no = ? AND attempt = ? AND step <= ? ORDER BY step, rank, seq",
                        runNo_, attempt_, step));
        OpenStep open;
        for (bool isFirst = true;; isFirst = false) {
            ASSIGN_OR_RETURN(const bool isRow, query.step());
            if (!isFirst && (!isRow || query.intAt(0) != open.line.step)) {
                lines.push_back(open.take());
                open = OpenStep();
            }
            if (!isRow) {
                break;
            }
            open.add(query);
        }
    }
    if (lines.empty()) {
        return lines;
    }
    RETURN_IF_ERROR(
        db_.run("DELETE FROM metric_open WHERE run_no = ? AND attempt = ? AND step <= ?", runNo_,
                attempt_, step));
    return lines;
}

Result<std::vector<int>> RankFold::openAttempts(Database& db, std::int64_t runNo) {
    return db.select([](const Statement& row) { return static_cast<int>(row.intAt(0)); },
                     "SELECT DISTINCT attempt FROM metric_open WHERE run_no = ? ORDER BY attempt",
                     runNo);
}

}  // namespace millrace::runs
