#include "backend/runs/run_filter.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "backend/core/clock.h"
#include "backend/core/text.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {
namespace {

// What a pattern costs grows with both.
constexpr std::ptrdiff_t kMostWildcards = 8;
constexpr std::size_t kMostPatternBytes = 300;
constexpr char kCharacterUrl[] = "millrace/filter-character";

enum class AttributeKind { kText, kState, kNumber, kTime };

struct Attribute {
    std::string_view name;
    AttributeKind kind;
    std::string_view sql;  // NULL where the run has no value
};

constexpr std::string_view kStatusSql =
    "CASE r.state WHEN 'finished' THEN 'FINISHED' WHEN 'failed' THEN 'FAILED' "
    "WHEN 'cancelled' THEN 'KILLED' WHEN 'queued' THEN 'SCHEDULED' ELSE 'RUNNING' END";

constexpr Attribute kAttributes[] = {
    {"id", AttributeKind::kText, "r.id"},
    {"run_id", AttributeKind::kText, "r.uid"},
    {"name", AttributeKind::kText, "r.name"},
    {"state", AttributeKind::kState, "r.state"},
    {"status", AttributeKind::kText, kStatusSql},
    {"variation", AttributeKind::kText, "r.variation"},
    {"project", AttributeKind::kText, "r.project"},
    {"owner", AttributeKind::kText, "r.owner"},
    {"host", AttributeKind::kText, "r.host"},
    {"note", AttributeKind::kText, "r.note"},
    {"base_run_id", AttributeKind::kText, "NULLIF(r.base_run_id, '')"},
    {"spec_hash", AttributeKind::kText, "r.spec_hash"},
    {"stream_hash", AttributeKind::kText, "r.stream_hash"},
    {"git_commit", AttributeKind::kText, "NULLIF(r.git_commit, '')"},
    {"created", AttributeKind::kTime, "r.created_ms"},
    {"started", AttributeKind::kTime, "NULLIF(r.started_ms, 0)"},
    {"end_time", AttributeKind::kTime, "NULLIF(r.ended_ms, 0)"},
    {"attempt", AttributeKind::kNumber, "r.attempt"},
    {"step", AttributeKind::kNumber, "r.step"},
    {"epoch", AttributeKind::kNumber, "r.epoch"},
    {"rows_trained", AttributeKind::kNumber, "r.rows_trained"},
    {"seed", AttributeKind::kNumber, "r.seed"},
};

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"run_name", "name"},   {"run name", "name"},      {"Run name", "name"},
    {"Run Name", "name"},   {"user_id", "owner"},      {"start_time", "created"},
    {"Created", "created"}, {"created_ms", "created"}, {"ended", "end_time"},
};

constexpr std::pair<std::string_view, FilterEntity> kEntities[] = {
    {"metric", FilterEntity::kMetric},
    {"metrics", FilterEntity::kMetric},
    {"param", FilterEntity::kParam},
    {"params", FilterEntity::kParam},
    {"parameter", FilterEntity::kParam},
    {"parameters", FilterEntity::kParam},
    {"tag", FilterEntity::kTag},
    {"tags", FilterEntity::kTag},
    {"attribute", FilterEntity::kAttribute},
    {"attributes", FilterEntity::kAttribute},
    {"attr", FilterEntity::kAttribute},
    {"run", FilterEntity::kAttribute},
};

constexpr std::pair<std::string_view, FilterOp> kOperators[] = {
    {"=", FilterOp::kEqual},         {"!=", FilterOp::kNotEqual}, {">", FilterOp::kGreater},
    {">=", FilterOp::kGreaterEqual}, {"<", FilterOp::kLess},      {"<=", FilterOp::kLessEqual},
};

const Attribute* attributeOf(std::string_view name) {
    for (const auto& [alias, target] : kAliases) {
        if (alias == name) {
            name = target;
        }
    }
    const auto* it = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                  [&](const Attribute& a) { return a.name == name; });
    return it == std::end(kAttributes) ? nullptr : it;
}

