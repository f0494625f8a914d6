#include "backend/runs/filter_sql.h"

#include <algorithm>
#include <utility>

#include "backend/search/attributes.h"

namespace millrace::runs {
namespace {

using search::FilterClause;
using search::FilterEntity;
using search::FilterOp;
using search::OrderKey;
using search::RunFilter;

constexpr std::string_view kStatusSql =
    "CASE r.state WHEN 'finished' THEN 'FINISHED' WHEN 'failed' THEN 'FAILED' "
    "WHEN 'cancelled' THEN 'KILLED' WHEN 'queued' THEN 'SCHEDULED' ELSE 'RUNNING' END";

// Up to now if the run has not ended.
constexpr std::string_view kDurationSql =
    "(COALESCE(NULLIF(r.ended_ms, 0), (julianday('now') - 2440587.5) * 86400000.0) - "
    "NULLIF(r.started_ms, 0)) / 1000.0";

// NULL where the run has no value; only a stream has a seed, epochs and rows. Other attributes are
// columns of their own names.
constexpr std::pair<std::string_view, std::string_view> kExpressions[] = {
    {"run_id", "r.uid"},
    {"status", kStatusSql},
    {"seed", "CASE WHEN r.stream_hash <> '' THEN r.seed END"},
    {"epoch", "CASE WHEN r.stream_hash <> '' THEN r.epoch END"},
    {"rows_trained", "CASE WHEN r.stream_hash <> '' THEN r.rows_trained END"},
    {"created", "r.created_ms"},
    {"started", "NULLIF(r.started_ms, 0)"},
    {"end_time", "NULLIF(r.ended_ms, 0)"},
    {"duration", kDurationSql},
};

// A text's number in YAML and JSON notation; NULL if it is not a number.
constexpr std::string_view kNumberOfText =
    "CASE WHEN json_valid(e.value) THEN CASE WHEN json_type(e.value) IN ('integer', 'real') "
    "THEN CAST(e.value AS REAL) END END";

// A date's or time's ms since 1970, UTC; NULL for other texts. strftime alone would accept numbers.
constexpr std::string_view kTimeOfText =
    "CASE WHEN e.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
    "THEN CAST(strftime('%s', e.value) AS INTEGER) * 1000 END";

constexpr std::pair<FilterOp, std::string_view> kOperators[] = {
    {FilterOp::kEqual, "="},         {FilterOp::kNotEqual, "!="}, {FilterOp::kGreater, ">"},
    {FilterOp::kGreaterEqual, ">="}, {FilterOp::kLess, "<"},      {FilterOp::kLessEqual, "<="},
    {FilterOp::kLike, "GLOB"},       {FilterOp::kILike, "LIKE"},  {FilterOp::kIn, "IN"},
    {FilterOp::kNotIn, "NOT IN"},
};

std::string expressionOf(std::string_view attribute) {
    const auto* it = std::ranges::find(kExpressions, attribute,
                                       &std::pair<std::string_view, std::string_view>::first);
    if (it != std::end(kExpressions)) {
        return std::string(it->second);
    }
    const search::Attribute* const known = search::attributeOf(attribute);
    const bool isText = known != nullptr && known->kind == search::AttributeKind::kText;
    return isText ? strCat("NULLIF(r.", attribute, ", '')") : strCat("r.", attribute);
}

// Case-sensitive LIKE becomes GLOB; GLOB's own special characters become sets of one.
std::string globOf(std::string_view like) {
    std::string glob;
    for (const char c : like) {
        if (c == '%') {
            glob += '*';
        } else if (c == '_') {
            glob += '?';
        } else if (c == '*' || c == '?' || c == '[') {
            glob += {'[', c, ']'};
        } else {
            glob += c;
        }
    }
    return glob;
}

// Appends "EXPR op ?" and its values.
void compare(const FilterClause& clause, std::string_view expression, SqlText& sql) {
    if (clause.op == FilterOp::kIsNull || clause.op == FilterOp::kIsNotNull) {
        strAppend(&sql.text, expression,
                  clause.op == FilterOp::kIsNull ? " IS NULL" : " IS NOT NULL");
        return;
    }
    const auto* op =
        std::ranges::find(kOperators, clause.op, &std::pair<FilterOp, std::string_view>::first);
    const bool isList = clause.op == FilterOp::kIn || clause.op == FilterOp::kNotIn;
    std::string marks = "?";
    for (std::size_t i = 1; i < clause.numbers.size() + clause.strings.size(); ++i) {
        marks += ", ?";
    }
    strAppend(&sql.text, expression, " ", op->second, isList ? " (" : " ", marks,
              isList ? ")" : "");
    for (const double number : clause.numbers) {
        sql.values.emplace_back(number);
    }
    for (const std::string& text : clause.strings) {
        sql.values.emplace_back(clause.op == FilterOp::kLike ? globOf(text) : text);
    }
}

// A run's own parameter `lr` is stored as params.lr, a key of its spec unchanged (batch.seed). The
// reader of specs rejects parameters for which both would be the same name.
void addKeyTest(FilterEntity entity, const std::string& key, SqlText& sql) {
    const bool isParam = entity == FilterEntity::kParam;
    strAppend(&sql.text, " e WHERE e.run_no = r.no AND e.key ", isParam ? "IN (?, ?)" : "= ?");
    sql.values.emplace_back(key);
    if (isParam) {
        sql.values.emplace_back("params." + key);
    }
}

void addClause(const FilterClause& clause, SqlText& sql) {
    if (clause.entity == FilterEntity::kAttribute) {
        compare(clause, strCat("(", expressionOf(clause.key), ")"), sql);
        return;
    }
    const bool isAbsence = clause.op == FilterOp::kIsNull;
    strAppend(&sql.text, isAbsence ? "NOT " : "", "EXISTS (SELECT 1 FROM ", tableOf(clause.entity));
    addKeyTest(clause.entity, clause.key, sql);
    if (!isAbsence && clause.op != FilterOp::kIsNotNull) {
        const bool isAsStored = clause.entity == FilterEntity::kMetric || !clause.strings.empty();
        strAppend(&sql.text, " AND ");
        compare(clause,
                isAsStored      ? std::string_view("e.value")
                : clause.isTime ? kTimeOfText
                                : kNumberOfText,
                sql);
    }
    strAppend(&sql.text, ")");
}

void add(const RunFilter& filter, SqlText& sql) {
    switch (filter.kind) {
        case RunFilter::Kind::kClause:
            return addClause(filter.clause, sql);
        case RunFilter::Kind::kNot:
            strAppend(&sql.text, "NOT COALESCE(");  // a missing value does not match
            add(filter.parts.front(), sql);
            strAppend(&sql.text, ", 0)");
            return;
        case RunFilter::Kind::kAll:
        case RunFilter::Kind::kAny:
            break;
    }
    if (filter.parts.empty()) {
        strAppend(&sql.text, "1");
        return;
    }
    std::string_view between = "(";
    for (const RunFilter& part : filter.parts) {
        strAppend(&sql.text, between);
        add(part, sql);
        between = filter.kind == RunFilter::Kind::kAll ? " AND " : " OR ";
    }
    strAppend(&sql.text, ")");
}

}  // namespace

std::string_view tableOf(FilterEntity entity) {
    switch (entity) {
        case FilterEntity::kMetric:
            return "latest_metric";
        case FilterEntity::kParam:
            return "run_param";
        default:
            return "run_tag";
    }
}

SqlText conditionOf(const RunFilter& filter) {
    SqlText sql;
    add(filter, sql);
    return sql;
}

SqlText orderOf(const std::vector<OrderKey>& keys) {
    SqlText sql;
    bool hasCreated = false;
    for (const OrderKey& key : keys) {
        const std::string_view direction = key.isDescending ? " DESC, " : " ASC, ";
        if (key.entity == FilterEntity::kAttribute) {
            const std::string expression = expressionOf(key.key);
            strAppend(&sql.text, "(", expression, ") IS NULL, (", expression, ")", direction);
            hasCreated = hasCreated || key.key == "created";
            continue;
        }
        // In SQLite a number is less than any text.
        const std::string value = key.entity == FilterEntity::kParam
                                      ? strCat("COALESCE(", kNumberOfText, ", e.value)")
                                      : "e.value";
        strAppend(&sql.text, "COALESCE((SELECT e.value IS NULL FROM ", tableOf(key.entity));
        addKeyTest(key.entity, key.key, sql);
        strAppend(&sql.text, "), 2), (SELECT ", value, " FROM ", tableOf(key.entity));
        addKeyTest(key.entity, key.key, sql);
        strAppend(&sql.text, ")", direction);
    }
    strAppend(&sql.text, hasCreated ? "" : "r.created_ms DESC, ", "r.uid ASC");
    return sql;
}

}  // namespace millrace::runs
