// Submits of several runs, the queue, and lines that the store cannot take.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

using ::testing::HasSubstr;

class RunGroupTest : public RunStoreTest {
 protected:
    static std::vector<RunRecord> group(int size, const std::string& key = "k") {
        std::vector<RunRecord> runs;
        const auto plan = std::make_shared<const std::string>(R"({"files":[]})");
        for (int i = 0; i < size; ++i) {
            RunRecord run = newRun("film");
            run.variation = i == 0 ? "" : strCat("v", i);
            run.submitKey = i == 0 ? key : strCat(key, "#v", i);
            run.plan = plan;
            runs.push_back(std::move(run));
        }
        return runs;
    }
    void sql(const std::string& text) {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(db);
        sqlite3_close(db);
    }
    std::int64_t count(const std::string& what) {
        sqlite3* db = nullptr;
        sqlite3_open(path().c_str(), &db);
        sqlite3_stmt* query = nullptr;
        sqlite3_prepare_v2(db, ("SELECT count(*) FROM " + what).c_str(), -1, &query, nullptr);
        sqlite3_step(query);
        const std::int64_t value = sqlite3_column_int64(query, 0);
        sqlite3_finalize(query);
        sqlite3_close(db);
        return value;
    }
};

TEST_F(RunGroupTest, AGroupIsStoredAsAWholeOrNotAtAll) {
    sql("CREATE TRIGGER full BEFORE INSERT ON run WHEN new.variation = 'v3' BEGIN "
        "SELECT RAISE(FAIL, 'no room'); END");
    reopen();
    EXPECT_FALSE(store->createGroup(group(5)).ok());
    EXPECT_EQ(store->list({})->total, 0) << "nothing of it";
    EXPECT_TRUE(store->waiting()->empty());
    sql("DROP TRIGGER full");
    reopen();
    const auto made = store->createGroup(group(5));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(store->waiting()->size(), 5u);
    EXPECT_EQ(made->at(4).run.variationOf, made->at(0).run.id);
    EXPECT_EQ(store->findGroup("k#v2")->runs.size(), 5u);
}

TEST_F(RunGroupTest, ThePlanOfAGroupStandsOnce) {
    const auto made = store->createGroup(group(20));
    EXPECT_EQ(count("shared_text"), 1);
    EXPECT_EQ(store->document(made->at(19).run.id, values::LargeDocument::kPlan).value(),
              R"({"files":[]})");
}

TEST_F(RunGroupTest, RunsOfOneSubmitKeepItsOrderInEveryListAndInTheQueue) {
    create("before");
    clock.advanceMs(1);
    std::vector<std::string> ids, listed, queued;
    const auto made = store->createGroup(group(20)).value();
    for (const auto& one : made) {
        ids.push_back(one.run.id);
    }
    const std::vector<values::RunSummary> runs = store->list({})->runs;
    for (const values::RunSummary& run : runs) {
        listed.push_back(run.id);
    }
    const auto queue = store->waiting().value();
    for (const auto& waiting : queue) {
        queued.push_back(waiting.id);
    }
    ASSERT_EQ(listed.size(), 21u);
    EXPECT_EQ(std::vector(listed.begin(), listed.end() - 1), ids) << "the newest submit first";
    EXPECT_EQ(std::vector(queued.begin() + 1, queued.end()), ids);
    for (std::size_t i = 1; i < runs.size(); ++i) {
        EXPECT_TRUE(values::isListedBefore(runs[i - 1], runs[i])) << i;
        EXPECT_EQ(values::isSubmittedBefore(runs[i - 1], runs[i]), i < 20) << i;
    }
}

TEST_F(RunGroupTest, TheQueueIsInOrderOfSubmitAndResume) {
    const std::string first = create("a"), second = create("b");
    ASSERT_TRUE(store->setState(first, {values::RunState::kFailed, "x", 0}).ok());
    ASSERT_TRUE(store->requeue(first, 50).ok());
    const auto queue = store->waiting().value();
    ASSERT_EQ(queue.size(), 2u);
    EXPECT_EQ(queue[0].id, second);
    EXPECT_EQ(queue[1].id, first);
    EXPECT_EQ(queue[1].resumeFrom, 50);
}