std::vector<std::string> attributeNames() {
    std::vector<std::string> names;
    for (const Attribute& attribute : kAttributes) {
        names.emplace_back(attribute.name);
    }
    return names;
}

bool isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool isQuote(char c) {
    return c == '\'' || c == '"' || c == '`';
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    return out;
}

struct Key {
    FilterEntity entity = FilterEntity::kAttribute;
    std::string name;
    const Attribute* attribute = nullptr;
};

// Reads a filter or an order_by item from left to right.
class Parser {
 public:
    Parser(std::string_view text, std::string_view place) : text_(text), place_(place) {}

    Result<RunFilter> filter() {
        RunFilter filter;
        skipBlanks();
        while (at_ < text_.size()) {
            ASSIGN_OR_RETURN(FilterClause clause, this->clause());
            filter.clauses.push_back(std::move(clause));
            skipBlanks();
            if (at_ < text_.size() && !takeWord("and")) {
                return error(at_, "'", rest(),
                             "' is not understood here; clauses are joined by AND (there is no OR "
                             "and no brackets)");
            }
            skipBlanks();
        }
        return filter;
    }

    Result<OrderKey> orderKey() {
        skipBlanks();
        ASSIGN_OR_RETURN(Key key, this->key());
        OrderKey order{key.entity, std::move(key.name)};
        if (takeWord("desc")) {
            order.isDescending = true;
        } else {
            takeWord("asc");
        }
        skipBlanks();
        if (at_ < text_.size()) {
            return error(at_, "'", rest(), "' is not understood; a key is followed by ASC or DESC");
        }
        return order;
    }

 private:
    template <class... P>
    Status error(std::size_t at, const P&... parts) const {
        Status status = invalidArgument(place_, ", character ", at + 1, ": ", parts...);
        // From a view: the constructor of a string has another name in clang 19 than in the
        // library.
        status.SetPayload(kCharacterUrl, absl::Cord(absl::string_view(strCat(at + 1))));
        return status;
    }

    std::string_view rest() const { return text_.substr(at_, 40); }

    void skipBlanks() {
        while (at_ < text_.size() && isBlank(text_[at_])) {
            ++at_;
        }
    }

    // A keyword in any case, as a whole word.
    bool takeWord(std::string_view word) {
        skipBlanks();
        const std::size_t end = at_ + word.size();
        if (end > text_.size() || lower(text_.substr(at_, word.size())) != word ||
            (end < text_.size() && !isBlank(text_[end]) && text_[end] != '(')) {
            return false;
        }
        at_ = end;
        return true;
    }

    Result<std::string> quoted() {
        const std::size_t start = at_;
        const char quote = text_[at_++];
        const std::size_t end = text_.find(quote, at_);
        if (end == std::string_view::npos) {
            return error(start, "the quote ", std::string_view(&quote, 1), " is never closed");
        }
        std::string value(text_.substr(at_, end - at_));
        at_ = end + 1;
        return value;
    }

    std::string_view bare() {
        constexpr std::string_view kEnds = "=!<>(),;";
        const std::size_t start = at_;
        while (at_ < text_.size() && !isBlank(text_[at_]) && !isQuote(text_[at_]) &&
               kEnds.find(text_[at_]) == std::string_view::npos) {
            ++at_;
        }
        return text_.substr(start, at_ - start);
    }

