#include "backend/runs/run_list.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <unordered_map>

#include "backend/core/hash.h"
#include "backend/runs/filter_sql.h"
#include "backend/runs/run_rows.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::runs {
namespace {

constexpr int kPageSizeMax = 50'000;
constexpr std::chrono::milliseconds kListTime{10'000};

// The same rule as isSystemMetric().
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
    if (query.changedSince >= 0 || query.view == values::RunView::kAll) {
        return "1";
    }
    return query.view == values::RunView::kDeleted ? "r.is_deleted = 1" : "r.is_deleted = 0";
}

// Every matching run in order, as keys only: 10,000 of them take a few milliseconds. The last run
// of a page locates the next page, so a page token survives new runs.
Result<std::vector<Listed>> matching(Database& db, const RunQuery& query, std::int64_t nowMs) {
    ASSIGN_OR_RETURN(const search::RunFilter filter, search::parseFilter(query.filter, nowMs));
    ASSIGN_OR_RETURN(const std::vector<search::OrderKey> order,
                     search::parseOrderBy(query.orderBy));
    const SqlText condition = conditionOf(filter), terms = orderOf(order);
    ASSIGN_OR_RETURN(
        Statement statement,
        db.prepare(strCat("SELECT r.no, r.id FROM run r WHERE ", viewCondition(query),
                          " AND r.change > ? AND ", condition.text, " ORDER BY ", terms.text),
                   query.changedSince));
    bindAll(statement, condition);
    bindAll(statement, terms);
    return statement.collect(
        [](const Statement& row) { return Listed{row.intAt(0), row.textAt(1)}; });
}

std::string queryHash(const RunQuery& query) {
    Json text = {query.filter, query.orderBy, static_cast<int>(query.view), query.changedSince};
    return hashHex(dumpJson(text)).substr(0, 12);
}

std::string pageToken(const RunQuery& query, const std::string& lastId, std::size_t offset) {
    return strCat(queryHash(query), ".", lastId, ".", offset);
}

// Start of the page: behind the token's run, or at its offset if that run is gone.
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
    const auto it = std::ranges::find_if(all, [&](const Listed& l) { return l.id == id; });
    return it != all.end() ? static_cast<std::size_t>(it - all.begin()) + 1
                           : std::min<std::size_t>(std::stoul(offset), all.size());
}

using Page = std::unordered_map<std::int64_t, values::RunSummary*>;

Status fillPairs(Database& db, const std::string& nos, std::string_view table, const Page& page,
                 std::map<std::string, std::string> values::RunSummary::* member) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare(strCat("SELECT run_no, key, value FROM ", table,
                                       " WHERE run_no IN (SELECT value FROM json_each(?))"),
                                nos));
    return query.forEach([&](const Statement& row) {
        if (const auto it = page.find(row.intAt(0)); it != page.end()) {
            (it->second->*member)[row.textAt(1)] = row.textAt(2);
        }
    });
}

Status fillMetrics(Database& db, const std::string& nos, const Page& page, bool withSystem) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare(strCat("SELECT run_no, ", kMetricColumns,
                          " FROM latest_metric WHERE run_no IN (SELECT value FROM json_each(?))",
                          withSystem ? "" : kNoSystemMetrics),
                   nos));
    return query.forEach([&](const Statement& row) {
        if (const auto it = page.find(row.intAt(0)); it != page.end()) {
            readMetric(row, 1, *it->second);
        }
    });
}

// Uses a fixed number of statements, however many runs are in the piece.
Status fillPiece(Database& db, const RunQuery& query, std::span<const Listed> listed,
                 std::span<values::RunSummary> runs) {
    Json nos = Json::array();
    std::unordered_map<std::int64_t, std::size_t> place;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        nos.push_back(listed[i].no);
        place[listed[i].no] = i;
    }
    const std::string nosText = dumpJson(nos);
    ASSIGN_OR_RETURN(
        Statement rows,
        db.prepare(strCat("SELECT ", runColumns(),
                          " FROM run r WHERE r.no IN (SELECT value FROM json_each(?))"),
                   nosText));
    Page byNo;
    RETURN_IF_ERROR(rows.forEach([&](const Statement& row) {
        std::int64_t no = 0;
        values::RunSummary run = readRun(row, no);
        values::RunSummary& slot = runs[place.at(no)];
        slot = std::move(run);
        byNo[no] = &slot;
    }));
    RETURN_IF_ERROR(fillPairs(db, nosText, "run_tag", byNo, &values::RunSummary::tags));
    if (query.withParams) {
        RETURN_IF_ERROR(fillPairs(db, nosText, "run_param", byNo, &values::RunSummary::params));
    }
    return query.withMetrics ? fillMetrics(db, nosText, byNo, query.withSystemMetrics) : okStatus();
}