TEST_F(RunGroupTest, AKeyThatReadsLikeAnotherRunsIdDoesNotHideThatRun) {
    const std::string id = create("a");
    RunRecord other = newRun("b");
    other.submitKey = id;
    const std::string otherId = store->create(other)->run.id;
    EXPECT_EQ(store->findId(id).value(), id);
    EXPECT_EQ(store->findGroup(id)->runs.at(0).id, otherId);
}

TEST_F(RunGroupTest, ADeletionHasItsTime) {
    const std::string id = create("a");
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "x", 0}).ok());
    clock.advanceMs(5'000);
    const std::int64_t at = clock.wallMs();
    ASSERT_TRUE(store->markDeleted(id).ok());
    clock.advanceMs(5'000);
    ASSERT_TRUE(store->markDeleted(id).ok());
    EXPECT_EQ(store->get(id)->deletedMs, at) << "the first time counts";
    ASSERT_TRUE(store->restore(id).ok());
    EXPECT_EQ(store->get(id)->deletedMs, 0);
}

TEST_F(RunGroupTest, LinesThatAreSkippedCountAsSeen) {
    const std::string id = create("a");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    EXPECT_TRUE(store->skipLines(id, 1, "rank0", 7).ok());
    EXPECT_EQ(store->ackedSeq(id, 1, "rank0").value(), 7);
    EXPECT_TRUE(store->skipLines(id, 1, "rank0", 5).ok());
    EXPECT_EQ(store->ackedSeq(id, 1, "rank0").value(), 7) << "it never decreases";
    EXPECT_TRUE(store->skipLines("r-nobody", 1, "feed", 1).ok());
}

TEST_F(RunGroupTest, NamesOfMetricsAreBoundedAndWhatIsKnownGoesOn) {
    const std::string id = create("a");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    LineBatch batch{id, 1, "rank0", 1};
    batch.rank = 0;
    ReportedLine line{1, 1, 0, 1, 1, {}};
    for (int i = 0; i < kMetricKeysMax + 5; ++i) {
        line.values.emplace_back(strCat("m", i), i);
    }
    line.values.emplace_back(std::string(kMetricKeyBytesMax + 1, 'x'), 1);
    batch.metrics.push_back(line);
    const auto commit = store->commitLines(batch);
    ASSERT_TRUE(commit.ok()) << commit.status();
    EXPECT_EQ(commit->refusedKey, strCat("m", kMetricKeysMax));
    EXPECT_EQ(store->metricKeys(id)->size(), static_cast<std::size_t>(kMetricKeysMax));
    LineBatch next{id, 1, "rank0", 2};
    next.rank = 0;
    next.metrics.push_back({2, 2, 0, 2, 2, {{"m3", 9}, {"other", 1}}});
    EXPECT_EQ(store->commitLines(next)->refusedKey, "other");
    EXPECT_EQ(store->metrics(id, "m3")->points.size(), 2u) << "known names go on";
    EXPECT_TRUE(store->metrics(id, "other")->points.empty());
}

TEST_F(RunGroupTest, BytesThatAreNoTextAreReplacedOnTheWayInAndOut) {
    const std::string id = create("a");
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "caf\xe9", 0}).ok());
    EXPECT_EQ(store->get(id)->exitReason, "caf\xef\xbf\xbd");
    // What a damaged file may have.
    sql("UPDATE run SET exit_reason = CAST(x'6361e9' AS TEXT)");
    reopen();
    EXPECT_EQ(store->list({})->runs.at(0).exitReason, "ca\xef\xbf\xbd");
}

TEST_F(RunGroupTest, APageEndsEarlyWhenItsRunsAreLarge) {
    std::vector<std::string> ids;
    for (int i = 0; i < 6; ++i) {
        RunRecord run = newRun(strCat("r", i));
        run.note = std::string(60'000, 'x');
        ids.push_back(store->create(run)->run.id);
        clock.advanceMs(1);
    }
    RunQuery query;
    query.pageBytesMax = 150'000;
    std::vector<std::string> seen;
    int pages = 0;
    do {
        const auto page = store->list(query);
        ASSERT_TRUE(page.ok()) << page.status();
        EXPECT_EQ(page->total, 6);
        EXPECT_LE(page->runs.size(), 3u);
        for (const values::RunSummary& run : page->runs) {
            seen.insert(seen.begin(), run.id);
        }
        query.pageToken = page->nextPageToken;
        ++pages;
    } while (!query.pageToken.empty());
    EXPECT_EQ(seen, ids);
    EXPECT_GE(pages, 2);
}

}  // namespace
}  // namespace millrace::runs
