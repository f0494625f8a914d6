// Workers' logs: merged, cut and continued.
#include "backend/text/utf8.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;

class LogReaderTest : public AgentTest {
 protected:
    LogReaderTest() : paths(root + "/runs", kRun) {}
    void write(int attempt, const std::string& worker, const std::string& text) {
        const std::string folder = paths.attempt(attempt).worker(worker);
        std::filesystem::create_directories(folder);
        std::ofstream(folder + "/out.log", std::ios::app) << text;
    }
    static std::string at(int second, const std::string& rest) {
        return strCat("2026-03-01T12:00:", second < 10 ? "0" : "", second, ".000Z ", rest, "\n");
    }
    std::vector<std::string> texts(const LogPage& page) {
        std::vector<std::string> all;
        for (const values::LogLine& line : page.lines) {
            all.push_back(line.text);
        }
        return all;
    }
    LogReader open(LogQuery query = {}) { return LogReader::open(*logs, kRun, query).value(); }
    static constexpr const char* kRun = "r-abc23";
    const job::RunPaths paths;
};

TEST_F(LogReaderTest, WorkersAreMergedByTime) {
    write(1, "feed", at(1, "o a") + at(3, "o c"));
    write(1, "rank0", at(2, "e b") + at(4, "o d"));
    const LogPage page = open().next(100);
    EXPECT_THAT(texts(page), ElementsAre("a", "b", "c", "d"));
    EXPECT_TRUE(page.isAtEnd);
    EXPECT_TRUE(page.lines[1].isStderr);
    EXPECT_EQ(page.lines[1].worker, "rank0");
    EXPECT_EQ(page.lines[1].rank, 0);
    EXPECT_EQ(page.lines[0].rank, std::nullopt) << "the feed has none";
}

TEST_F(LogReaderTest, ReadingGoesOnWhereItStopped) {
    write(1, "feed", at(1, "o a") + at(3, "o c"));
    write(1, "rank0", at(2, "o b"));
    const LogPage first = open().next(2);
    EXPECT_THAT(texts(first), ElementsAre("a", "b"));
    write(1, "rank0", at(4, "o d"));
    write(2, "rank0", at(5, "o e"));
    LogQuery query;
    query.cursor = first.cursor;
    EXPECT_THAT(texts(open(query).next(100)), ElementsAre("c", "d", "e"));
}

TEST_F(LogReaderTest, AFollowingReaderSeesNewLinesAndWorkers) {
    write(1, "feed", at(1, "o a"));
    LogReader reader = open();
    EXPECT_THAT(texts(reader.next(100)), ElementsAre("a"));
    EXPECT_TRUE(reader.next(100).lines.empty());
    write(1, "feed", at(2, "o b"));
    write(1, "rank0", at(3, "o c"));
    EXPECT_THAT(texts(reader.next(100)), ElementsAre("b", "c"));
}

TEST_F(LogReaderTest, TheTailIsTheLastLines) {
    for (int i = 1; i <= 30; ++i) {
        write(1, "feed", at(i, strCat("o line ", i)));
    }
    LogQuery query;
    query.tailLines = 2;
    LogReader reader = open(query);
    EXPECT_THAT(texts(reader.next(100)), ElementsAre("line 29", "line 30"));
    write(1, "feed", at(31, "o line 31"));
    EXPECT_THAT(texts(reader.next(100)), ElementsAre("line 31"));
}

TEST_F(LogReaderTest, TheTailOfALongLogIsReadFromItsEnd) {
    std::string bulk;
    for (int i = 0; i < 60'000; ++i) {
        bulk += at(i % 50, strCat("o a line of a long log ", i));
    }
    write(1, "feed", bulk + at(51, "o a"));
    write(1, "rank0", bulk + at(52, "o b"));
    LogQuery query;
    query.tailLines = 2;
    LogReader reader = open(query);
    const LogPage page = reader.next(100);
    EXPECT_THAT(texts(page), ElementsAre("a", "b")) << "in its first turn";
    EXPECT_LT(page.cursor.size(), 100u);
}

TEST_F(LogReaderTest, ATurnIsBoundedAlsoWhereNothingIsWanted) {
    std::string bulk;
    for (int i = 0; i < 60'000; ++i) {
        bulk += at(i % 50, "e 2026-03-01T12:00:01.000Z debug feed: nothing much happened here");
    }
    write(1, "feed", bulk + at(51, "e 2026-03-01T12:00:51.000Z error feed: the end"));
    for (const std::size_t tail : {std::size_t{0}, std::size_t{3}}) {
        LogQuery query;
        query.minLevel = values::LogLevel::kError;
        query.tailLines = tail;
        LogReader reader = open(query);
        LogPage page = reader.next(100);
        EXPECT_TRUE(page.lines.empty());
        EXPECT_FALSE(page.isAtEnd) << "the others have their turn first";
        for (int turn = 0; turn < 20 && page.lines.empty(); ++turn) {
            page = reader.next(100);
        }
        EXPECT_THAT(texts(page), ElementsAre("feed: the end"));
    }
}

