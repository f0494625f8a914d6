// RunStore, the part that reads many: lists, names, metrics.
#include <algorithm>
#include <unordered_map>

#include "backend/core/hash.h"
#include "backend/core/json.h"
#include "backend/runs/database.h"
#include "backend/runs/metric_table.h"
#include "backend/runs/run_filter.h"
#include "backend/runs/run_rows.h"
#include "backend/runs/run_store.h"

namespace millrace::runs {
namespace {

constexpr int kPageSizeMax = 50'000;

// As isSystemMetric.
constexpr std::string_view kNoSystemMetrics = " AND substr(key, 1, 7) <> 'system.'";

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

Status fillMetrics(Database& db, const std::string& nos, const Page& page, bool withSystem) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare(strCat("SELECT run_no, key, step, epoch, rows, time_ms, value, "
                                       "attempt FROM latest_metric WHERE run_no IN "
                                       "(SELECT value FROM json_each(?))",
                                       withSystem ? "" : kNoSystemMetrics)));
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
    return query.withMetrics ? fillMetrics(db, nosText, byNo, query.withSystemMetrics) : okStatus();
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

// All statements of `read` see the store at one moment.
template <class T, class Read>
Result<T> inSnapshot(Database& db, Read read) {
    RETURN_IF_ERROR(db.exec("BEGIN"));
    Result<T> result = read();
    RETURN_IF_ERROR(db.exec("ROLLBACK"));
    return result;
}

constexpr std::string_view kChangeSql = "SELECT value FROM counter WHERE name = 'change'";

}  // namespace

Result<RunPage> RunStore::list(const RunQuery& query) const {
    if (query.pageSize < 1 || query.pageSize > kPageSizeMax) {
        return invalidArgument("page size ", query.pageSize, ": must be 1 to ", kPageSizeMax);
    }
    MutexLock lock(readMutex_);
    Database& db = *reader_;
    return inSnapshot<RunPage>(db, [&]() -> Result<RunPage> {
        RunPage page;
        ASSIGN_OR_RETURN(page.changeCursor, db.queryInt(kChangeSql));
        ASSIGN_OR_RETURN(const std::vector<Listed> all, matching(db, query));
        ASSIGN_OR_RETURN(const std::size_t from, pageStart(query, all));
        const std::size_t to =
            std::min(all.size(), from + static_cast<std::size_t>(query.pageSize));
        page.total = static_cast<std::int64_t>(all.size());
        if (to < all.size()) {
            page.nextPageToken = pageToken(query, all[to - 1].id, to);
        }
        RETURN_IF_ERROR(fillPage(db, query, all, from, to, page));
        return page;
    });
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
    ASSIGN_OR_RETURN(std::vector<MetricSeries> series, metrics(id, {{std::string(key), range}}));
    return std::move(series.front());
}

Result<std::vector<MetricSeries>> RunStore::metrics(
    std::string_view id, const std::vector<MetricRequest>& requests) const {
    MutexLock lock(readMutex_);
    Database& db = *reader_;
    // One snapshot: a seal moves points from the tail into chunks.
    return inSnapshot<std::vector<MetricSeries>>(db, [&]() -> Result<std::vector<MetricSeries>> {
        ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
        return MetricReader(db, no, id).read(requests);
    });
}

Result<std::optional<std::int64_t>> RunStore::resumedFrom(std::string_view id, int attempt) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*reader_, id));
    ASSIGN_OR_RETURN(Statement query,
                     reader_->prepare("SELECT min(resume_step) FROM attempt WHERE run_no = ? AND "
                                      "attempt > ?"));
    ASSIGN_OR_RETURN(const bool isRow, query.bind(no).bind(attempt).step());
    return isRow && !query.isNullAt(0) ? std::optional(query.intAt(0)) : std::nullopt;
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
