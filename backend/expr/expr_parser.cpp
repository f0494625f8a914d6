// Expression text -> untyped tree, by recursive descent. Precedence as in PostgreSQL and DuckDB:
// or; and; not; is; comparison (no chains); in, between, like; ||; + -; * / // %; ^; unary -; ::
// [].
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "backend/expr/expr_conversion.h"
#include "backend/expr/expr_lexer.h"
#include "backend/expr/expr_node.h"
#include "backend/expr/expression.h"
#include "backend/text/text.h"

namespace millrace::expr {
namespace {

constexpr int kNestingMax = 200;
constexpr std::size_t kTextBytesMax = std::size_t{64} << 10;

const std::set<std::string_view>& reservedWords() {
    static const std::set<std::string_view> kWords = {
        "and",  "or",   "not",  "is",  "null", "in",   "between", "like",   "case",
        "when", "then", "else", "end", "cast", "true", "false",   "select", "from"};
    return kWords;
}

/// The literal null, before typing.
bool isNull(const Expr& expr) {
    return expr->op == ExprOp::kLiteral && std::holds_alternative<std::monostate>(expr->literal);
}

/// Every parse function returns null after an error; the first error is kept.
class Parser {
 public:
    explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    std::variant<Expr, ExprError> run() {
        if (peek().kind == TokenKind::kEnd) {
            fail(peek(), "the expression is empty");
        }
        Expr expr = hasFailed_ ? nullptr : parseOr();
        if (expr && peek().kind != TokenKind::kEnd) {
            expr = fail(peek(), strCat("unexpected ", describeToken(peek()), hintForTail()));
        }
        if (!expr) {
            return error_;
        }
        return expr;
    }

 private:
    const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }
    Token take() {
        Token token = peek();
        at_ = std::min(at_ + 1, tokens_.size() - 1);
        return token;
    }
    bool isWord(std::string_view word, std::size_t ahead = 0) const {
        return peek(ahead).kind == TokenKind::kName && peek(ahead).lower == word;
    }
    bool isSymbol(std::string_view symbol, std::size_t ahead = 0) const {
        return peek(ahead).kind == TokenKind::kSymbol && peek(ahead).text == symbol;
    }
    bool takeWord(std::string_view word) { return isWord(word) && (take(), true); }
    bool takeSymbol(std::string_view symbol) { return isSymbol(symbol) && (take(), true); }
    Expr fail(const Token& token, std::string message) {
        if (!hasFailed_) {
            hasFailed_ = true;
            error_ = {token.offset, token.kind == TokenKind::kError ? token.text : message};
        }
        return nullptr;
    }
    bool expectSymbol(std::string_view symbol, std::string_view after) {
        if (takeSymbol(symbol)) {
            return true;
        }
        fail(peek(), strCat("expected '", symbol, "' ", after, ", not ", describeToken(peek())));
        return false;
    }
    bool expectWord(std::string_view word, std::string_view where) {
        if (takeWord(word)) {
            return true;
        }
        fail(peek(), strCat("expected '", word, "' ", where, ", not ", describeToken(peek())));
        return false;
    }
    std::string hintForTail() const {
        if (at_ > 0 && tokens_[at_ - 1].kind == TokenKind::kName &&
            tokens_[at_ - 1].lower == "interval") {
            return "; expressions have no intervals: date_diff('day', a, b) counts days, and "
                   "make_timestamp(epoch_us(t) + 7 * 86400000000) is a week after t";
        }
        const bool isSecondName =
            at_ > 0 && tokens_[at_ - 1].kind == TokenKind::kName && peek().kind == TokenKind::kName;
        if (isSecondName) {
            return strCat(
                "; expected an operator (and, or, =, +, ...) before it, or double quotes around a "
                "name with a space, which YAML keeps only inside of single quotes: '\"",
                tokens_[at_ - 1].text, " ", peek().text, "\"'");
        }
        if (peek().kind == TokenKind::kString || peek().kind == TokenKind::kName ||
            peek().kind == TokenKind::kInteger || peek().kind == TokenKind::kQuotedName) {
            return "; expected an operator (and, or, =, +, ...) before it";
        }
        return "";
    }
    Expr node(ExprOp op, std::uint32_t offset, std::vector<Expr> children) {
        for (const Expr& child : children) {
            if (!child) {
                return nullptr;
            }
        }
        Expr made = makeNode(op, offset, std::move(children));
        if (made->depth > kExprDepthMax) {
            return fail(peek(), strCat("the expression is more than ", kExprDepthMax,
                                       " operations deep; split it over several derive steps"));
        }
        if (made->size > kExprNodesMax) {
            return fail(peek(), strCat("the expression has more than ", kExprNodesMax,
                                       " operations; split it over several derive steps"));
        }
        return made;
    }

