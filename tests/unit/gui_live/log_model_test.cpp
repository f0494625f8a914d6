#include "app/gui/models/live/log_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "app/gui/models/live/log_matcher.h"

namespace millrace::gui {
namespace {

using values::LogLevel;

values::LogLine lineOf(const std::string& text, LogLevel level = LogLevel::kInfo,
                       const std::string& worker = "rank-0") {
    values::LogLine line;
    line.text = text;
    line.level = level;
    line.worker = worker;
    line.timeMs = 1'000;
    return line;
}

std::vector<values::LogLine> numbered(int from, int count) {
    std::vector<values::LogLine> lines;
    for (int i = from; i < from + count; ++i) {
        lines.push_back(lineOf("line " + std::to_string(i),
                               i % 100 == 0 ? LogLevel::kError : LogLevel::kInfo,
                               i % 2 == 0 ? "rank-0" : "feed"));
    }
    return lines;
}

std::vector<std::string> textsOf(const LogModel& model) {
    std::vector<std::string> texts;
    for (int row = 0; row < model.rowCount(); ++row) {
        const LogRow line = model.row(row);
        texts.push_back(line.isGap() ? "gap " + std::to_string(line.numMissing)
                                     : std::string(line.text));
    }
    return texts;
}

struct LogModelTest : testing::Test {
    LogModel model{LogModel::Options{.numLinesMax = 4'096, .bytesMax = 1 << 20}, nullptr};
    QAbstractItemModelTester tester{&model, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(LogModelTest, ShowsLinesInTheirOrderWithWhatIsMissing) {
    model.append(numbered(0, 2));
    model.append(numbered(5, 1), 3);
    EXPECT_EQ(textsOf(model), (std::vector<std::string>{"line 0", "line 1", "gap 3", "line 5"}));
    EXPECT_EQ(model.numDropped(), 3U);
    EXPECT_EQ(model.numReceived(), 3U);
}

TEST_F(LogModelTest, KeepsTheNewestLinesWithinItsBounds) {
    for (int i = 0; i < 100; ++i) {
        model.append(numbered(i * 1'000, 1'000));
        ASSERT_LE(model.numLines(), 4'096U + 1'024U);
        ASSERT_EQ(model.row(model.rowCount() - 1).text, "line " + std::to_string(i * 1'000 + 999));
    }
    EXPECT_EQ(model.numEvicted() + model.numLines(), 100'000U);
    EXPECT_EQ(model.rowCount(), static_cast<int>(model.numLines()));
}

TEST_F(LogModelTest, KeepsToItsBytesWhateverTheLinesLength) {
    for (int i = 0; i < 400; ++i) {
        model.append(std::vector{lineOf(std::string(20'000, 'x'))});
    }
    EXPECT_LE(model.bytesUsed(), std::size_t{22} << 20);
    EXPECT_GT(model.rowCount(), 0);
}

TEST_F(LogModelTest, FiltersAsAScanOverEveryLineWould) {
    model.append(numbered(0, 4'000));
    LogFilter filter;
    const auto expected = [&](auto passes) {
        std::vector<std::string> texts;
        for (const values::LogLine& line : numbered(0, 4'000)) {
            if (passes(line)) {
                texts.push_back(line.text);
            }
        }
        return texts;
    };
    filter.text = "LINE 12";
    model.setFilter(filter);
    model.finishFiltering();
    EXPECT_EQ(textsOf(model),
              expected([](const auto& l) { return l.text.find("line 12") != std::string::npos; }));
    filter.isCaseSensitive = true;
    model.setFilter(filter);
    model.finishFiltering();
    EXPECT_EQ(model.rowCount(), 0);
    filter = {};
    filter.text = "^line [0-9]*7$";
    filter.isRegex = true;
    filter.worker = "feed";
    model.setFilter(filter);
    model.finishFiltering();
    EXPECT_EQ(textsOf(model),
              expected([](const auto& l) { return l.worker == "feed" && l.text.back() == '7'; }));
    filter = {};
    filter.levelMin = LogLevel::kWarn;
    model.setFilter(filter);
    model.finishFiltering();
    EXPECT_EQ(textsOf(model), expected([](const auto& l) { return l.level == LogLevel::kError; }));
}

TEST_F(LogModelTest, AnswersFromTheNewestLineAtOnceAndTheRestInSlices) {
    LogModel large;
    QAbstractItemModelTester check(&large, QAbstractItemModelTester::FailureReportingMode::Fatal);
    large.append(numbered(0, 150'000));
    LogFilter filter;
    filter.text = "(line.*)+9$";
    filter.isRegex = true;
    large.setFilter(filter);
    ASSERT_GT(large.rowCount(), 0);
    EXPECT_EQ(large.row(large.rowCount() - 1).text, "line 149999");
    large.append(std::vector{lineOf("line 9 came meanwhile 9")});
    EXPECT_TRUE(QTest::qWaitFor([&] { return !large.isFiltering(); }, 20'000));
    EXPECT_EQ(large.rowCount(), 15'001);
    for (int row = 1; row < large.rowCount(); ++row) {
        ASSERT_LT(large.row(row - 1).sequence, large.row(row).sequence);
    }
}

TEST_F(LogModelTest, SaysWhyAnExpressionCannotBeReadAndShowsEverything) {
    model.append(numbered(0, 10));
    LogFilter filter;
    filter.text = "(";
    filter.isRegex = true;
    model.setFilter(filter);
    EXPECT_FALSE(model.filterError().isEmpty());
    EXPECT_EQ(model.rowCount(), 10);
}

TEST_F(LogModelTest, KeepsIndentedLinesWithTheLineTheyBelongTo) {
    model.append(std::vector{lineOf("bad", LogLevel::kError), lineOf("  at f()", LogLevel::kNone),
                             lineOf("other", LogLevel::kNone),
                             lineOf("  of other", LogLevel::kNone)});
    LogFilter filter;
    filter.levelMin = LogLevel::kError;
    model.setFilter(filter);
    model.finishFiltering();
    EXPECT_EQ(textsOf(model), (std::vector<std::string>{"bad", "  at f()"}));
}

TEST_F(LogModelTest, HoldsLinesBackWhilePausedAndCountsThem) {
    model.append(numbered(0, 10));
    model.setPaused(true);
    model.append(numbered(10, 5));
    EXPECT_EQ(model.rowCount(), 10);
    EXPECT_EQ(model.numHeld(), 5U);
    model.setPaused(false);
    EXPECT_EQ(model.rowCount(), 15);
    EXPECT_EQ(model.row(14).text, "line 14");
}

TEST_F(LogModelTest, SaysHowManyLinesAPauseCost) {
    model.append(numbered(0, 100));
    model.setPaused(true);
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i) {
        model.append(numbered(100 + i * 1'000, 1'000));
        sent += 1'000;
    }
    EXPECT_EQ(model.rowCount(), 100) << "what is read stays";
    EXPECT_EQ(model.numHeld(), sent);
    model.setPaused(false);
    std::uint64_t shown = 0, missing = 0;
    for (int row = 0; row < model.rowCount(); ++row) {
        const LogRow line = model.row(row);
        missing += line.numMissing;
        shown += line.isGap() ? 0 : 1;
    }
    EXPECT_GT(missing, 0U);
    EXPECT_EQ(shown + missing + (model.row(0).text == "line 0" ? 0 : 100), sent + 100);
    EXPECT_EQ(model.row(model.rowCount() - 1).text, "line 20099");
}

TEST_F(LogModelTest, FindsForwardsAndBackwardsAndRound) {
    model.append(numbered(0, 300));
    const TextMatcher matcher(QStringLiteral("line 10"), false, false);
    EXPECT_EQ(model.find(matcher, 0, false), 10);
    EXPECT_EQ(model.find(matcher, 11, false), 100);
    EXPECT_EQ(model.find(matcher, 9, true), 109);
    EXPECT_EQ(model.findLevel(LogLevel::kError, 1, false), 100);
    EXPECT_EQ(model.findLevel(LogLevel::kError, 299, true), 200);
    EXPECT_EQ(model.find(TextMatcher(QStringLiteral("none"), false, false), 0, false), -1);
}

TEST_F(LogModelTest, KeepsAPlaceBySequenceWhenLinesLeave) {
    model.append(numbered(0, 4'000));
    const std::uint64_t sequence = model.row(3'900).sequence;
    model.append(numbered(4'000, 3'000));
    const int row = model.rowOfSequence(sequence);
    EXPECT_EQ(model.row(row).text, "line 3900");
}

TEST_F(LogModelTest, SurvivesRandomUse) {
    std::mt19937 random(3);
    const QString texts[] = {{}, "7", "line 1", "(", "x"};
    int next = 0;
    for (int i = 0; i < 400; ++i) {
        switch (random() % 6) {
            case 0:
                model.setPaused(!model.isPaused());
                break;
            case 1: {
                LogFilter filter;
                filter.text = texts[random() % 5];
                filter.isRegex = random() % 2 == 0;
                filter.levelMin = random() % 3 == 0 ? LogLevel::kError : LogLevel::kNone;
                model.setFilter(filter);
                break;
            }
            case 2:
                QCoreApplication::processEvents();
                break;
            default: {
                const int count = static_cast<int>(random() % 800);
                model.append(numbered(next, count), random() % 10 == 0 ? 5 : 0);
                next += count;
            }
        }
        if (random() % 100 == 0) {
            model.clear();
        }
    }
    model.setPaused(false);
    model.setFilter({});
    model.finishFiltering();
    EXPECT_EQ(static_cast<std::size_t>(model.rowCount()), model.numLines());
}

TEST(TextMatcherTest, MatchesBytesAsQtMatchesText) {
    std::mt19937 random(5);
    const auto word = [&](int most) {
        QString text;
        for (unsigned i = 0; i < random() % static_cast<unsigned>(most); ++i) {
            text += QChar(u"aAbB é"[random() % 6]);
        }
        return text;
    };
    for (int i = 0; i < 20'000; ++i) {
        const QString needle = word(4), text = word(12);
        const bool isCase = random() % 2 == 0;
        EXPECT_EQ(TextMatcher(needle, false, isCase).matches(text.toStdString()),
                  text.contains(needle, isCase ? Qt::CaseSensitive : Qt::CaseInsensitive));
    }
}

}  // namespace
}  // namespace millrace::gui
