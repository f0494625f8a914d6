#include "backend/expr/expression.h"

#include <gtest/gtest.h>

#include "tests/unit/spec/movielens_spec.h"

namespace millrace::expr {
namespace {

using spec::ratingsSchema;
using spec::typeNamed;

Schema columns() {
    return {{{"i8", typeNamed("int8")},
             {"i", typeNamed("int32")},
             {"b", typeNamed("int64")},
             {"u8", typeNamed("uint8")},
             {"u64", typeNamed("uint64")},
             {"f", typeNamed("float")},
             {"d", typeNamed("double")},
             {"de", typeNamed("decimal")},
             {"s", typeNamed("string")},
             {"t", typeNamed("timestamp")},
             {"day", typeNamed("date")},
             {"ok", typeNamed("bool")},
             {"l", typeNamed("int32[]")},
             {"words", typeNamed("string[]")},
             {"a.b", typeNamed("int32")},
             {"two words", typeNamed("int32")}}};
}

std::string textOf(std::string_view text) {
    const Result<Expr> expr = parseExpression(text);
    return expr.ok() ? expressionText(*expr) : std::string(messageOf(expr.status()));
}

/// The result's type, or the error.
std::string typeOf(std::string_view text) {
    const Result<Expr> expr = compileExpression(text, columns());
    return expr.ok() ? (*expr)->type.name() : std::string(messageOf(expr.status()));
}

struct Case {
    const char* text;
    const char* wanted;
};

TEST(ExpressionParser, BindsOperatorsAsSqlDoes) {
    const Case cases[] = {
        {"a + b * c", R"(("a" + ("b" * "c")))"},
        {"a - b - c", R"((("a" - "b") - "c"))"},
        {"a or b and c", R"(("a" or ("b" and "c")))"},
        {"not a = b", R"((not ("a" = "b")))"},
        {"a = b is null", R"((("a" = "b") is null))"},
        {"a is not null and b", R"((("a" is not null) and "b"))"},
        {"a || b + c", R"(("a" || ("b" + "c")))"},
        {"-a ^ 2", R"(pow((- "a"), 2))"},
        {"a // b % c", R"((("a" // "b") % "c"))"},
        {"a != b", R"(("a" <> "b"))"},
        {"a == b", R"(("a" = "b"))"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(textOf(c.text), c.wanted) << c.text;
    }
}

TEST(ExpressionParser, TheTextOfSeveralMinusesParsesToTheSameTree) {
    for (const char* text : {"----0", "-(0)", "-(1)", "--1", "-(1.5)", "---a"}) {
        const std::string written = textOf(text);
        EXPECT_EQ(textOf(written), written) << text;
    }
    EXPECT_EQ(textOf("--0"), "(- (0))");
    EXPECT_EQ(textOf("--1"), "(- -1)");
}

TEST(ExpressionParser, TurnsSugarIntoPlainOperations) {
    EXPECT_EQ(textOf("a between 1 and 2"), R"((("a" >= 1) and ("a" <= 2)))");
    EXPECT_EQ(textOf("a not in (1, 2)"), R"((not ("a" in (1, 2))))");
    EXPECT_EQ(textOf("a not like 'x%'"), R"((not ("a" like 'x%')))");
    EXPECT_EQ(textOf("if(a, 1, 2)"), R"(case when "a" then 1 else 2 end)");
    EXPECT_EQ(textOf("case a when 1 then 2 end"), R"(case when ("a" = 1) then 2 else null end)");
    EXPECT_EQ(textOf("a::bigint"), R"(cast("a" as int64))");
    EXPECT_EQ(textOf("l[1]"), R"(list_extract("l", 1))");
    EXPECT_EQ(textOf("date '2024-01-31'"), R"(cast('2024-01-31' as date))");
}

TEST(ExpressionParser, ReadsLiteralsNamesAndQuotes) {
    EXPECT_EQ(textOf("'it''s'"), "'it''s'");
    EXPECT_EQ(textOf("\"two words\" + a.b"), R"(("two words" + "a.b"))");
    EXPECT_EQ(textOf("-9223372036854775808"), "-9223372036854775808");
    EXPECT_EQ(textOf("1e3"), "1000.0");
    EXPECT_EQ(textOf(".5"), "0.5");
    EXPECT_EQ(textOf("NULL"), "null");
    EXPECT_EQ(textOf("TRUE AND false"), "(true and false)");
    EXPECT_EQ(textOf("größe > 1"), "(\"größe\" > 1)");
}

TEST(ExpressionParser, ItsTextParsesToTheSameText) {
    for (const char* text :
         {"a + b * c - 1.5", "case when a then 'x' else s end", "not (a in (1,2))",
          "try_cast(s as double)", "coalesce(a, -1)", "a like '%''%'"}) {
        const std::string once = textOf(text);
        EXPECT_EQ(textOf(once), once) << text;
    }
}

TEST(ExpressionParser, SaysWhereAndWhatIsWrong) {
    const Case cases[] = {
        {"a +", "1:4: expected a value, not the end"},
        {"(a", "1:3: expected ')' to close '(', not the end"},
        {"a b",
         "1:3: unexpected 'b'; expected an operator (and, or, =, +, ...) before it, or double "
         "quotes around a name with a space, which YAML keeps only inside of single quotes: "
         "'\"a b\"'"},
        {"a 2", "1:3: unexpected number 2; expected an operator (and, or, =, +, ...) before it"},
        {"day - interval '7 days'",
         "1:16: unexpected text '7 days'; expressions have no intervals: date_diff('day', a, b) "
         "counts days, and make_timestamp(epoch_us(t) + 7 * 86400000000) is a week after t"},
        {"", "1:1: the expression is empty"},
        {"a = 'x", "1:5: this text has no closing '"},
        {"a\n  = = b", "2:5: expected a value, not '='"},
        {"1 < a < 3", "1:7: comparisons cannot be chained; combine two with 'and'"},
        {"a between 1 or 2", "1:13: expected 'and' between the limits of 'between', not 'or'"},
        {"cast(a as strnig)", "1:11: unknown type 'strnig'; did you mean 'string'?"},
        {"a in 3", "1:6: expected '(' after 'in', not number 3"},
        {"99999999999999999999", "1:1: integer 99999999999999999999 is beyond 64 bits"},
        {"1abc", "1:1: a name cannot begin with a digit; put a column's name in double quotes"},
        {"a ; b", "1:3: unexpected ';'"},
        {"(a > 1) & (b < 2)", "1:9: unexpected '&'; write 'and'"},
        {"a > 1 && b < 2", "1:7: unexpected '&'; write 'and'"},
        {"(a > 1) | (b < 2)", "1:9: unexpected '|'; write 'or'"},
        {"~(a > 1)", "1:1: unexpected '~'; write 'not'"},
        {"!a", "1:1: unexpected '!'; write 'not'"},
        {"a = null", "1:3: a comparison with null is never true; write 'is null'"},
        {"a == NULL", "1:3: a comparison with null is never true; write 'is null'"},
        {"b and a != null", "1:9: a comparison with null is never true; write 'is not null'"},
        {"null <> a", "1:6: a comparison with null is never true; write 'is not null'"},
        {"case a when null then 1 end",
         "1:13: 'when null' never matches; write 'case when x is null then'"},
        {"case when a then 1", "1:19: expected 'end' at the end of 'case', not the end"},
        {"when", "1:1: expected a value, not 'when' (put a column of this name in double quotes)"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(textOf(c.text), c.wanted) << c.text;
    }
}

TEST(ExpressionParser, RefusesWhatIsTooDeepOrTooLarge) {
    const std::string open(100'000, '(');
    EXPECT_NE(textOf(open).find("at most 65,536"), std::string::npos);
    EXPECT_NE(textOf(open.substr(0, 5000)).find("levels of brackets"), std::string::npos);
    std::string chain = "a";
    for (int i = 0; i < 3000; ++i) {
        chain += "+a";
    }
    EXPECT_NE(textOf(chain).find("operations deep"), std::string::npos);
    std::string minus(3000, '-');
    EXPECT_NE(textOf(minus + "a").find("operations deep"), std::string::npos);
    std::string doubling = "a";
    for (int i = 0; i < 40; ++i) {
        doubling = "(" + doubling + " between 1 and 2)";
    }
    EXPECT_NE(textOf(doubling).find("more than 20000 operations"), std::string::npos);
}

TEST(ExpressionParser, AcceptsNestingUpToTheLimit) {
    const std::string deep = std::string(150, '(') + "a" + std::string(150, ')');
    EXPECT_EQ(textOf(deep), "\"a\"");
}

TEST(ExpressionTyper, GivesArithmeticTheTypesOfDuckDb) {
    const Case cases[] = {
        {"i8 + 1", "int8"},      {"i8 + 200", "int32"}, {"i8 + i", "int32"},  {"u8 + 1", "uint8"},
        {"i + b", "int64"},      {"i / i", "double"},   {"f / f", "float"},   {"f / i", "float"},
        {"f / d", "double"},     {"i // i", "int32"},   {"f // f", "float"},  {"d // 2", "double"},
        {"b % i", "int64"},      {"i + 1.5", "double"}, {"f + 1.5", "float"}, {"1 + 1", "int32"},
        {"3000000000", "int64"}, {"null + 1", "int32"}, {"-i8", "int8"},      {"-f", "float"},
        {"de + 1", "double"},    {"u8 + i8", "int16"},  {"2 ^ 3", "double"},  {"1e3", "double"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(typeOf(c.text), c.wanted) << c.text;
    }
}

TEST(ExpressionTyper, GivesFunctionsTheTypesOfDuckDb) {
    const Case cases[] = {
        {"abs(i8)", "int8"},
        {"abs(f)", "float"},
        {"sign(d)", "int8"},
        {"floor(i)", "double"},
        {"floor(f)", "float"},
        {"round(i)", "int32"},
        {"round(d, 2)", "double"},
        {"sqrt(i)", "double"},
        {"ln(i)", "double"},
        {"log(100)", "double"},
        {"pow(f, 2)", "double"},
        {"least(i, d)", "double"},
        {"greatest(i8, b)", "int64"},
        {"coalesce(null, i)", "int32"},
        {"nullif(i, d)", "int32"},
        {"if(ok, i, b)", "int64"},
        {"case when ok then f else 1.5 end", "float"},
        {"length(s)", "int64"},
        {"len(l)", "int64"},
        {"split(s, ',')", "string[]"},
        {"split(s, ',')[1]", "string"},
        {"list_contains(l, 1)", "bool"},
        {"contains(words, 'x')", "bool"},
        {"contains(s, 'x')", "bool"},
        {"year(day)", "int64"},
        {"epoch(t)", "double"},
        {"make_timestamp(b * 1000000)", "timestamp"},
        {"t at time zone 'Europe/Berlin'", "timestamp"},
        {"strptime(s, '%d.%m.%Y')", "timestamp"},
        {"try_strptime(null, '%d.%m.%Y')", "timestamp"},
        {"hour(t at time zone 'America/New_York') + 1", "int64"},
        {"hash01(s, i, null)", "double"},
        {"s || 1", "string"},
        {"try_cast(s as int)", "int32"},
        {"'1'::double", "double"},
        {"UPPER(s)", "string"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(typeOf(c.text), c.wanted) << c.text;
    }
}

TEST(ExpressionTyper, NamesTheNearestColumnAndFunction) {
    const Result<Expr> column = compileExpression("ratin >= 4", ratingsSchema());
    EXPECT_EQ(messageOf(column.status()), "1:1: unknown column 'ratin'; did you mean 'rating'?");
    const Result<Expr> text = compileExpression("rating = NA", ratingsSchema());
    EXPECT_NE(messageOf(text.status()).find("1:10: unknown column 'NA'"), std::string::npos);
    EXPECT_TRUE(messageOf(text.status()).ends_with("; a text is written in single quotes"));
    EXPECT_EQ(typeOf("date(s)"), "1:1: unknown function date(); here it is cast(x as date)");
    EXPECT_EQ(typeOf("random() < 0.8"), "1:1: unknown function random(); here it is hash01(id)");
    EXPECT_EQ(typeOf("1 + flor(d)"), "1:5: unknown function flor(); did you mean 'floor'?");
}

TEST(ExpressionTyper, RefusesTypesThatDoNotFitWithTheirPlace) {
    const Case cases[] = {
        {"d >= 'four'",
         "1:3: cannot compare double and string; a number is written without quotes, a column's "
         "name in double quotes"},
        {"s + 1", "1:1: cannot add string; cast it, as in cast(x as double)"},
        {"ok || t > '2024-01-01'",
         "1:1: '||' needs a string, not bool; write 'or' between conditions"},
        {"i and ok", "1:1: 'and' needs true or false, not int32; compare it with something"},
        {"not i", "1:5: 'not' needs true or false, not int32; compare it with something"},
        {"l = l", "1:1: lists cannot be compared; list_contains(list, x) looks into one"},
        {"u64 + b", "1:5: cannot add uint64 and int64; cast one of them to int64"},
        {"-u8", "1:1: cannot negate uint8; cast it to int64"},
        {"lower(i)", "1:7: lower() needs a string, not int32; cast it, as in cast(x as string)"},
        {"sqrt(s)", "1:6: sqrt() needs a number, not string"},
        {"split(s)", "1:1: split() takes (s, separator), not 1 argument"},
        {"year(b)",
         "1:6: year() needs a date or timestamp, not int64; make_timestamp(seconds * 1000000) "
         "makes one"},
        {"case when ok then 1 else 'x' end",
         "1:1: cannot give back both string and int32; a number is written without quotes, a "
         "column's name in double quotes"},
        {"t > '2024-13-01'",
         "1:5: '2024-13-01' is not a timestamp; write it as '2024-01-31 12:00:00'"},
        {"cast(b as timestamp)",
         "1:1: cannot cast int64 to timestamp; make_timestamp(microseconds) makes a time"},
        {"t at time zone 'Europe/Berln'",
         "1:16: there is no time zone 'Europe/Berln'; zones are named as 'Europe/Berlin', "
         "'America/New_York', 'UTC'"},
        {"t at time zone '../etc/passwd'",
         "1:16: there is no time zone '../etc/passwd'; zones are named as 'Europe/Berlin', "
         "'America/New_York', 'UTC'"},
        {"t at time zone s",
         "1:16: timezone() needs a time zone as a literal text, such as 'Europe/Berlin', not "
         "string"},
        {"strptime(s, s)",
         "1:13: strptime() needs a format as a literal text, such as '%Y-%m-%d', not string"},
        {"strptime(b, '%Y')",
         "1:10: strptime() needs a string, not int64; cast it, as in cast(x as string)"},
        {"1 +\n strptime(s, 'x %Q')",
         "2:14: strptime(): unknown %Q in the format; known are %Y %y %m %b %B %d %j %H %I %p %M "
         "%S "
         "%g %f %n %z %a %A %%, and with a minus %-y %-m %-d %-j %-H %-I %-M %-S"},
        {"regexp_extract(s, s)", "1:19: regexp_extract() needs a literal text here, not string"},
        {"list_contains(l, 'x')",
         "1:18: list_contains() needs an element of type int32, not a string"},
        {"s like s", "1:8: the pattern of 'like' must be a literal, as in 'a%'"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(typeOf(c.text), c.wanted) << c.text;
    }
}

TEST(ExpressionTyper, ComparesTimesWithTexts) {
    for (const char* text : {"t > '2024-01-31'", "'2024-01-31 10:00' <= t", "day = '2024-01-31'",
                             "day in ('2024-01-31', '2024-02-01')", "day < t",
                             "t between '2024-01-31' and '2024-02-01T12:00:00.5Z'"}) {
        EXPECT_EQ(typeOf(text), "bool") << text;
    }
}

TEST(ExpressionTyper, MakesOperandsOfOneTypeWithCastsThatShow) {
    const Expr sum = compileExpression("i + b", columns()).value();
    ASSERT_EQ(sum->op, ExprOp::kAdd);
    EXPECT_EQ(sum->children[0]->op, ExprOp::kCast);
    EXPECT_TRUE(sum->children[0]->isImplicit);
    EXPECT_EQ(sum->children[0]->type.name(), "int64");
    EXPECT_EQ(sum->children[1]->op, ExprOp::kColumn);
    const Expr quotient = compileExpression("i / 2", columns()).value();
    EXPECT_EQ(quotient->children[1]->op, ExprOp::kLiteral);
    EXPECT_EQ(std::get<double>(quotient->children[1]->literal), 2.0);
}

TEST(ExpressionTyper, LetsALiteralTakeTheTypeOfItsColumn) {
    const Expr less = compileExpression("f < 0.1", columns()).value();
    EXPECT_EQ(less->children[0]->op, ExprOp::kColumn);
    EXPECT_EQ(less->children[1]->type.name(), "float");
    EXPECT_EQ(std::get<double>(less->children[1]->literal), static_cast<double>(0.1F));
    const Expr in = compileExpression("b in (1, 2, null)", columns()).value();
    for (const Expr& child : in->children) {
        EXPECT_EQ(child->type.name(), "int64");
    }
}

TEST(ExpressionTyper, ResolvesFunctionsOnce) {
    const Expr call = compileExpression("string_split(s, '|')", columns()).value();
    ASSERT_NE(call->function, nullptr);
    EXPECT_EQ(call->function->id, FunctionId::kSplit);
    EXPECT_EQ(call->name, "split");
    const Expr length = compileExpression("len(l)", columns()).value();
    EXPECT_EQ(length->function->id, FunctionId::kListLength);
    const Expr nullIf = compileExpression("nullif(i, 0)", columns()).value();
    EXPECT_EQ(nullIf->op, ExprOp::kCase);
}

TEST(ExpressionTyper, APredicateMustBeTrueOrFalse) {
    EXPECT_TRUE(compilePredicate("i > 1", columns(), "filter").ok());
    EXPECT_EQ(messageOf(compilePredicate("i + 1", columns(), "filter").status()),
              "1:1: filter must be true or false, not int32; compare it with something");
}

TEST(Expression, CollectsEachColumnOnceInOrder) {
    const Expr expr = parseExpression("b + a * b - coalesce(c, \"a.b\")").value();
    EXPECT_EQ(collectColumns(expr), (std::vector<std::string>{"b", "a", "c", "a.b"}));
}

TEST(Expression, CountsColumnsInCodePoints) {
    EXPECT_EQ(positionAt("ä = 'ö' x", 10), (Position{1, 9}));
    EXPECT_EQ(positionAt("a\nb\nc", 4), (Position{3, 1}));
    EXPECT_EQ(positionAt("ab", 99), (Position{1, 3}));
}

TEST(Functions, HaveUniqueNamesAndDocumentedArguments) {
    for (const Function& f : allFunctions()) {
        EXPECT_FALSE(f.doc.empty()) << f.name;
        EXPECT_FALSE(f.arguments.empty()) << f.name;
        EXPECT_FALSE(f.params.empty()) << f.name;
        bool isFound = false;
        for (const Function* found : findFunctions(f.name)) {
            isFound |= found == &f;
        }
        EXPECT_TRUE(isFound) << f.name;
    }
}

TEST(DataTypes, AreReadByTheirSqlAndArrowNames) {
    EXPECT_EQ(typeNamed("BIGINT").name(), "int64");
    EXPECT_EQ(typeNamed("varchar[]").name(), "string[]");
    EXPECT_EQ(typeNamed("float[16]").listSize, 16);
    EXPECT_FALSE(parseType("float[x]").ok());
    EXPECT_EQ(messageOf(parseType("int46").status()),
              "unknown type 'int46'; did you mean 'int16'?");
}

}  // namespace
}  // namespace millrace::expr
