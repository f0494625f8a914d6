#include "backend/search/run_filter.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "backend/search/attributes.h"
#include "backend/search/time_text.h"
#include "backend/text/numbers.h"
#include "backend/text/text.h"
#include "backend/values/run_state.h"

namespace millrace::search {
namespace {

// Both limit the cost of a pattern.
constexpr std::ptrdiff_t kMostWildcards = 8;
constexpr std::size_t kMostPatternBytes = 300;
constexpr int kMostDepth = 40, kMostClauses = 200;
constexpr char kCharacterUrl[] = "millrace/filter-character";

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

std::vector<std::string> attributeNames() {
    std::vector<std::string> names;
    for (const Attribute& attribute : attributes()) {
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

bool isOrdered(FilterOp op) {
    return op >= FilterOp::kGreater && op <= FilterOp::kLessEqual;
}

RunFilter joined(RunFilter::Kind kind, std::vector<RunFilter> parts) {
    if (parts.size() == 1 && kind != RunFilter::Kind::kNot) {
        return std::move(parts.front());
    }
    return {kind, {}, std::move(parts)};
}

RunFilter leaf(FilterClause clause) {
    return {RunFilter::Kind::kClause, std::move(clause), {}};
}

// A comparison with a whole day, as comparisons with moments.
RunFilter withinDay(const FilterClause& clause, const TimeSpan& day) {
    const auto with = [&](FilterOp op, std::int64_t ms) {
        FilterClause one = clause;
        one.op = op;
        one.numbers = {static_cast<double>(ms)};
        return leaf(std::move(one));
    };
    switch (clause.op) {
        case FilterOp::kGreater:
            return with(FilterOp::kGreaterEqual, day.endMs);
        case FilterOp::kLessEqual:
            return with(FilterOp::kLess, day.endMs);
        case FilterOp::kGreaterEqual:
        case FilterOp::kLess:
            return with(clause.op, day.beginMs);
        case FilterOp::kNotEqual:
            return {RunFilter::Kind::kAny,
                    {},
                    {with(FilterOp::kLess, day.beginMs), with(FilterOp::kGreaterEqual, day.endMs)}};
        default:
            return {RunFilter::Kind::kAll,
                    {},
                    {with(FilterOp::kGreaterEqual, day.beginMs), with(FilterOp::kLess, day.endMs)}};
    }
}

struct Key {
    FilterEntity entity = FilterEntity::kAttribute;
    std::string name;
    const Attribute* attribute = nullptr;
};

// Reads a filter or an order_by item from left to right.
class Parser {
 public:
    Parser(std::string_view text, std::string_view place, std::int64_t nowMs)
        : text_(text), place_(place), nowMs_(nowMs) {}

    Result<RunFilter> filter() {
        ASSIGN_OR_RETURN(RunFilter all, any());
        if (at_ < text_.size()) {
            return error(at_, "'", rest(),
                         "' is not understood here; clauses are joined by AND and OR");
        }
        return all;
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
        // Goes through a view: the string constructor's symbol in clang 19 differs from the
        // library's.
        status.SetPayload(kCharacterUrl, absl::Cord(absl::string_view(strCat(at + 1))));
        return status;
    }

    std::string_view rest() const { return text_.substr(at_, 40); }

    void skipBlanks() {
        while (at_ < text_.size() && isBlank(text_[at_])) {
            ++at_;
        }
    }

    bool isAt(char c) const { return at_ < text_.size() && text_[at_] == c; }

    // Takes a keyword in any case, as a whole word.
    bool takeWord(std::string_view word) {
        skipBlanks();
        const std::size_t end = at_ + word.size();
        if (end > text_.size() || lower(text_.substr(at_, word.size())) != word ||
            (end < text_.size() && !isBlank(text_[end]) && text_[end] != '(' &&
             text_[end] != ')')) {
            return false;
        }
        at_ = end;
        return true;
    }

    Result<RunFilter> any() {
        std::vector<RunFilter> parts;
        do {
            ASSIGN_OR_RETURN(RunFilter part, all());
            parts.push_back(std::move(part));
        } while (takeWord("or"));
        const bool isEmpty = std::ranges::any_of(parts, [](const RunFilter& part) {
            return part.kind == RunFilter::Kind::kAll && part.parts.empty();
        });
        if (isEmpty && parts.size() > 1) {
            return error(at_, "OR belongs between two clauses");
        }
        return joined(RunFilter::Kind::kAny, std::move(parts));
    }

    // MLflow accepts a trailing AND.
    Result<RunFilter> all() {
        std::vector<RunFilter> parts;
        skipBlanks();
        while (at_ < text_.size() && !isAt(')')) {
            ASSIGN_OR_RETURN(RunFilter part, this->part());
            parts.push_back(std::move(part));
            if (!takeWord("and")) {
                break;
            }
            skipBlanks();
        }
        return joined(RunFilter::Kind::kAll, std::move(parts));
    }

    Result<RunFilter> part() {
        skipBlanks();
        const std::size_t start = at_;
        if (depth_ == kMostDepth) {
            return error(start, "brackets and NOT are at most ", kMostDepth, " deep");
        }
        ++depth_;
        Result<RunFilter> found = takeWord("not") ? negated() : isAt('(') ? bracket() : clause();
        --depth_;
        return found;
    }

    Result<RunFilter> negated() {
        ASSIGN_OR_RETURN(RunFilter inner, part());
        return RunFilter{RunFilter::Kind::kNot, {}, {std::move(inner)}};
    }

    Result<RunFilter> bracket() {
        const std::size_t start = at_++;
        ASSIGN_OR_RETURN(RunFilter inner, any());
        if (!isAt(')')) {
            return error(start, "this bracket is never closed");
        }
        if (inner.kind == RunFilter::Kind::kAll && inner.parts.empty()) {
            return error(start, "there is nothing in these brackets");
        }
        ++at_;
        return inner;
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

    // For words of lists, which show metrics under a short name.
    static std::string metricHint(std::string_view name) {
        const std::string_view metric = name == "auc"  ? "eval.auc"
                                        : name == "ne" ? "eval.normalized_entropy"
                                                       : name;
        return strCat("a metric is metrics.", metric, ", a parameter params.", name);
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
                             hint.empty() ? strCat("; known: id, name, state, variation, project, "
                                                   "owner, created, started, end_time, note, ...; ",
                                                   metricHint(name))
                                          : hint);
            }
            key.name = key.attribute->name;
        } else if (entity == FilterEntity::kMetric && name.find('/') != std::string_view::npos &&
                   !isQuote(text_[at_ - 1])) {
            return error(start, "a name with a slash needs quotes: metrics.\"", name, "\"");
        }
        return key;
    }

    static bool isTime(const Key& key) {
        return key.attribute != nullptr && key.attribute->kind == AttributeKind::kTime;
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
        const bool isPattern = *op == FilterOp::kLike || *op == FilterOp::kILike;
        const bool isText = key.attribute != nullptr && !isNumeric(key);
        if (isNumeric(key) ? isPattern : isText && isOrdered(*op)) {
            return error(start, "this operator does not go with '", key.name,
                         isText ? "', which is text: = != LIKE ILIKE IN"
                                : "', which is a number: = != > >= < <= IN");
        }
        return *op;
    }

    Result<RunFilter> clause() {
        if (++numClauses_ > kMostClauses) {
            return error(at_, "a filter has at most ", kMostClauses, " clauses");
        }
        if (takeWord("since")) {
            return ofCreated(FilterOp::kGreaterEqual);
        }
        if (takeWord("before")) {
            return ofCreated(FilterOp::kLess);
        }
        ASSIGN_OR_RETURN(const Key key, this->key());
        FilterClause clause{key.entity, key.name};
        if (takeWord("is")) {
            clause.op = takeWord("not") ? FilterOp::kIsNotNull : FilterOp::kIsNull;
            if (!takeWord("null")) {
                return error(at_, "IS is followed by NULL or NOT NULL");
            }
            return leaf(std::move(clause));
        }
        const bool isNegated = takeWord("not");
        if (takeWord("in")) {
            clause.op = isNegated ? FilterOp::kNotIn : FilterOp::kIn;
            RETURN_IF_ERROR(list(key, clause));
            return leaf(std::move(clause));
        }
        if (isNegated) {
            return error(at_, "NOT is followed by IN");
        }
        ASSIGN_OR_RETURN(clause.op, comparison(key));
        if (isTime(key)) {
            return timed(std::move(clause));
        }
        skipBlanks();
        if (isOrdered(clause.op) && !isNumeric(key) && (isAt('\'') || isAt('"'))) {
            return dated(std::move(clause));
        }
        RETURN_IF_ERROR(value(key, clause));
        return leaf(std::move(clause));
    }

    // A param or tag that is compared with a date.
    Result<RunFilter> dated(FilterClause clause) {
        const std::size_t start = at_;
        ASSIGN_OR_RETURN(const std::string text, quoted());
        const bool isDate = text.find('-') != std::string::npos;  // neither an age nor a number
        const std::optional<TimeSpan> span = isDate ? timeOf(text, nowMs_) : std::nullopt;
        if (!span) {
            return error(start, "texts have no order here: ", clause.key,
                         " is compared with a number without quotes, with a date such as "
                         "'2026-03-01', or by = != LIKE ILIKE IN");
        }
        clause.isTime = true;
        return within(std::move(clause), *span);
    }

    static RunFilter within(FilterClause clause, const TimeSpan& span) {
        if (span.isDay()) {
            return withinDay(clause, span);
        }
        clause.numbers = {static_cast<double>(span.beginMs)};
        return leaf(std::move(clause));
    }

    Result<RunFilter> ofCreated(FilterOp op) {
        return timed({FilterEntity::kAttribute, "created", op, {}, {}});
    }

    Result<RunFilter> timed(FilterClause clause) {
        skipBlanks();
        const std::size_t start = at_;
        std::string text;
        if (isAt('\'') || isAt('"')) {
            ASSIGN_OR_RETURN(text, quoted());
        } else {
            text = bare();
            text += takeWord("ago") ? " ago" : "";
        }
        const std::optional<TimeSpan> span = timeOf(text, nowMs_);
        if (!span) {
            return error(start, "'", text,
                         "' is not a time; write '2026-03-01', '2026-03-01T12:00:00Z', today, "
                         "yesterday, or an age such as 7d or 2h");
        }
        return within(std::move(clause), *span);
    }

    Status list(const Key& key, FilterClause& clause) {
        skipBlanks();
        if (isTime(key)) {
            return error(at_, "'", key.name, "' is a time: IN takes text and numbers");
        }
        if (!isAt('(')) {
            return error(at_, "IN is followed by a list: ('a', 'b')");
        }
        do {
            ++at_;
            RETURN_IF_ERROR(value(key, clause));
            skipBlanks();
        } while (isAt(','));
        if (!isAt(')')) {
            return error(at_, "the list of IN ends with )");
        }
        ++at_;
        return okStatus();
    }

    Status value(const Key& key, FilterClause& clause) {
        skipBlanks();
        const std::size_t start = at_;
        const bool isText = isAt('\'') || isAt('"');
        if (!isText && key.attribute != nullptr && !isNumeric(key)) {
            return error(start, "'", key.name, "' is compared with quoted text, for example 'x'; ",
                         "found '", bare(), "'");
        }
        if (!isText) {
            RETURN_IF_ERROR(number(key, clause));
        } else {
            ASSIGN_OR_RETURN(std::string text, quoted());
            RETURN_IF_ERROR(checkText(key, clause, text, start));
            clause.strings.push_back(std::move(text));
        }
        const bool isMixed = !clause.strings.empty() && !clause.numbers.empty();
        return isMixed ? error(start, "a list holds numbers or texts, not both") : okStatus();
    }

    Status checkText(const Key& key, const FilterClause& clause, const std::string& text,
                     std::size_t start) const {
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
        if (isPattern && std::ranges::count(text, '%') > kMostWildcards) {
            return error(start, "a pattern has at most ", kMostWildcards, " %");
        }
        if (isPattern && text.size() > kMostPatternBytes) {
            return error(start, "a pattern has at most ", kMostPatternBytes, " bytes");
        }
        return okStatus();
    }

    Status number(const Key& key, FilterClause& clause) {
        const std::size_t start = at_;
        const std::string_view word = bare();
        if (clause.op == FilterOp::kLike || clause.op == FilterOp::kILike) {
            return error(start, "a pattern is quoted text, for example 'x%'; found '", word, "'");
        }
        if (key.attribute != nullptr && key.attribute->kind == AttributeKind::kDuration) {
            const std::optional<double> seconds = secondsOf(word);
            if (!seconds) {
                return error(start, "'", word, "' is not a duration; write 90s, 20m, 1.5h or 2d");
            }
            clause.numbers.push_back(*seconds);
            return okStatus();
        }
        const std::optional<double> number = parseNumber<double>(word);
        const bool isWord =
            !word.empty() && ((word.back() | 32) >= 'a' && (word.back() | 32) <= 'z');
        if (!number || isWord) {
            return error(start, "'", key.name, "' is compared with a number",
                         key.attribute == nullptr && key.entity != FilterEntity::kMetric
                             ? " or quoted text"
                             : "",
                         "; found '", word, "'");
        }
        clause.numbers.push_back(*number);
        return okStatus();
    }

    std::string_view text_, place_;
    std::int64_t nowMs_;
    std::size_t at_ = 0;
    int depth_ = 0, numClauses_ = 0;
};

}  // namespace

int characterOf(const Status& status) {
    const auto text = status.GetPayload(kCharacterUrl);
    int character = 0;
    return text && absl::SimpleAtoi(std::string(*text), &character) ? character : 0;
}

Result<RunFilter> parseFilter(std::string_view text, std::int64_t nowMs) {
    return Parser(text, "filter", nowMs).filter();
}

Result<std::vector<OrderKey>> parseOrderBy(const std::vector<std::string>& items) {
    std::vector<OrderKey> keys;
    std::set<std::pair<FilterEntity, std::string>> seen;
    for (const std::string& item : items) {
        ASSIGN_OR_RETURN(OrderKey key, Parser(item, strCat("order_by '", item, "'"), 0).orderKey());
        if (!seen.insert({key.entity, key.key}).second) {
            return invalidArgument("order_by: '", key.key, "' appears twice");
        }
        keys.push_back(std::move(key));
    }
    return keys;
}

}  // namespace millrace::search