    Result<Key> key() {
        const std::size_t start = at_;
        if (at_ < text_.size() && isQuote(text_[at_])) {
            ASSIGN_OR_RETURN(const std::string name, quoted());
            return resolve(FilterEntity::kAttribute, name, start);
        }
        const std::string_view word = bare();
        if (word.empty()) {
            return error(start, "a key is missing before '", rest(), "'");
        }
        const std::size_t dot = word.find('.');
        if (dot == std::string_view::npos) {
            return resolve(FilterEntity::kAttribute, word, start);
        }
        const std::string_view entityText = word.substr(0, dot);
        const auto* entity =
            std::find_if(std::begin(kEntities), std::end(kEntities),
                         [&](const auto& known) { return known.first == entityText; });
        if (entity == std::end(kEntities)) {
            return error(start, "unknown entity '", entityText,
                         "'; known: metrics, params, tags, attributes");
        }
        if (dot + 1 == word.size() && at_ < text_.size() && isQuote(text_[at_])) {
            ASSIGN_OR_RETURN(const std::string name, quoted());
            return resolve(entity->second, name, start);
        }
        return resolve(entity->second, word.substr(dot + 1), start);
    }

    Result<Key> resolve(FilterEntity entity, std::string_view name, std::size_t start) const {
        Key key{entity, std::string(name)};
        if (name.empty()) {
            return error(start, "a name is missing behind the dot");
        }
        if (entity == FilterEntity::kAttribute) {
            key.attribute = attributeOf(name);
            if (key.attribute == nullptr) {
                const std::string hint = nameHint(name, attributeNames());
                return error(start, "unknown attribute '", name, "'",
                             hint.empty() ? "; known: id, name, state, variation, project, owner, "
                                            "created, started, end_time, note, ..."
                                          : hint);
            }
            key.name = key.attribute->name;
        } else if (entity == FilterEntity::kMetric && name.find('/') != std::string_view::npos &&
                   !isQuote(text_[at_ - 1])) {
            return error(start, "a name with a slash needs quotes: metrics.\"", name, "\"");
        }
        return key;
    }

    static bool isNumeric(const Key& key) {
        return key.entity == FilterEntity::kMetric ||
               (key.attribute != nullptr && key.attribute->kind >= AttributeKind::kNumber);
    }

    Result<FilterOp> comparison(const Key& key) {
        skipBlanks();
        const std::size_t start = at_;
        std::optional<FilterOp> op;
        for (const std::size_t length : {2U, 1U}) {
            for (const auto& [text, value] : kOperators) {
                if (!op && text.size() == length && text_.substr(at_, length) == text) {
                    op = value;
                    at_ += length;
                }
            }
        }
        if (!op && takeWord("like")) {
            op = FilterOp::kLike;
        }
        if (!op && takeWord("ilike")) {
            op = FilterOp::kILike;
        }
        const bool doubled = op && at_ < text_.size() && (text_[at_] == '=' || text_[at_] == '>');
        if (!op || doubled) {
            return error(start, "an operator is missing before '", text_.substr(start, 40),
                         "'; known: = != > >= < <= LIKE ILIKE IN IS NULL");
        }
        const bool ordered = *op >= FilterOp::kGreater && *op <= FilterOp::kLessEqual;
        const bool pattern = *op == FilterOp::kLike || *op == FilterOp::kILike;
        if (isNumeric(key) ? pattern : ordered) {
            return error(start, "this operator does not go with '", key.name,
                         isNumeric(key) ? "', which is a number: = != > >= < <="
                                        : "', which is text: = != LIKE ILIKE IN");
        }
        return *op;
    }

    Result<FilterClause> clause() {
        ASSIGN_OR_RETURN(Key key, this->key());
        FilterClause clause{key.entity, key.name};
        if (takeWord("is")) {
            clause.op = takeWord("not") ? FilterOp::kIsNotNull : FilterOp::kIsNull;
            if (!takeWord("null")) {
                return error(at_, "IS is followed by NULL or NOT NULL");
            }
            return clause;
        }
        const bool isNegated = takeWord("not");
        if (takeWord("in")) {
            clause.op = isNegated ? FilterOp::kNotIn : FilterOp::kIn;
            RETURN_IF_ERROR(list(key, clause));
            return clause;
        }
        if (isNegated) {
            return error(at_, "NOT is followed by IN");
        }
        ASSIGN_OR_RETURN(clause.op, comparison(key));
        RETURN_IF_ERROR(value(key, clause));
        return clause;
    }

