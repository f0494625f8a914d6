#include "backend/rank/rank_line.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace millrace::rank {
namespace {

std::vector<Body> someBodies() {
    Done done{100, 25'600, "{\"cursor\":{}}", {{"eval.auc", 0.79}}, {{"eval_order_hash", "ff"}}};
    return {Hello{{"r-abcde", 2, "feed", 1, 77, 1'000}},
            Metrics{7, 1, 1792, 1'700'000'000'123, {{"loss", 0.5}, {"loss.liked", -1e-300}}},
            Progress{7, 1, 1792, 400, "evaluating", 12.5, 0.25, 300},
            Checkpoint{100, "step-00000100.a1.safetensors", 1 << 20, "abc", "state text"},
            ReceiptLine{Json{{"rows_scanned", 5}}},
            done,
            ErrorLine{"a.csv: line 7: \"quote\"\n"},
            Alive{"no space left on device"},
            Alive{"", 3},
            Held{41}};
}

TEST(RankLine, EveryKindRoundTrips) {
    std::uint64_t seq = 0;
    for (const Body& body : someBodies()) {
        const bool isCounted = !std::holds_alternative<Hello>(body) &&
                               !std::holds_alternative<Alive>(body) &&
                               !std::holds_alternative<Held>(body);
        const RankLine line{isCounted ? ++seq : 0, isCounted ? 3 : -1, body};
        const std::string text = formatLine(line);
        EXPECT_EQ(text.find('\n'), std::string::npos);
        const Result<RankLine> again = parseLine(text);
        ASSERT_TRUE(again.ok()) << again.status() << text;
        EXPECT_EQ(*again, line) << text;
    }
}

TEST(RankLine, NumbersThatAreNoneTravelAsText) {
    const double inf = std::numeric_limits<double>::infinity();
    const RankLine line{1, 1, Metrics{1, 0, 0, 0, {{"a", NAN}, {"b", inf}, {"c", -inf}}}};
    const std::string text = formatLine(line);
    EXPECT_NE(text.find("\"a\":\"NaN\""), std::string::npos);
    EXPECT_NE(text.find("\"c\":\"-Infinity\""), std::string::npos);
    const Result<RankLine> again = parseLine(text);
    ASSERT_TRUE(again.ok());
    const Values& values = std::get<Metrics>(again->body).values;
    EXPECT_TRUE(std::isnan(values.at("a")));
    EXPECT_EQ(values.at("b"), inf);
    EXPECT_EQ(values.at("c"), -inf);
}

TEST(RankLine, RefusesOtherShapesNamingTheKey) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "not JSON"},
        {"[]", "object"},
        {"{}", "'type'"},
        {R"({"type":"dance","seq":1})", "'dance'"},
        {R"({"type":"metrics","seq":0,"step":1})", "'seq'"},
        {R"({"type":"metrics","step":1})", "'seq'"},
        {R"({"type":"metrics","seq":-4,"step":1})", "'seq'"},
        {R"({"type":"metrics","seq":1})", "'step'"},
        {R"({"type":"metrics","seq":1,"step":18446744073709551615})", "'step'"},
        {R"({"type":"metrics","seq":1,"step":1,"values":{"a":"x"}})", "'values'"},
        {R"({"type":"metrics","seq":1,"step":1,"values":[1]})", "'values'"},
        {R"({"type":"done","seq":1,"step":1,"params":{"a":1}})", "'params'"},
        {R"({"type":"receipt","seq":1})", "'receipt'"},
        {R"({"type":"error","seq":1,"message":5})", "'message'"},
        {R"({"type":"hello","run":"r","attempt":1,"rank":0,"role":"king"})", "king"},
    };
    for (const auto& [text, expected] : cases) {
        const Result<RankLine> line = parseLine(text);
        ASSERT_FALSE(line.ok()) << text;
        EXPECT_NE(messageOf(line.status()).find(expected), std::string::npos) << line.status();
    }
    EXPECT_FALSE(parseLine(std::string(kMaxLineBytes + 1, ' ')).ok());
    const std::string deep = R"({"type":"receipt","seq":1,"receipt":{"a":)" +
                             std::string(400'000, '[') + std::string(400'000, ']') + "}}";
    EXPECT_NE(messageOf(parseLine(deep).status()).find("deep"), std::string::npos);
    EXPECT_TRUE(parseLine(R"({"type":"error","seq":1,"message":"[[\"[[["})").ok());
}

TEST(RankLine, DamagedTextNeverCrashes) {
    std::mt19937_64 random(1);
    for (const Body& body : someBodies()) {
        const std::string text = formatLine({1, 1, body});
        for (int i = 0; i < 2000; ++i) {
            std::string damaged = text;
            for (std::uint64_t k = random() % 4 + 1; k > 0; --k) {
                damaged[random() % damaged.size()] = static_cast<char>(random());
            }
            const Result<RankLine> line = parseLine(damaged);
            EXPECT_TRUE(line.ok() || !messageOf(line.status()).empty()) << damaged;
        }
    }
}

TEST(RankLine, CommandsAreOneObjectEach) {
    EXPECT_EQ(formatCommand(Ack{7, -1}), R"({"ack":7})");
    EXPECT_EQ(formatCommand(Ack{7, 2}), R"({"ack":7,"attempt":2})");
    EXPECT_EQ(formatCommand(Stop{}), R"({"stop":{}})");
    EXPECT_EQ(formatCommand(Stop{Stop::Kind::kHold}), R"({"stop":{"hold":true}})");
    EXPECT_EQ(formatCommand(Stop{Stop::Kind::kBehind, 9}), R"({"stop":{"behind":9}})");
}

}  // namespace
}  // namespace millrace::rank