// Approximate bytes of a run in a message.
std::int64_t bytesOf(const values::RunSummary& run) {
    constexpr std::size_t kPerRun = 600, kPerPair = 8, kPerMetric = 60;
    std::size_t bytes = kPerRun + run.name.size() + run.note.size() + run.exitReason.size() +
                        run.dataset.size() + run.variation.size() + run.submitKey.size();
    for (const auto* pairs : {&run.tags, &run.params}) {
        for (const auto& [key, value] : *pairs) {
            bytes += key.size() + value.size() + kPerPair;
        }
    }
    for (const auto* metrics : {&run.latestMetrics, &run.bestMetrics}) {
        for (const values::RunFigure& metric : *metrics) {
            bytes += metric.name.size() + kPerMetric;
        }
    }
    return static_cast<std::int64_t>(bytes);
}

// Adds as many runs as fit into the page's bytes, at least one, in pieces, so that a page of large
// runs is never held as a whole.
Status fillPage(Database& db, const RunQuery& query, std::span<const Listed> listed,
                values::RunPage& page) {
    constexpr std::size_t kPiece = 100;
    std::int64_t bytes = 0;
    for (std::size_t from = 0; from < listed.size(); from += kPiece) {
        const std::size_t count = std::min(kPiece, listed.size() - from);
        std::vector<values::RunSummary> piece(count);
        RETURN_IF_ERROR(fillPiece(db, query, listed.subspan(from, count), piece));
        for (values::RunSummary& run : piece) {
            bytes += bytesOf(run);
            if (bytes > query.pageBytesMax && !page.runs.empty()) {
                return okStatus();
            }
            page.runs.push_back(std::move(run));
        }
    }
    return okStatus();
}

Result<std::vector<std::string>> idsBy(Database& db, std::string_view condition,
                                       std::string_view text) {
    return db.select(
        firstText,
        strCat("SELECT r.id FROM run r WHERE ", condition, " ORDER BY r.created_ms DESC LIMIT 9"),
        text);
}

std::string joined(const std::vector<std::string>& ids) {
    std::string text;
    for (std::size_t i = 0; i < ids.size() && i < 8; ++i) {
        strAppend(&text, i == 0 ? "" : ", ", ids[i]);
    }
    return ids.size() > 8 ? text + ", ..." : text;
}

constexpr std::string_view kChangeSql = "SELECT value FROM counter WHERE name = 'change'";

constexpr std::string_view kOwnParam = "params.";

Result<std::vector<std::string>> namesIn(Database& db, search::FilterEntity entity) {
    ASSIGN_OR_RETURN(
        std::vector<std::string> names,
        db.select(firstText, strCat("SELECT DISTINCT key FROM ", tableOf(entity), " ORDER BY 1")));
    for (std::string& name : names) {
        const bool isOwn = entity == search::FilterEntity::kParam && name.starts_with(kOwnParam);
        name.erase(0, isOwn ? kOwnParam.size() : 0);
    }
    return names;
}

// "; did you mean 'eval.auc'?" also for 'auc'.
std::string hintOf(const std::string& name, const std::vector<std::string>& known) {
    if (nearestName(name, known).empty()) {
        for (const std::string& one : known) {
            if (one.ends_with("." + name)) {
                return strCat("; did you mean '", one, "'?");
            }
        }
    }
    return nameHint(name, known);
}

Result<std::string> unknownNameIn(Database& db, const search::FilterClause& clause) {
    if (clause.entity == search::FilterEntity::kAttribute) {
        return std::string();
    }
    const bool isParam = clause.entity == search::FilterEntity::kParam;
    ASSIGN_OR_RETURN(const std::int64_t isKnown,
                     db.queryInt(strCat("SELECT EXISTS (SELECT 1 FROM ", tableOf(clause.entity),
                                        " WHERE key IN (?, ?))"),
                                 clause.key, isParam ? strCat(kOwnParam, clause.key) : clause.key));
    if (isKnown != 0) {
        return std::string();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> known, namesIn(db, clause.entity));
    const std::string_view word = clause.entity == search::FilterEntity::kMetric ? "metric"
                                  : isParam                                      ? "parameter"
                                                                                 : "tag";
    return strCat("no run has a ", word, " '", clause.key, "'", hintOf(clause.key, known));
}

Result<std::string> unknownNameIn(Database& db, const search::RunFilter& filter) {
    if (filter.kind == search::RunFilter::Kind::kClause) {
        return unknownNameIn(db, filter.clause);
    }
    for (const search::RunFilter& part : filter.parts) {
        ASSIGN_OR_RETURN(std::string unknown, unknownNameIn(db, part));
        if (!unknown.empty()) {
            return unknown;
        }
    }
    return std::string();
}

}  // namespace