    Status list(const Key& key, FilterClause& clause) {
        skipBlanks();
        if (isNumeric(key)) {
            return error(at_, "'", key.name, "' is a number: IN takes text only");
        }
        if (at_ >= text_.size() || text_[at_] != '(') {
            return error(at_, "IN is followed by a list: ('a', 'b')");
        }
        do {
            ++at_;
            skipBlanks();
            RETURN_IF_ERROR(value(key, clause));
            skipBlanks();
        } while (at_ < text_.size() && text_[at_] == ',');
        if (at_ >= text_.size() || text_[at_] != ')') {
            return error(at_, "the list of IN ends with )");
        }
        ++at_;
        return okStatus();
    }

    Status value(const Key& key, FilterClause& clause) {
        skipBlanks();
        const std::size_t start = at_;
        const bool isText = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
        if (!isText && !isNumeric(key)) {
            return error(start, "'", key.name, "' is compared with quoted text, for example 'x'; ",
                         "found '", bare(), "'");
        }
        if (!isText) {
            return number(key, clause);
        }
        ASSIGN_OR_RETURN(std::string text, quoted());
        if (key.attribute != nullptr && key.attribute->kind == AttributeKind::kTime) {
            const Result<std::int64_t> time = parseTime(text);
            if (!time.ok()) {
                return error(start, "'", text, "' is no time; write 2026-03-01T12:00:00Z");
            }
            clause.number = static_cast<double>(*time);
            return okStatus();
        }
        if (isNumeric(key)) {
            return error(start, "'", key.name, "' is compared with a number, not with text");
        }
        const bool isPattern = clause.op == FilterOp::kLike || clause.op == FilterOp::kILike;
        if (key.attribute != nullptr && key.attribute->kind == AttributeKind::kState &&
            !isPattern && !values::runStateOf(text)) {
            std::vector<std::string> known;
            for (const values::RunState state : values::kRunStates) {
                known.emplace_back(nameOf(state));
            }
            return error(start, "unknown state '", text, "'", nameHint(text, known));
        }
        if (isPattern && std::count(text.begin(), text.end(), '%') > kMostWildcards) {
            return error(start, "a pattern has at most ", kMostWildcards, " %");
        }
        if (isPattern && text.size() > kMostPatternBytes) {
            return error(start, "a pattern has at most ", kMostPatternBytes, " bytes");
        }
        clause.strings.push_back(std::move(text));
        return okStatus();
    }

    Status number(const Key& key, FilterClause& clause) {
        const std::size_t start = at_;
        const std::string_view word = bare();
        const char* end = word.data() + word.size();
        const auto parsed = std::from_chars(word.data(), end, clause.number);
        const bool isWord =
            !word.empty() && ((word.back() | 32) >= 'a' && (word.back() | 32) <= 'z');
        if (word.empty() || parsed.ec != std::errc() || parsed.ptr != end || isWord) {
            return error(start, "'", key.name, "' is compared with a number; found '", word, "'");
        }
        return okStatus();
    }

    std::string_view text_, place_;
    std::size_t at_ = 0;
};

// LIKE with case is GLOB here; GLOB's own special characters become sets of one.
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

std::string_view operatorText(FilterOp op) {
    for (const auto& [text, value] : kOperators) {
        if (value == op) {
            return text;
        }
    }
    return op == FilterOp::kLike ? "GLOB" : "LIKE";
}