    struct Nesting {
        explicit Nesting(int& depth) : depth(++depth) {}
        ~Nesting() { --depth; }
        int& depth;
    };

    Expr parseOr() {
        const Nesting nesting(depth_);
        if (depth_ > kNestingMax) {
            return fail(peek(), strCat("more than ", kNestingMax, " levels of brackets"));
        }
        Expr left = parseAnd();
        while (left && isWord("or")) {
            const std::uint32_t offset = take().offset;
            left = node(ExprOp::kOr, offset, {left, parseAnd()});
        }
        return left;
    }

    Expr parseAnd() {
        Expr left = parseNot();
        while (left && isWord("and")) {
            const std::uint32_t offset = take().offset;
            left = node(ExprOp::kAnd, offset, {left, parseNot()});
        }
        return left;
    }

    Expr parseNot() {
        std::vector<std::uint32_t> offsets;
        while (isWord("not")) {
            offsets.push_back(take().offset);
        }
        Expr expr = parseIs();
        for (auto it = offsets.rbegin(); expr && it != offsets.rend(); ++it) {
            expr = node(ExprOp::kNot, *it, {expr});
        }
        return expr;
    }

    Expr parseIs() {
        Expr left = parseComparison();
        while (left && isWord("is")) {
            const std::uint32_t offset = take().offset;
            const bool isNegated = takeWord("not");
            if (!expectWord("null", "after 'is'")) {
                return nullptr;
            }
            left = node(isNegated ? ExprOp::kIsNotNull : ExprOp::kIsNull, offset, {left});
        }
        return left;
    }

    std::optional<ExprOp> comparison() const {
        static const std::map<std::string_view, ExprOp> kOps = {
            {"=", ExprOp::kEqual},     {"==", ExprOp::kEqual},       {"<>", ExprOp::kNotEqual},
            {"!=", ExprOp::kNotEqual}, {"<", ExprOp::kLess},         {"<=", ExprOp::kLessEqual},
            {">", ExprOp::kGreater},   {">=", ExprOp::kGreaterEqual}};
        const auto it = peek().kind == TokenKind::kSymbol ? kOps.find(peek().text) : kOps.end();
        return it == kOps.end() ? std::nullopt : std::optional(it->second);
    }

    /// In SQL such a comparison is null, also for a null: a filter by it keeps no row.
    Expr failNull(const Token& token, ExprOp op) {
        return fail(token, strCat("a comparison with null is never true; write 'is ",
                                  op == ExprOp::kEqual ? "" : "not ", "null'"));
    }

    Expr parseComparison() {
        Expr left = parseRange();
        if (const auto op = comparison(); left && op) {
            const std::size_t operatorAt = at_;
            const std::uint32_t offset = take().offset;
            const Expr right = parseRange();
            const bool isEquality = *op == ExprOp::kEqual || *op == ExprOp::kNotEqual;
            if (isEquality && right && (isNull(left) || isNull(right))) {
                return failNull(tokens_[operatorAt], *op);
            }
            left = node(*op, offset, {left, right});
            if (left && comparison()) {
                return fail(peek(), "comparisons cannot be chained; combine two with 'and'");
            }
        }
        return left;
    }