Result<std::string> RunLists::unknownNameIn(const search::RunFilter& filter) const {
    MutexLock lock(file_.readMutex);
    return runs::unknownNameIn(*file_.reader, filter);
}

Result<values::RunPage> RunLists::list(const RunQuery& query) const {
    if (query.pageSize < 1 || query.pageSize > kPageSizeMax) {
        return invalidArgument("page size ", query.pageSize, ": must be 1 to ", kPageSizeMax);
    }
    MutexLock lock(file_.browseMutex);
    Database& db = *file_.browser;
    const TimeLimit limit(db, kListTime);
    Result<values::RunPage> listed =
        inSnapshot<values::RunPage>(db, [&]() -> Result<values::RunPage> {
            values::RunPage page;
            ASSIGN_OR_RETURN(const std::int64_t revision, db.queryInt(kChangeSql));
            page.revision = static_cast<std::uint64_t>(revision);
            ASSIGN_OR_RETURN(const std::vector<Listed> all,
                             matching(db, query, file_.clock.wallMs()));
            ASSIGN_OR_RETURN(const std::size_t from, pageStart(query, all));
            const std::size_t most =
                std::min(all.size() - from, static_cast<std::size_t>(query.pageSize));
            page.total = static_cast<std::int64_t>(all.size());
            RETURN_IF_ERROR(fillPage(db, query, std::span(all).subspan(from, most), page));
            const std::size_t to = from + page.runs.size();
            if (to < all.size()) {
                page.nextPageToken = pageToken(query, all[to - 1].id, to);
            }
            return page;
        });
    if (absl::IsDeadlineExceeded(listed.status())) {
        return deadlineExceeded("the list took more than ", kListTime.count() / 1000,
                                " s; ask for less, with a simpler filter");
    }
    return listed;
}

Result<std::int64_t> RunLists::changeCursor() const {
    MutexLock lock(file_.readMutex);
    return file_.reader->queryInt(kChangeSql);
}

Result<RunLists::Group> RunLists::findGroup(std::string_view submitKey) const {
    MutexLock lock(file_.readMutex);
    Database& db = *file_.reader;
    return inSnapshot<Group>(db, [&]() -> Result<Group> {
        Group group;
        ASSIGN_OR_RETURN(Statement first,
                         db.prepare("SELECT CASE WHEN base_run_id = '' THEN id ELSE base_run_id "
                                    "END, coalesce((SELECT text FROM run_document WHERE run_no = "
                                    "no AND kind = 'spec'), ''), coalesce((SELECT text FROM "
                                    "run_document WHERE run_no = no AND kind = 'submitted'), '') "
                                    "FROM run WHERE submit_key = ?",
                                    submitKey));
        ASSIGN_OR_RETURN(const bool isKnown, first.step());
        if (!isKnown) {
            return group;
        }
        group.specText = first.textAt(1);
        group.submitted = first.textAt(2);
        ASSIGN_OR_RETURN(
            Statement rows,
            db.prepare(strCat("SELECT ", runColumns(),
                              " FROM run r WHERE r.id = ?1 OR r.base_run_id = ?1 ORDER BY r.no"),
                       first.textAt(0)));
        RETURN_IF_ERROR(rows.forEach([&](const Statement& row) {
            std::int64_t no = 0;
            group.runs.push_back(readRun(row, no));
        }));
        return group;
    });
}

Result<std::vector<RunLists::WaitingRun>> RunLists::waiting() const {
    MutexLock lock(file_.readMutex);
    return file_.reader->select(
        [](const Statement& row) { return WaitingRun{row.textAt(0), row.intAt(1)}; },
        "SELECT id, resume_from FROM run WHERE state = 'queued' ORDER BY queue_no");
}

Result<std::vector<std::string>> RunLists::underWay() const {
    MutexLock lock(file_.readMutex);
    return file_.reader->select(
        firstText,
        "SELECT id FROM run WHERE state IN ('starting', 'running', 'stopping') ORDER BY no");
}

Result<std::string> RunLists::findId(std::string_view text) const {
    if (text.empty()) {
        return invalidArgument("a run is named by its id or name, not by nothing");
    }
    constexpr std::string_view kWays[] = {
        "r.id = ?1 OR r.uid = ?1",
        // After ids: a key that equals another run's id must not hide that run.
        "r.submit_key = ?1",
        "r.name = ?1 AND r.is_deleted = 0",
        "(substr(r.id, 1, length(?1)) = ?1 OR substr(r.uid, 1, length(?1)) = ?1 OR substr(r.name, "
        "1, length(?1)) = ?1 OR substr(r.id, 3) = ?1) AND r.is_deleted = 0",
    };
    MutexLock lock(file_.readMutex);
    for (const std::string_view way : kWays) {
        ASSIGN_OR_RETURN(const std::vector<std::string> ids, idsBy(*file_.reader, way, text));
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

}  // namespace millrace::runs
