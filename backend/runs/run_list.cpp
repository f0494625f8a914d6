// RunStore, the part that reads many: lists, names, metrics.
#include <algorithm>
#include <unordered_map>

#include "backend/core/hash.h"
#include "backend/core/json.h"
#include "backend/runs/database.h"
#include "backend/runs/decimate.h"
#include "backend/runs/run_filter.h"
#include "backend/runs/run_rows.h"
#include "backend/runs/run_store.h"

namespace millrace::runs {
namespace {

constexpr int kPageSizeMax = 50'000;

struct Listed {
    std::int64_t no;
    std::string id;
};

void bindAll(Statement& statement, const SqlText& sql) {
    for (const auto& value : sql.values) {
        std::visit([&](const auto& v) { statement.bind(v); }, value);
    }
}

std::string_view viewCondition(const RunQuery& query) {
    if (query.changedSince >= 0 || query.view == RunQuery::View::kAll) {
        return "1";
    }
    return query.view == RunQuery::View::kDeleted ? "r.is_deleted = 1" : "r.is_deleted = 0";
}

// Every matching run in order, as keys only: 10,000 of them are a few milliseconds, and a page's
// place among them is found by its last run, so a page token survives new runs.
Result<std::vector<Listed>> matching(Database& db, const RunQuery& query) {
    ASSIGN_OR_RETURN(const RunFilter filter, parseFilter(query.filter));
    ASSIGN_OR_RETURN(const std::vector<OrderKey> order, parseOrderBy(query.orderBy));
    const SqlText condition = conditionOf(filter), terms = orderOf(order);
    ASSIGN_OR_RETURN(
        Statement statement,
        db.prepare(strCat("SELECT r.no, r.id FROM run r WHERE ", viewCondition(query),
                          " AND r.change > ? AND ", condition.text, " ORDER BY ", terms.text)));
    statement.bind(query.changedSince);
    bindAll(statement, condition);
    bindAll(statement, terms);
    std::vector<Listed> all;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, statement.step());
        if (!isRow) {
            return all;
        }
        all.push_back({statement.intAt(0), statement.textAt(1)});
    }
}

std::string queryHash(const RunQuery& query) {
    Json text = {query.filter, query.orderBy, static_cast<int>(query.view), query.changedSince};
    return hashHex(dumpJson(text)).substr(0, 12);
}

std::string pageToken(const RunQuery& query, const std::string& lastId, std::size_t offset) {
    return strCat(queryHash(query), ".", lastId, ".", offset);
}

// Where the page begins: behind the token's run, or at its offset when that run is gone.
Result<std::size_t> pageStart(const RunQuery& query, const std::vector<Listed>& all) {
    if (query.pageToken.empty()) {
        return std::size_t{0};
    }
    const std::string& token = query.pageToken;
    const std::size_t first = token.find('.'), last = token.rfind('.');
    const std::string offset = last == std::string::npos ? "" : token.substr(last + 1);
    if (first == std::string::npos || first == last || offset.empty() || offset.size() > 9 ||
        offset.find_first_not_of("0123456789") != std::string::npos) {
        return invalidArgument("Invalid page token '", token, "'");
    }
    if (token.substr(0, first) != queryHash(query)) {
        return invalidArgument("Invalid page token: it belongs to another filter or order");
    }
    const std::string id = token.substr(first + 1, last - first - 1);
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Listed& l) { return l.id == id; });
    return it != all.end() ? static_cast<std::size_t>(it - all.begin()) + 1
                           : std::min<std::size_t>(std::stoul(offset), all.size());
}

using Page = std::unordered_map<std::int64_t, RunRecord*>;

Status fillPairs(Database& db, const std::string& nos, std::string_view table, const Page& page,
                 std::map<std::string, std::string> RunRecord::* member) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare(strCat("SELECT run_no, key, value FROM ", table,
                                       " WHERE run_no IN (SELECT value FROM json_each(?))")));
    query.bind(nos);
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return okStatus();
        }
        if (const auto it = page.find(query.intAt(0)); it != page.end()) {
            (it->second->*member)[query.textAt(1)] = query.textAt(2);
        }
    }
}

Status fillMetrics(Database& db, const std::string& nos, const Page& page) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT run_no, key, step, epoch, rows, time_ms, value, attempt "
                                "FROM latest_metric WHERE run_no IN "
                                "(SELECT value FROM json_each(?))"));
    query.bind(nos);
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return okStatus();
        }
        if (const auto it = page.find(query.intAt(0)); it != page.end()) {
            it->second->latestMetrics[query.textAt(1)] = {
                query.intAt(2), query.intAt(3),    query.intAt(4),
                query.intAt(5), query.doubleAt(6), static_cast<int>(query.intAt(7))};
        }
    }
}

// A fixed number of statements, however many runs are on the page.
Status fillPage(Database& db, const RunQuery& query, const std::vector<Listed>& all,
                std::size_t from, std::size_t to, RunPage& page) {
    Json nos = Json::array();
    for (std::size_t i = from; i < to; ++i) {
        nos.push_back(all[i].no);
    }
    const std::string nosText = dumpJson(nos);
    std::unordered_map<std::int64_t, std::size_t> place;
    for (std::size_t i = from; i < to; ++i) {
        place[all[i].no] = i - from;
    }
    page.runs.resize(to - from);
    ASSIGN_OR_RETURN(Statement rows, db.prepare(strCat("SELECT ", kRunColumns,
                                                       " FROM run r WHERE r.no IN "
                                                       "(SELECT value FROM json_each(?))")));
    rows.bind(nosText);
    Page byNo;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, rows.step());
        if (!isRow) {
            break;
        }
        std::int64_t no = 0;
        RunRecord run = readRun(rows, no);
        RunRecord& slot = page.runs[place.at(no)];
        slot = std::move(run);
        byNo[no] = &slot;
    }
    RETURN_IF_ERROR(fillPairs(db, nosText, "run_tag", byNo, &RunRecord::tags));
    if (query.withParams) {
        RETURN_IF_ERROR(fillPairs(db, nosText, "run_param", byNo, &RunRecord::params));
    }
    return query.withMetrics ? fillMetrics(db, nosText, byNo) : okStatus();
}

