// Random and broken inputs: the reader must not crash or hang, and must report errors.
#include <random>

#include <gtest/gtest.h>

#include "backend/spec/bind.h"
#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

/// Reads the text; if that succeeds, binds the spec and converts it to JSON and back.
void expectHandled(const std::string& text) {
    ResolvedSpec read = readSpec(text);
    EXPECT_EQ(read.ok(), read.errors.empty());
    EXPECT_LE(read.errors.size(), 20U);
    if (read.ok()) {
        bindSchema(*read.spec, ratingsSchema(), movieTables());
        const Json json = read.spec->toJson();
        EXPECT_TRUE(RunSpec::fromJson(json).ok());
    }
}

std::string mutated(std::string text, std::mt19937& random) {
    constexpr std::string_view kPieces[] = {
        "{",  "}",  "[",    "]",  ":",   ",",  "\n", "  ",   "'", "\"",  "*a",
        "&a", "- ", "null", "()", "and", "\\", "|",  "\x80", "#", "!!x", "999999999999999999"};
    const int edits = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < edits && !text.empty(); ++i) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
            case 0:
                text.erase(at, 1 + random() % 20);
                break;
            case 1:
                text.insert(at, kPieces[random() % std::size(kPieces)]);
                break;
            case 2:
                text[at] = static_cast<char>(random() % 256);
                break;
            default:
                text.insert(at, text.substr(random() % text.size(), random() % 40));
        }
    }
    return text;
}

TEST(Robustness, BrokenSpecsGiveErrors) {
    std::mt19937 random(7);
    for (int i = 0; i < 1500; ++i) {
        expectHandled(mutated(kMovieLens, random));
    }
}

TEST(Robustness, BrokenExpressionsGiveErrorsWithAPlace) {
    std::mt19937 random(11);
    const std::string seed =
        "case when rating between 1 and 4.5 then coalesce(userId, -1) // 3 else "
        "try_cast(regexp_extract('a''b', '(x)', 1) as int) end in (1, 2, null) or not "
        "hash01(userId, "
        "movieId) < 0.8 and \"timestamp\" % 7 <> 1e3 || 'x'::varchar like '%'";
    for (int i = 0; i < 20000; ++i) {
        const std::string text = mutated(seed, random);
        const Result<expr::Expr> expr = expr::compileExpression(text, ratingsSchema());
        if (!expr.ok()) {
            const std::string message(messageOf(expr.status()));
            EXPECT_TRUE(message[0] >= '1' && message[0] <= '9') << message;
        } else {
            expr::expressionText(*expr);
        }
    }
}

TEST(Robustness, AnOpenTypeOrTextEndsTheParser) {
    for (const char* text : {"cast(a as decimal(10, ';", "a::decimal(", "cast(a as decimal(;"}) {
        EXPECT_FALSE(expr::parseExpression(text).ok()) << text;
    }
}

TEST(Robustness, EveryPrefixOfTheExampleIsHandled) {
    const std::string text = kMovieLens;
    for (std::size_t n = 0; n < text.size(); n += 3) {
        expectHandled(text.substr(0, n));
    }
}

TEST(Robustness, BrokenJsonOfAResolvedSpecGivesErrors) {
    const Json whole = readSpec(kMovieLens).spec->toJson();
    const Json flat = whole.flatten();
    const Json others[] = {nullptr, 1, -1, 2.5, "x", true, Json::array(), Json::object()};
    for (const auto& [path, value] : flat.items()) {
        for (const Json& other : others) {
            Json broken = whole;
            broken[Json::json_pointer(path)] = other;
            const Result<RunSpec> spec = RunSpec::fromJson(broken);
            if (spec.ok()) {
                EXPECT_EQ(specHash(*spec).size(), 32U);
                EXPECT_FALSE(flattenParams(spec->toJson()).empty());
            } else {
                EXPECT_FALSE(messageOf(spec.status()).empty()) << path;
            }
        }
    }
}

TEST(Robustness, PlacesNeverLeaveTheText) {
    const std::string text = "a: \"x\\u00e4\\n y\"\nb: 'z''z'\nc: |\n  one\n  two\n";
    const ResolvedSpec read = readSpec(text);
    EXPECT_FALSE(read.ok());
    for (const SpecError& error : read.errors) {
        EXPECT_LE(error.line, 6);
    }
}

}  // namespace
}  // namespace millrace::spec