    Expr parseRange() {
        Expr left = parseConcat();
        while (left) {
            const bool isNegated = isWord("not");
            const std::size_t ahead = isNegated ? 1 : 0;
            if (!isWord("in", ahead) && !isWord("between", ahead) && !isWord("like", ahead)) {
                return left;
            }
            const std::uint32_t offset = take().offset;
            const std::string word = isNegated ? take().lower : tokens_[at_ - 1].lower;
            left = word == "in"        ? parseIn(left, offset)
                   : word == "between" ? parseBetween(left, offset)
                                       : node(ExprOp::kLike, offset, {left, parseConcat()});
            if (isNegated && left) {
                left = node(ExprOp::kNot, offset, {left});
            }
        }
        return left;
    }

    Expr parseIn(const Expr& value, std::uint32_t offset) {
        std::vector<Expr> children = {value};
        if (!expectSymbol("(", "after 'in'")) {
            return nullptr;
        }
        do {
            children.push_back(parseOr());
            if (!children.back()) {
                return nullptr;
            }
        } while (takeSymbol(","));
        return expectSymbol(")", "at the end of the list of 'in'")
                   ? node(ExprOp::kIn, offset, std::move(children))
                   : nullptr;
    }

    Expr parseBetween(const Expr& value, std::uint32_t offset) {
        Expr low = parseConcat();
        if (!low || !expectWord("and", "between the limits of 'between'")) {
            return nullptr;
        }
        Expr high = parseConcat();
        return node(ExprOp::kAnd, offset,
                    {node(ExprOp::kGreaterEqual, offset, {value, low}),
                     node(ExprOp::kLessEqual, offset, {value, high})});
    }

    Expr parseConcat() {
        Expr left = parseSum();
        while (left && isSymbol("||")) {
            const std::uint32_t offset = take().offset;
            left = node(ExprOp::kConcat, offset, {left, parseSum()});
        }
        return left;
    }

    Expr parseSum() {
        Expr left = parseProduct();
        while (left && (isSymbol("+") || isSymbol("-"))) {
            const Token op = take();
            left = node(op.text == "+" ? ExprOp::kAdd : ExprOp::kSubtract, op.offset,
                        {left, parseProduct()});
        }
        return left;
    }

    Expr parseProduct() {
        static const std::map<std::string_view, ExprOp> kOps = {{"*", ExprOp::kMultiply},
                                                                {"/", ExprOp::kDivide},
                                                                {"//", ExprOp::kIntDivide},
                                                                {"%", ExprOp::kModulo}};
        Expr left = parsePower();
        while (left && peek().kind == TokenKind::kSymbol && kOps.count(peek().text) > 0) {
            const Token op = take();
            left = node(kOps.at(op.text), op.offset, {left, parsePower()});
        }
        return left;
    }

    Expr parsePower() {
        Expr left = parseUnary();
        while (left && (isSymbol("^") || isSymbol("**"))) {
            const Token op = take();
            left = call("pow", op.offset, {left, parseUnary()});
        }
        return left;
    }

    Expr parseUnary() {
        std::vector<std::uint32_t> minuses;
        while (isSymbol("-") || isSymbol("+")) {
            const Token sign = take();
            if (sign.text == "-") {
                minuses.push_back(sign.offset);
            }
        }
        const bool isNumber = peek().kind == TokenKind::kInteger || peek().kind == TokenKind::kReal;
        Expr expr;
        if (isNumber && !minuses.empty()) {
            expr = parsePostfix(parseNumber(take(), true));
            minuses.pop_back();
        } else {
            expr = parsePostfix(parsePrimary());
        }
        for (auto it = minuses.rbegin(); expr && it != minuses.rend(); ++it) {
            expr = node(ExprOp::kNegate, *it, {expr});
        }
        return expr;
    }