Result<std::vector<std::string>> idsBy(Database& db, std::string_view condition,
                                       std::string_view text) {
    ASSIGN_OR_RETURN(Statement query, db.prepare(strCat("SELECT r.id FROM run r WHERE ", condition,
                                                        " ORDER BY r.created_ms DESC LIMIT 9")));
    query.bind(text);
    std::vector<std::string> ids;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return ids;
        }
        ids.push_back(query.textAt(0));
    }
}

std::string joined(const std::vector<std::string>& ids) {
    std::string text;
    for (std::size_t i = 0; i < ids.size() && i < 8; ++i) {
        strAppend(&text, i == 0 ? "" : ", ", ids[i]);
    }
    return ids.size() > 8 ? text + ", ..." : text;
}

constexpr std::string_view kChangeSql = "SELECT value FROM counter WHERE name = 'change'";

}  // namespace

Result<RunPage> RunStore::list(const RunQuery& query) const {
    if (query.pageSize < 1 || query.pageSize > kPageSizeMax) {
        return invalidArgument("page size ", query.pageSize, ": must be 1 to ", kPageSizeMax);
    }
    MutexLock lock(readMutex_);
    Database& db = *reader_;
    RETURN_IF_ERROR(db.exec("BEGIN"));  // one snapshot for all statements
    RunPage page;
    const Status read = [&]() -> Status {
        ASSIGN_OR_RETURN(page.changeCursor, db.queryInt(kChangeSql));
        ASSIGN_OR_RETURN(const std::vector<Listed> all, matching(db, query));
        ASSIGN_OR_RETURN(const std::size_t from, pageStart(query, all));
        const std::size_t to =
            std::min(all.size(), from + static_cast<std::size_t>(query.pageSize));
        page.total = static_cast<std::int64_t>(all.size());
        if (to < all.size()) {
            page.nextPageToken = pageToken(query, all[to - 1].id, to);
        }
        return fillPage(db, query, all, from, to, page);
    }();
    RETURN_IF_ERROR(db.exec("ROLLBACK"));
    RETURN_IF_ERROR(read);
    return page;
}

Result<std::int64_t> RunStore::changeCursor() const {
    MutexLock lock(readMutex_);
    return reader_->queryInt(kChangeSql);
}

Result<std::string> RunStore::findId(std::string_view text) const {
    if (text.empty()) {
        return invalidArgument("a run is named by its id or name, not by nothing");
    }
    constexpr std::string_view kWays[] = {
        "r.id = ?1 OR r.uid = ?1 OR r.submit_key = ?1",
        "r.name = ?1 AND r.is_deleted = 0",
        "(substr(r.id, 1, length(?1)) = ?1 OR substr(r.uid, 1, length(?1)) = ?1 OR "
        "substr(r.name, 1, length(?1)) = ?1 OR substr(r.id, 3, length(?1)) = ?1) AND "
        "r.is_deleted = 0",
    };
    MutexLock lock(readMutex_);
    for (const std::string_view way : kWays) {
        ASSIGN_OR_RETURN(const std::vector<std::string> ids, idsBy(*reader_, way, text));
        if (ids.size() == 1) {
            return ids[0];
        }
        if (ids.size() > 1) {
            return invalidArgument("run '", text, "': several match: ", joined(ids),
                                   " (newest first); give an id");
        }
    }
    return notFound("run '", text, "': not known");
}

Result<MetricSeries> RunStore::metrics(std::string_view id, std::string_view key,
                                       const MetricRange& range) const {
    MutexLock lock(readMutex_);
    Database& db = *reader_;
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    ASSIGN_OR_RETURN(const AttemptLimits limits, AttemptLimits::read(db, no));
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare("SELECT step, epoch, rows, time_ms, value, attempt FROM metric_point WHERE "
                   "run_no = ? AND key_no = (SELECT no FROM metric_key WHERE name = ?) AND step "
                   "BETWEEN ? AND ? ORDER BY step, attempt, worker, seq"));
    query.bind(no).bind(key).bind(range.fromStep).bind(range.toStep);
    MetricSeries series{std::string(key)};
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            break;
        }
        const MetricPoint point{query.intAt(0),    query.intAt(1),
                                query.intAt(2),    query.intAt(3),
                                query.doubleAt(4), static_cast<int>(query.intAt(5))};
        if (!limits.isVisible(point.attempt, point.step)) {
            continue;
        }
        while (!series.points.empty() && series.points.back().step == point.step &&
               series.points.back().attempt < point.attempt) {
            series.points.pop_back();
        }
        series.points.push_back(point);
    }
    series.numPoints = static_cast<std::int64_t>(series.points.size());
    if (range.maxPoints > 0 && series.numPoints > range.maxPoints) {
        series.points = decimate(series.points, range.maxPoints);
        series.isDecimated = true;
    }
    return series;
}

Result<std::vector<std::string>> RunStore::metricKeys(std::string_view id) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*reader_, id));
    ASSIGN_OR_RETURN(Statement query, reader_->prepare("SELECT key FROM latest_metric WHERE "
                                                       "run_no = ? ORDER BY key"));
    query.bind(no);
    std::vector<std::string> keys;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return keys;
        }
        keys.push_back(query.textAt(0));
    }
}

}  // namespace millrace::runs
