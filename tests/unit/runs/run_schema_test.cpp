// Stores that other versions of Millrace wrote.
#include <fstream>
#include <limits>
#include <sstream>

#include <sqlite3.h>

#include "backend/runs/migrations.h"
#include "tests/unit/runs/fixture.h"
#include "tests/unit/runs/metric_oracle.h"

namespace millrace::runs {
namespace {

class RunSchemaTest : public RunStoreTest {
 protected:
    // A store that the second schema's code wrote: two runs, three attempts of the first, as SQL.
    void restoreSchema2() {
        store.reset();
        std::filesystem::remove(path());
        std::ifstream file(MILLRACE_SOURCE_DIR "/tests/golden/runs/schema2.sql");
        std::stringstream text;
        text << file.rdbuf();
        ASSERT_FALSE(text.str().empty());
        runSql(path(), text.str());
        reopen();
    }
    // What its writer reported.
    static ReportedLine lineAt(std::int64_t seq, std::int64_t step, const std::string& key,
                             double value) {
        return {seq,           step, step / 10, step * 256, 1'700'000'000'000 + step * 37 + seq % 5,
                {{key, value}}};
    }
};

TEST_F(RunSchemaTest, MetricsOfTheSecondSchemaAreAllThereInChunks) {
    restoreSchema2();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    MetricOracle oracle;
    for (int s = 1; s <= 40; ++s) {
        const double loss = s == 9 ? kInf : s == 11 ? -kInf : 1.0 / s;
        oracle.add(1, lineAt(s, s, "loss", s == 7 ? std::nan("") : loss));
        oracle.add(1, lineAt(s, s, "busy_ms", s * 0.1));
    }
    oracle.add(1, lineAt(41, 20, "eval.auc", 0.75));
    oracle.add(1, lineAt(1, 20, "eval.auc", 0.5));
    oracle.begin(2, 30);
    oracle.add(1, lineAt(42, 29, "late", 1));
    oracle.add(1, lineAt(43, 33, "late", 2));
    for (int s = 30; s <= 45; ++s) {
        oracle.add(2, lineAt(s - 29, s, "loss", 100.0 + s));
    }
    oracle.begin(3, 40);
    for (int s = 41; s <= 50; ++s) {
        oracle.add(3, lineAt(s - 40, s, "loss", 200.0 + s));
    }
    const std::string id = "r-tqnkv";
    EXPECT_EQ(*store->metricKeys(id), oracle.keys());
    for (const std::string& key : oracle.keys()) {
        expectWhole(*store->metrics(id, key, {0, INT64_MAX, 0}), oracle.series(key));
    }
    EXPECT_EQ(store->metrics("r-2x57e", "loss")->points.size(), 3U);
    const RunRecord run = *store->get(id);
    EXPECT_EQ(run.attempt, 3);
    EXPECT_EQ(run.latestMetrics.at("loss").value, 250);
    EXPECT_EQ(*store->ackedSeq(id, 1, "rank1"), 1);
}

TEST_F(RunSchemaTest, AStoreOfTheSecondSchemaGoesOnWhereItWas) {
    restoreSchema2();
    const std::string id = "r-tqnkv";
    ASSERT_TRUE(append(id, 3, 51, 7).ok());
    EXPECT_EQ(store->metrics(id, "loss")->points.back().value, 7);
    ASSERT_TRUE(store->beginAttempt(id, 4, 35).ok());
    ASSERT_TRUE(work(id, 4).ok());
    const MetricSeries series = *store->metrics(id, "loss");
    EXPECT_EQ(series.points.back().step, 35);
    EXPECT_EQ(series.points.back().value, 135);
    EXPECT_EQ(store->get(id)->latestMetrics.at("loss").value, 135);
    reopen();
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 35U);
}

TEST_F(RunSchemaTest, CheckpointsOfTheSecondSchemaAreNamedInsteadOfTheirPaths) {
    restoreSchema2();
    const std::string id = "r-tqnkv";
    EXPECT_EQ(store->checkpoints(id)->at(0).name, "step-00000040.ckpt");
    EXPECT_EQ(store->attempts(id)->size(), 3U);
    EXPECT_TRUE(store->attempts(id)->back().hasBegun) << "it replaced when it was made";
}

TEST_F(RunSchemaTest, AStoreOfTheFirstSchemaIsBroughtUpWithWhatListsShow) {
    restoreSchema2();
    RunRecord run = newRun("old");
    run.resolvedSpec = R"({"dataset":{"path":["r.csv"]},"model":{"type":"dlrm"}})";
    const std::string id = store->create(run)->run.id;
    ASSERT_TRUE(store
                    ->setReceipt(id, R"({"eval_order_hash":"ee","order_hash":"aa","rows_kept":90,)"
                                     R"("rows_scanned":100})")
                    .ok());
    store.reset();
    runSql(path(), "DROP INDEX run_waiting; DROP INDEX run_by_base; "
                   "ALTER TABLE attempt DROP COLUMN has_begun; "
                   "ALTER TABLE checkpoint RENAME COLUMN name TO path");
    for (const char* column :
         {"resume_from", "queue_no", "model", "dataset", "rows_read", "rows_kept", "order_hash",
          "eval_order_hash", "group_size", "deleted_ms", "purged_ms", "timed_rows", "timed_ms"}) {
        runSql(path(), strCat("ALTER TABLE run DROP COLUMN ", column));
    }
    runSql(path(),
           "ALTER TABLE latest_metric DROP COLUMN best_step; "
           "ALTER TABLE latest_metric DROP COLUMN best_value; DROP TABLE metric_line; "
           "DROP TABLE metric_chunk; DROP TABLE shared_text; DROP TABLE quarantine; CREATE TABLE metric_point("
           "run_no INTEGER NOT NULL, key_no INTEGER NOT NULL, step INTEGER NOT NULL, "
           "attempt INTEGER NOT NULL, worker TEXT NOT NULL, seq INTEGER NOT NULL, "
           "epoch INTEGER NOT NULL, rows INTEGER NOT NULL, time_ms INTEGER NOT NULL, value REAL, "
           "PRIMARY KEY(run_no, key_no, step, attempt, worker, seq)) WITHOUT ROWID; "
           "PRAGMA user_version = 1");
    reopen();
    RunQuery query;
    query.filter = "name = 'old' AND id = '" + id + "'";
    const RunRecord listed = store->list(query)->runs.at(0);
    EXPECT_EQ(listed.model, "dlrm");
    EXPECT_NE(listed.dataset.find("r.csv"), std::string::npos);
    EXPECT_EQ(listed.rowsRead, 100);
    EXPECT_EQ(listed.rowsKept, 90);
    EXPECT_EQ(listed.orderHash, "aa");
    EXPECT_EQ(listed.evalOrderHash, "ee");
    EXPECT_GT(listed.queueNo, 0);
}

TEST_F(RunSchemaTest, AMigrationLeavesACopyOfTheStoreAsItWas) {
    restoreSchema2();
    const std::string copy = copyBeforeMigration(path(), 2);
    ASSERT_TRUE(std::filesystem::exists(copy));
    store.reset();
    std::filesystem::remove(path());
    std::filesystem::remove(path() + "-wal");
    std::filesystem::copy_file(copy, path());
    std::ofstream(copyBeforeMigration(path(), 1)) << "an older copy";
    reopen();
    EXPECT_EQ(store->list({})->total, 2) << "the copy is a whole store of the second schema";
    EXPECT_FALSE(std::filesystem::exists(copyBeforeMigration(path(), 1))) << "one is kept";
    reopen();
    EXPECT_FALSE(std::filesystem::exists(copyBeforeMigration(path(), newestSchema())))
        << "a store that is new enough is not copied";
}

TEST_F(RunSchemaTest, WithoutRoomForACopyNothingIsMigrated) {
    restoreSchema2();
    store.reset();
    std::filesystem::remove_all(copyBeforeMigration(path(), 2));
    runSql(path(), "PRAGMA user_version = 3");
    std::filesystem::create_directories(copyBeforeMigration(path(), 3) + "/in/the/way");
    const Status status = RunStore::open(path(), clock).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(messageOf(status).find("no copy of the run store"), std::string_view::npos) << status;
}

TEST_F(RunSchemaTest, ANewerSchemaIsRefusedAndLeftAlone) {
    store.reset();
    runSql(path(), "PRAGMA user_version = 99");
    const auto opened = RunStore::open(path(), clock);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(messageOf(opened.status()).find("newer Millrace (schema 99"), std::string_view::npos);
}

/// A long metric, sealed, with one of its chunks overwritten.
class DamagedChunkTest : public RunStoreTest {
 protected:
    static constexpr int kSteps = 12'500;