    Expr parsePostfix(Expr expr) {
        while (expr) {
            if (isSymbol("::")) {
                const std::uint32_t offset = take().offset;
                expr = cast(ExprOp::kCast, offset, std::move(expr));
            } else if (isSymbol("[")) {
                const std::uint32_t offset = take().offset;
                Expr index = parseOr();
                if (!index || !expectSymbol("]", "after the index")) {
                    return nullptr;
                }
                expr = call("list_extract", offset, {expr, index});
            } else if (isWord("at") && isWord("time", 1) && isWord("zone", 2)) {
                const std::uint32_t offset = take().offset;
                take();
                take();
                Expr zone = parsePrimary();
                if (!zone) {
                    return nullptr;
                }
                expr = call("timezone", offset, {zone, expr});
            } else {
                return expr;
            }
        }
        return expr;
    }

    /// Parses a cast up to its type's name, which comes next.
    Expr cast(ExprOp op, std::uint32_t offset, Expr value) {
        const Token first = peek();
        if (first.kind != TokenKind::kName) {
            return fail(first, strCat("expected a type, not ", describeToken(first)));
        }
        std::string name = take().text;
        if (isSymbol("(")) {  // decimal(10, 2): parses the digits and ignores them
            while (peek().kind == TokenKind::kInteger || isSymbol(",")) {
                take();
            }
            if (!expectSymbol(")", "after the type")) {
                return nullptr;
            }
        }
        if (isSymbol("[") && isSymbol("]", 1)) {
            take();
            take();
            name += "[]";
        }
        const Result<DataType> type = parseType(name);
        if (!type.ok()) {
            return fail(first, std::string(messageOf(type.status())));
        }
        Expr made = node(op, offset, {std::move(value)});
        return made ? withType(made, *type) : nullptr;
    }

    Expr parsePrimary() {
        const Token token = peek();
        switch (token.kind) {
            case TokenKind::kInteger:
            case TokenKind::kReal:
                return parseNumber(take(), false);
            case TokenKind::kString:
                return makeLiteral(take().text, token.offset);
            case TokenKind::kQuotedName:
                return parseColumn();
            case TokenKind::kName:
                return parseName();
            default:
                break;
        }
        if (takeSymbol("(")) {
            Expr inner = parseOr();
            return inner && expectSymbol(")", "to close '('") ? inner : nullptr;
        }
        return fail(token, strCat("expected a value, not ", describeToken(token)));
    }

    Expr parseNumber(const Token& token, bool isNegative) {
        const std::string text = isNegative ? strCat("-", token.text) : token.text;
        if (token.kind == TokenKind::kInteger) {
            std::int64_t value = 0;
            const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (ec != std::errc()) {
                return parseLargeInteger(token, text);
            }
            return makeLiteral(value, token.offset);
        }
        double value = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (ec != std::errc() && !(std::fabs(value) > 0)) {
            return fail(token, strCat("number ", text, " is beyond double"));
        }
        return makeLiteral(value, token.offset);
    }

    /// An integer that only uint64 can hold, as cast('18446744073709551615' as uint64).
    Expr parseLargeInteger(const Token& token, const std::string& text) {
        std::uint64_t value = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (ec != std::errc() || text.starts_with('-')) {
            return fail(token, strCat("integer ", text, " is beyond 64 bits"));
        }
        ExprNode node = *makeNode(ExprOp::kCast, token.offset, {makeLiteral(text, token.offset)});
        node.type = scalar(TypeKind::kUint64);
        return std::make_shared<const ExprNode>(std::move(node));
    }

    Expr parseName() {
        const Token token = peek();
        const std::string& word = token.lower;
        if (word == "true" || word == "false") {
            take();
            return makeLiteral(word == "true", token.offset);
        }
        if (word == "null") {
            take();
            return makeLiteral(std::monostate{}, token.offset);
        }
        if (word == "case") {
            return parseCase();
        }
        if ((word == "cast" || word == "try_cast") && isSymbol("(", 1)) {
            return parseCast();
        }
        if (reservedWords().count(word) > 0) {
            return fail(token, strCat("expected a value, not '", token.text,
                                      "' (put a column of this name in double quotes)"));
        }
        if (isSymbol("(", 1)) {
            return parseCall();
        }
        if ((word == "date" || word == "timestamp") && peek(1).kind == TokenKind::kString) {
            take();
            Expr text = makeLiteral(take().text, token.offset);
            const Result<DataType> type = parseType(word);
            INVARIANT(type.ok(), "date and timestamp are types");
            return withType(node(ExprOp::kCast, token.offset, {text}), *type);
        }
        return parseColumn();
    }

