#include "backend/rank/rank_line.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/rank/line_queue.h"

namespace millrace::rank {
namespace {

std::vector<Body> someBodies() {
    Done done{100, 25'600, "{\"cursor\":{}}", {{"eval.auc", 0.79}}, {{"eval_order_hash", "ff"}}};
    return {Hello{{"r-abcde", 2, "feed", 1, 77, 1'000}},
            Metrics{7, 1, 1792, 1'700'000'000'123, {{"loss", 0.5}, {"loss.liked", -1e-300}}},
            Progress{7, 1, 1792, 400, "evaluating", 12.5, 0.25, 300},
            Checkpoint{100, "step-00000100.a1.ckpt", 1 << 20, "abc", "state text"},
            ReceiptLine{Json{{"rows_scanned", 5}}},
            done,
            ErrorLine{"a.csv: line 7: \"quote\"\n"},
            Alive{"no space left on device"},
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
            const Result<Command> command = parseCommand(damaged);
            EXPECT_TRUE(command.ok() || !messageOf(command.status()).empty()) << damaged;
        }
    }
}

TEST(RankLine, CommandsRoundTrip) {
    for (const Command& command :
         {Command(Ack{7, -1}), Command(Ack{7, 2}), Command(Stop{}), Command(CheckpointNow{})}) {
        const Result<Command> again = parseCommand(formatCommand(command));
        ASSERT_TRUE(again.ok()) << again.status();
        EXPECT_EQ(*again, command);
    }
    EXPECT_EQ(formatCommand(Ack{7, -1}), "{\"ack\":7}");
    EXPECT_FALSE(parseCommand("{\"ack\":-1}").ok());
    EXPECT_FALSE(parseCommand("{}").ok());
}

TEST(LineQueue, KeepsOrderThroughTheSpillFileWhateverIsAcknowledgedWhen) {
    const std::string path =
        (std::filesystem::temp_directory_path() / strCat("mr-spill-", ::getpid())).string();
    std::mt19937_64 random(6);
    {
        LineQueue queue(path, 500);
        std::uint64_t pushed = 0, sent = 0, acked = 0;
        bool spilled = false;
        while (acked < 5000) {
            if (pushed < 5000 && random() % 2 == 0) {
                ++pushed;
                ASSERT_TRUE(queue.push({1, pushed, strCat("line ", pushed)}).ok());
            }
            spilled |= queue.spilledLines() > 0;
            ASSERT_EQ(queue.size(), pushed - acked);
            if (const LineQueue::Line* next = queue.nextUnsent(); next && random() % 3 != 0) {
                ASSERT_EQ(next->seq, ++sent);
                ASSERT_EQ(next->text, strCat("line ", sent));
                queue.markSent();
            }
            if (random() % 40 == 0 || pushed == 5000) {
                acked += random() % (sent - acked + 1);
                ASSERT_TRUE(queue.acknowledge(1, acked).ok());
            }
            if (random() % 50 == 0) {
                queue.rewind();
                sent = acked;
                const auto all = queue.all();
                ASSERT_TRUE(all.ok());
                ASSERT_EQ(all->size(), pushed - acked);
                if (!all->empty()) {
                    EXPECT_EQ(all->back(), strCat("line ", pushed));
                    EXPECT_EQ(all->front(), strCat("line ", acked + 1));
                }
            }
        }
        EXPECT_TRUE(queue.isEmpty());
        EXPECT_TRUE(spilled);
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "removed at the end";
}

TEST(LineQueue, ASpillFileThatCannotBeMadeIsAnError) {
    LineQueue queue("/nonexistent-folder/x", 10);
    EXPECT_TRUE(queue.push({1, 1, "123456789"}).ok());
    EXPECT_FALSE(queue.push({1, 2, "123456789"}).ok());
    EXPECT_EQ(queue.size(), 1U);
}

}  // namespace
}  // namespace millrace::rank