    DamagedChunkTest() : id(create("base")) {
        EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok());
        LineBatch batch{id, 1, "rank0", kSteps};
        for (int step = 1; step <= kSteps; ++step) {
            ReportedLine line{step, step, 0, step, step, {{"loss", step % 97}, {"other", step % 11}}};
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
    const MetricSeries series = *store->metrics(id, "loss", {0, INT64_MAX, 0});
    EXPECT_EQ(series.points.size(), kSteps - 4096U);
    EXPECT_EQ(series.points[4096].step, 8193);
    EXPECT_NE(series.problem.find("run " + id +
                                  ", metric 'loss': the points of steps 4097 to "
                                  "8192 cannot be read (its checksum is wrong)"),
              std::string::npos)
        << series.problem;
    expectWhole(*store->metrics(id, "other", {0, INT64_MAX, 0}), oracle.series("other"));
    expectWhole(*store->metrics(id, "loss", {1, 4096, 0}), oracle.series("loss", 1, 4096));
    const MetricSeries thin = *store->metrics(id, "loss", {0, INT64_MAX, 400});
    EXPECT_EQ(thin.problem, "") << "the overview of the damaged points is whole";
    EXPECT_EQ(thin.numPoints, kSteps);
}

TEST_F(DamagedChunkTest, ADamagedOverviewIsMadeAgainFromThePoints) {
    damage("level16");
    const auto loss = oracle.series("loss");
    MetricSeries thin = *store->metrics(id, "loss", {0, INT64_MAX, 1000});
    EXPECT_NE(thin.problem.find("an overview is damaged"), std::string::npos) << thin.problem;
    thin.problem.clear();
    expectThin(thin, loss, 1000);
    expectWhole(*store->metrics(id, "loss", {0, INT64_MAX, 0}), loss);
}

TEST_F(DamagedChunkTest, ARunGoesOnOverADamagedChunk) {
    damage("points");
    ASSERT_TRUE(store->beginAttempt(id, 2, 10'000).ok());
    LineBatch batch{id, 2, "rank0", 3000};
    for (int i = 1; i <= 3000; ++i) {
        batch.metrics.push_back({i, 10'000 + i, 0, 0, 0, {{"loss", 1}}});
    }
    ASSERT_TRUE(store->commitLines(batch).ok());
    const MetricSeries series = *store->metrics(id, "loss", {0, INT64_MAX, 0});
    EXPECT_EQ(series.points.size(), 10'000U - 4096 + 3000);
    EXPECT_NE(series.problem, "");
}

}  // namespace
}  // namespace millrace::runs