    Expr parseColumn() {
        const Token first = take();
        std::string name = first.text;
        while (isSymbol(".") &&
               (peek(1).kind == TokenKind::kName || peek(1).kind == TokenKind::kQuotedName)) {
            take();
            name += '.';
            name += take().text;
        }
        return makeColumn(std::move(name), first.offset);
    }

    Expr parseCase() {
        const std::uint32_t offset = take().offset;
        Expr subject;
        if (!isWord("when") && !(subject = parseOr())) {
            return nullptr;
        }
        std::vector<Expr> children;
        while (isWord("when")) {
            const std::uint32_t at = take().offset;
            const Token first = peek();
            Expr condition = parseOr();
            if (subject && condition && isNull(condition)) {
                return fail(first, "'when null' never matches; write 'case when x is null then'");
            }
            if (subject && condition) {
                condition = node(ExprOp::kEqual, at, {subject, condition});
            }
            if (!condition || !expectWord("then", "after the condition of 'when'")) {
                return nullptr;
            }
            children.push_back(condition);
            children.push_back(parseOr());
            if (!children.back()) {
                return nullptr;
            }
        }
        if (children.empty()) {
            return fail(peek(),
                        strCat("expected 'when' after 'case', not ", describeToken(peek())));
        }
        children.push_back(takeWord("else") ? parseOr() : makeLiteral(std::monostate{}, offset));
        return children.back() && expectWord("end", "at the end of 'case'")
                   ? node(ExprOp::kCase, offset, std::move(children))
                   : nullptr;
    }

    Expr parseCast() {
        const Token word = take();
        take();
        Expr value = parseOr();
        if (!value || !expectWord("as", strCat("in '", word.lower, "'"))) {
            return nullptr;
        }
        Expr made =
            cast(word.lower == "cast" ? ExprOp::kCast : ExprOp::kTryCast, word.offset, value);
        return made && expectSymbol(")", strCat("after '", word.lower, "'")) ? made : nullptr;
    }

    Expr parseCall() {
        const Token name = take();
        take();
        std::vector<Expr> arguments;
        if (!isSymbol(")")) {
            do {
                arguments.push_back(parseOr());
                if (!arguments.back()) {
                    return nullptr;
                }
            } while (takeSymbol(","));
        }
        if (!expectSymbol(")", strCat("after the arguments of ", name.lower, "()"))) {
            return nullptr;
        }
        if (name.lower == "if") {
            return parseIf(name, std::move(arguments));
        }
        return call(name.lower, name.offset, std::move(arguments));
    }

    Expr parseIf(const Token& name, std::vector<Expr> arguments) {
        if (arguments.size() == 2) {
            arguments.push_back(makeLiteral(std::monostate{}, name.offset));
        }
        if (arguments.size() != 3) {
            return fail(name, strCat("if() takes a condition, a value and what else, not ",
                                     arguments.size(), " arguments"));
        }
        return node(ExprOp::kCase, name.offset, std::move(arguments));
    }

    Expr call(std::string_view name, std::uint32_t offset, std::vector<Expr> arguments) {
        Expr made = node(ExprOp::kCall, offset, std::move(arguments));
        return made ? withName(made, std::string(name)) : nullptr;
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool hasFailed_ = false;
    ExprError error_;
};

}  // namespace

std::variant<Expr, ExprError> tryParseExpression(std::string_view text) {
    if (text.size() > kTextBytesMax) {
        return ExprError{
            0, strCat("the expression has ", formatCount(static_cast<std::int64_t>(text.size())),
                      " bytes; at most ", formatCount(kTextBytesMax))};
    }
    return Parser(tokenize(text)).run();
}

}  // namespace millrace::expr