// "EXPR op ?" and its values.
void compare(const FilterClause& clause, std::string_view expression, bool isNumber, SqlText& sql) {
    switch (clause.op) {
        case FilterOp::kIsNull:
        case FilterOp::kIsNotNull:
            strAppend(&sql.text, expression,
                      clause.op == FilterOp::kIsNull ? " IS NULL" : " IS NOT NULL");
            return;
        case FilterOp::kIn:
        case FilterOp::kNotIn:
            strAppend(&sql.text, expression, clause.op == FilterOp::kIn ? " IN (" : " NOT IN (");
            for (std::size_t i = 0; i < clause.strings.size(); ++i) {
                strAppend(&sql.text, i == 0 ? "?" : ", ?");
                sql.values.emplace_back(clause.strings[i]);
            }
            strAppend(&sql.text, ")");
            return;
        default:
            break;
    }
    strAppend(&sql.text, expression, " ", operatorText(clause.op), " ?");
    if (isNumber) {
        sql.values.emplace_back(clause.number);
    } else {
        sql.values.emplace_back(clause.op == FilterOp::kLike ? globOf(clause.strings[0])
                                                             : clause.strings[0]);
    }
}

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

void addClause(const FilterClause& clause, SqlText& sql) {
    if (clause.entity == FilterEntity::kAttribute) {
        const Attribute& attribute = *attributeOf(clause.key);
        compare(clause, strCat("(", attribute.sql, ")"), attribute.kind >= AttributeKind::kNumber,
                sql);
        return;
    }
    const bool isAbsence = clause.op == FilterOp::kIsNull;
    strAppend(&sql.text, isAbsence ? "NOT " : "", "EXISTS (SELECT 1 FROM ", tableOf(clause.entity),
              " e WHERE e.run_no = r.no AND e.key = ?");
    sql.values.emplace_back(clause.key);
    if (!isAbsence && clause.op != FilterOp::kIsNotNull) {
        strAppend(&sql.text, " AND ");
        const bool isMetric = clause.entity == FilterEntity::kMetric;
        compare(clause, isMetric ? "COALESCE(e.value, 0)" : "e.value", isMetric, sql);
    }
    strAppend(&sql.text, ")");
}

}  // namespace

int characterOf(const Status& status) {
    const auto text = status.GetPayload(kCharacterUrl);
    int character = 0;
    return text && absl::SimpleAtoi(std::string(*text), &character) ? character : 0;
}

Result<RunFilter> parseFilter(std::string_view text) {
    return Parser(text, "filter").filter();
}

Result<std::vector<OrderKey>> parseOrderBy(const std::vector<std::string>& items) {
    std::vector<OrderKey> keys;
    std::set<std::pair<FilterEntity, std::string>> seen;
    for (const std::string& item : items) {
        ASSIGN_OR_RETURN(OrderKey key, Parser(item, strCat("order_by '", item, "'")).orderKey());
        if (!seen.insert({key.entity, key.key}).second) {
            return invalidArgument("order_by: '", key.key, "' stands twice");
        }
        keys.push_back(std::move(key));
    }
    return keys;
}

SqlText conditionOf(const RunFilter& filter) {
    SqlText sql;
    for (const FilterClause& clause : filter.clauses) {
        strAppend(&sql.text, sql.text.empty() ? "" : " AND ");
        addClause(clause, sql);
    }
    if (sql.text.empty()) {
        sql.text = "1";
    }
    return sql;
}

SqlText orderOf(const std::vector<OrderKey>& keys) {
    SqlText sql;
    bool hasCreated = false;
    for (const OrderKey& key : keys) {
        const std::string_view direction = key.isDescending ? " DESC, " : " ASC, ";
        if (key.entity == FilterEntity::kAttribute) {
            const std::string_view expression = attributeOf(key.key)->sql;
            strAppend(&sql.text, "(", expression, ") IS NULL, (", expression, ")", direction);
            hasCreated = hasCreated || key.key == "created";
            continue;
        }
        const std::string from =
            strCat(" FROM ", tableOf(key.entity), " e WHERE e.run_no = r.no AND e.key = ?)");
        strAppend(&sql.text, "COALESCE((SELECT e.value IS NULL", from, ", 2), (SELECT e.value",
                  from, direction);
        sql.values.emplace_back(key.key);
        sql.values.emplace_back(key.key);
    }
    strAppend(&sql.text, hasCreated ? "" : "r.created_ms DESC, ", "r.uid ASC");
    return sql;
}

}  // namespace millrace::runs