TEST_F(LogReaderTest, WhoeverDoesNotFollowStopsAtWhatWasThere) {
    write(1, "feed", at(1, "o a") + at(2, "o b"));
    LogQuery query;
    query.isFollowing = false;
    LogReader reader = open(query);
    EXPECT_THAT(texts(reader.next(1)), ElementsAre("a"));
    write(1, "feed", at(3, "o c"));
    const LogPage page = reader.next(100);
    EXPECT_THAT(texts(page), ElementsAre("b"));
    EXPECT_TRUE(page.isAtEnd);
}

TEST_F(LogReaderTest, BytesThatAreNoTextAreReplacedAndCutsFallBetweenCharacters) {
    write(1, "rank0", at(1, "o caf\xe9") + at(2, "e " + std::string(299, 'x') + "\xc3\xa9"));
    const LogPage page = open().next(10);
    EXPECT_EQ(page.lines.at(0).text, "caf\xef\xbf\xbd");
    EXPECT_EQ(job::lastWordsOf(*logs, {kRun, 1, "rank0"}), std::string(299, 'x'));
    write(1, "feed", at(3, "o " + std::string((16 << 10) - 1, 'y') + "\xc3\xa9"));
    EXPECT_TRUE(isUtf8(open().next(10).lines.at(2).text));
}

TEST_F(LogReaderTest, PagesOfLongLinesAreBoundedInBytes) {
    std::string bulk;
    for (int i = 0; i < 300; ++i) {
        bulk += at(1, "o " + std::string(15'000, 'x'));
    }
    write(1, "feed", bulk);
    LogReader reader = open();
    std::size_t lines = 0;
    LogPage page;
    do {
        page = reader.next(1'000);
        EXPECT_LT(page.lines.size(), 100u);
        lines += page.lines.size();
    } while (!page.isAtEnd);
    EXPECT_EQ(lines, 300u);
}

TEST_F(LogReaderTest, LevelsAreReadFromStructuredLines) {
    write(1, "feed",
          at(1, "e 2026-03-01T12:00:01.000Z warn feed: slow ms=5") +
              at(2, "e 2026-03-01T12:00:02.000Z info feed: fine") + at(3, "o plain"));
    LogQuery query;
    query.minLevel = values::LogLevel::kWarn;
    const LogPage page = open(query).next(100);
    EXPECT_THAT(texts(page), ElementsAre("feed: slow ms=5", "plain"));
    EXPECT_EQ(page.lines[0].level, values::LogLevel::kWarn);
}

TEST_F(LogReaderTest, WorkersAndAttemptsCanBeChosen) {
    write(1, "feed", at(1, "o a"));
    write(1, "rank0", at(2, "o b"));
    write(2, "rank0", at(3, "o c"));
    LogQuery query;
    query.workers = {"rank0"};
    query.attempt = 2;
    EXPECT_THAT(texts(open(query).next(100)), ElementsAre("c"));
}

TEST_F(LogReaderTest, ACursorThatIsNoneIsRefused) {
    for (const char* cursor : {"x", "1/feed", "1/feed:abc", "1/feed:-1"}) {
        LogQuery query;
        query.cursor = cursor;
        EXPECT_TRUE(absl::IsInvalidArgument(LogReader::open(*logs, kRun, query).status()))
            << cursor;
    }
}

TEST_F(LogReaderTest, LinesThatAreNoneAreLeftOut) {
    EXPECT_FALSE(parseLogLine("").has_value());
    EXPECT_FALSE(parseLogLine("garbage").has_value());
    EXPECT_FALSE(parseLogLine("2026-03-01T12:00:01.000Z x text").has_value());
    EXPECT_FALSE(parseLogLine("2026-03-01T12:00:01.000Z m log-offset 500").has_value());
    EXPECT_EQ(parseLogLine("2026-03-01T12:00:01.000Z o ")->text, "");
}

TEST_F(LogReaderTest, TheLastWordsAreTheWorkersOwn) {
    write(1, "rank0", at(1, "o first") + at(2, "e the end") + at(3, "m ended code=1"));
    EXPECT_EQ(job::lastWordsOf(*logs, {kRun, 1, "rank0"}), "the end");
    EXPECT_EQ(job::lastWordsOf(*logs, {"r-nowhere", 1, "rank0"}), "");
}

}  // namespace
}  // namespace millrace::agent
