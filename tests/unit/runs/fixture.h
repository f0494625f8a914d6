#pragma once
// A run store in a temporary directory, with a clock that the test moves.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "backend/runs/run_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace millrace::runs {

class RunStoreTest : public ::testing::Test {
 protected:
    RunStoreTest() { reopen(); }

    void reopen() {
        store.reset();
        auto opened = RunStore::open(path(), clock);
        EXPECT_TRUE(opened.ok()) << opened.status();
        if (opened.ok()) {
            store = std::move(*opened);
        }
    }
    std::string path() const { return directory / "runs.db"; }

    static RunRecord newRun(const std::string& name) {
        RunRecord run;
        run.name = name;
        run.owner = "ada";
        run.project = "films";
        run.specText = "name: " + name + "\n";
        run.resolvedSpec = R"({"batch":{"rows":1024},"recipe":[{"kind":"filter","name":"spam"}]})";
        run.seed = 0xffff'ffff'ffff'fff0U;
        return run;
    }
    std::string create(const std::string& name) {
        auto created = store->create(newRun(name));
        EXPECT_TRUE(created.ok()) << created.status();
        return created.ok() ? created->run.id : "";
    }
    /// One metrics line of rank0: seq = step.
    Status append(const std::string& id, int attempt, std::int64_t step, double value,
                  const std::string& key = "loss") {
        LineBatch batch{id, attempt, "rank0", step};
        batch.rank = 0;
        batch.metrics.push_back({step, step, 0, step * 10, clock.wallMs(), {{key, value}}});
        return store->commitLines(batch).status();
    }

    /// A progress line of rank0 for the step after the newest attempt's start: the attempt begins.
    Status work(const std::string& id, int attempt) {
        LineBatch batch{id, attempt, "rank0", 0};
        batch.rank = 0;
        const std::int64_t first = store->attempts(id)->back().resumeStep + 1;
        batch.progress = Progress{first, 0, 0, 0, "training"};
        return store->commitLines(batch).status();
    }

    tests::TempDir directory;
    FakeClock clock;
    std::unique_ptr<RunStore> store;
};

/// Runs `sql` on the database file at `path`, without the store.
inline void runSql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
}

}  // namespace millrace::runs
