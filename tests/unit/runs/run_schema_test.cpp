// Stores of other versions of Millrace, and damaged stores.
#include <fstream>
#include <limits>
#include <sstream>

#include <sqlite3.h>

#include "backend/runs/run_rows.h"
#include "backend/runs/schema.h"
#include "tests/unit/runs/fixture.h"
#include "tests/unit/runs/metric_oracle.h"

namespace millrace::runs {
namespace {

class RunSchemaTest : public RunStoreTest {};

TEST_F(RunSchemaTest, AStoreOfADevelopmentVersionIsRefusedWithTheWayOut) {
    store.reset();
    runSql(path(), "PRAGMA user_version = 6");
    const auto opened = RunStore::open(path(), clock);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(messageOf(opened.status()),
              strCat(path(), ": was written by a development version (schema 6; this one reads ",
                     kSchema, "); set it aside and a new store is made: mv ", path(), " ", path(),
                     ".old (with ", path(), "-wal, if it is there)"));
    std::filesystem::rename(path(), path() + ".old");
    reopen();
    EXPECT_EQ(store->list({})->total, 0);
}

TEST_F(RunSchemaTest, ANewerSchemaIsRefusedAndLeftAlone) {
    store.reset();
    runSql(path(), "PRAGMA user_version = 99");
    const auto opened = RunStore::open(path(), clock);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(messageOf(opened.status()).find("newer Millrace (schema 99"), std::string_view::npos);
}

/// The declarations of all tables and indexes in the file at `path`.
std::vector<std::string> declarationsIn(const std::string& path) {
    const auto db = Database::open(path, Database::Mode::kReadOnly).value();
    return db
        ->select(firstText,
                 "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")
        .value();
}

TEST_F(RunSchemaTest, ANewStoreIsLaidOutAsTheFirstOfItsNumberWas) {
    const std::string first = directory / "first.db";
    std::filesystem::copy_file(MILLRACE_SOURCE_DIR "/tests/golden/formats/store.sqlite", first);
    const std::vector<std::string> declared = declarationsIn(first);
    ASSERT_GT(declared.size(), 20U);
    EXPECT_EQ(declarationsIn(path()), declared) << "a change of the layout asks for a new kSchema";
}

TEST_F(RunSchemaTest, ARowOfARunHasEveryValueThatIsToldWhenItIsMade) {
    RunRecord run;
    int next = 0;
    for (std::string* text :
         {&run.name, &run.owner, &run.project, &run.note, &run.variation, &run.variationOf,
          &run.specHash, &run.streamHash, &run.planHash, &run.submitKey, &run.model, &run.dataset,
          &run.exitReason, &run.gitCommit, &run.host, &run.baseDir}) {
        *text = strCat("text ", ++next);
    }
    run.state = values::RunState::kRunning;
    run.isGitDirty = true;
    run.seed = std::numeric_limits<std::uint64_t>::max();
    run.progress.stepsTotal = 77;
    const auto created = store->create(run);
    ASSERT_TRUE(created.ok()) << created.status();
    const RunRecord got = store->get(created->run.id).value();
    RunRecord expected = run;
    expected.id = got.id;
    expected.uid = got.uid;
    expected.group = run.variationOf;
    expected.createdMs = clock.wallMs();
    expected.revision = got.revision;
    EXPECT_EQ(static_cast<const values::RunSummary&>(got), expected);
    EXPECT_EQ(got.baseDir, run.baseDir);
    EXPECT_GT(got.revision, 0U);
    EXPECT_EQ(got.queueNo, static_cast<std::int64_t>(got.revision));
}

/// A long metric, sealed, with one of its chunks overwritten.
class DamagedChunkTest : public RunStoreTest {
 protected:
    static constexpr int kSteps = 12'500;

    DamagedChunkTest() : id(create("base")) {
        EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok());
        LineBatch batch{id, 1, "rank0", kSteps};
        batch.rank = 0;
        for (int step = 1; step <= kSteps; ++step) {
            ReportedLine line{step, step, 0,
                              step, step, {{"loss", step % 97}, {"other", step % 11}}};
            oracle.add(1, line);
            batch.metrics.push_back(std::move(line));
        }
        EXPECT_TRUE(store->commitLines(batch).ok());
    }
    void damage(const std::string& column) {
        store.reset();
        runSql(path(), strCat("UPDATE metric_chunk SET ", column, " = substr(", column,
                              ", 1, 40) || x'00' || substr(", column,
                              ", 42) WHERE key_no = (SELECT no FROM metric_key WHERE name = "
                              "'loss') AND position = 1"));
        reopen();
    }

    std::string id;
    MetricOracle oracle;
};

TEST_F(DamagedChunkTest, ADamagedChunkIsNamedAndNothingElseIsLost) {
    damage("points");
    const values::MetricSeries series = *store->metrics(id, "loss", {0, INT64_MAX, 0});
    EXPECT_EQ(series.points.size(), kSteps - 4096U);
    EXPECT_EQ(series.points[4096].step, 8193);
    EXPECT_NE(series.problem.find("run " + id +
                                  ", metric 'loss': the points of steps 4097 to "
                                  "8192 cannot be read (its checksum is wrong)"),
              std::string::npos)
        << series.problem;
    expectWhole(*store->metrics(id, "other", {0, INT64_MAX, 0}), oracle.series("other"));
    expectWhole(*store->metrics(id, "loss", {1, 4096, 0}), oracle.series("loss", 1, 4096));
    const values::MetricSeries thin = *store->metrics(id, "loss", {0, INT64_MAX, 400});
    EXPECT_EQ(thin.problem, "") << "the overview of the damaged points is whole";
    EXPECT_EQ(thin.numPoints, kSteps);
}

TEST_F(DamagedChunkTest, ADamagedOverviewIsMadeAgainFromThePoints) {
    damage("level16");
    const auto loss = oracle.series("loss");
    values::MetricSeries thin = *store->metrics(id, "loss", {0, INT64_MAX, 1000});
    EXPECT_NE(thin.problem.find("an overview is damaged"), std::string::npos) << thin.problem;
    thin.problem.clear();
    expectThin(thin, loss, 1000);
    expectWhole(*store->metrics(id, "loss", {0, INT64_MAX, 0}), loss);
}

TEST_F(DamagedChunkTest, ARunGoesOnOverADamagedChunk) {
    damage("points");
    ASSERT_TRUE(store->beginAttempt(id, 2, 10'000).ok());
    LineBatch batch{id, 2, "rank0", 3000};
    batch.rank = 0;
    for (int i = 1; i <= 3000; ++i) {
        batch.metrics.push_back({i, 10'000 + i, 0, 0, 0, {{"loss", 1}}});
    }
    ASSERT_TRUE(store->commitLines(batch).ok());
    const values::MetricSeries series = *store->metrics(id, "loss", {0, INT64_MAX, 0});
    EXPECT_EQ(series.points.size(), 10'000U - 4096 + 3000);
    EXPECT_NE(series.problem, "");
}

}  // namespace
}  // namespace millrace::runs
