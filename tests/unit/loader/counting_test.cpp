// Counted vocabularies of real files: their content, the cache, and a stop.
#include "daemon/worker/loader/counting.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/resolve.h"
#include "tests/support/temp_dir.h"

namespace millrace::loader {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// 300 rows in three files: users 0 to 9; a higher user is more frequent.
class CountingTest : public ::testing::Test {
 protected:
    CountingTest() {
        for (int file = 0; file < 3; ++file) {
            std::ofstream rows(dir_ / strCat("rows-", file, ".csv"));
            rows << "click,user,part\n";
            for (int row = 0; row < 100; ++row) {
                rows << row % 2 << ',' << (row * row + file) % 10 << ',' << file << '\n';
            }
        }
    }
    /// The base spec, whose values are not counted yet.
    ResolvedRun resolved(const std::string& vocabulary = "auto", const std::string& more = "",
                         const std::string& where = "true") const {
        ResolveRequest request;
        request.text = strCat(
            "dataset: {path: 'rows-*.csv', where: \"", where,
            "\", csv_split_rows: 10}\nlabels: {click: 'click = 1'}\nfeatures: {ids: [user]}\n"
            "embeddings: {user: {vocabulary: ",
            vocabulary, "}}\nmodel: {type: logistic, embedding_dim: 1}\n", more);
        request.baseDir = dir_.path();
        ResolveReply reply = resolveSpec(request);
        EXPECT_TRUE(reply.errors.empty()) << spec::toStatus(reply.errors, "spec");
        return reply.runs.empty() ? ResolvedRun{} : std::move(reply.runs.front());
    }
    /// Counts into `run`; returns the notes.
    std::vector<std::string> count(ResolvedRun& run, bool mayCount = true) const {
        const CountingOptions options{run.filesVersion, cache_.path(), mayCount, cacheBytesMost_};
        std::vector<std::string> notes;
        const Status status = countValues(run.spec, run.plan, options, notes);
        EXPECT_TRUE(status.ok()) << status;
        return notes;
    }
    static std::string hashOf(const ResolvedRun& run) {
        return run.spec.embeddings.at("user").vocabulary->hash;
    }

    const tests::TempDir dir_, cache_;
    std::int64_t cacheBytesMost_ = 1'000'000'000;
};

TEST_F(CountingTest, WhatIsCountedIsInThePlanAndPinnedByTheSpec) {
    ResolvedRun run = resolved();
    EXPECT_TRUE(isPending(run.spec));
    EXPECT_THAT(count(run), ElementsAre("embeddings.user.vocabulary: 10 values, counted now"));
    EXPECT_FALSE(isPending(run.spec));
    EXPECT_EQ(run.spec.embeddings.at("user").rows, 11);
    ASSERT_EQ(run.plan.countedTables.size(), 1U);
    EXPECT_EQ(run.plan.countedTables[0].hash, hashOf(run));
    EXPECT_EQ(run.plan.countedTables[0].rows, 10);
    const auto json = parseJson(run.plan.toJsonText(), "plan");
    ASSERT_TRUE(json.ok());
    const auto again = stream::Plan::fromJson(*json);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->planHash(), run.plan.planHash());
    EXPECT_EQ(*again->countedTables[0].file, *run.plan.countedTables[0].file);
    stream::Plan without = run.plan;
    without.countedTables.clear();
    EXPECT_NE(without.planHash(), run.plan.planHash());
}

TEST_F(CountingTest, BoundsAndRowsDecide) {
    ResolvedRun all = resolved(), bounded = resolved("{max_rows: 5}"),
                rare = resolved("{min_count: 60}"), other = resolved("auto", "", "user > 4");
    for (ResolvedRun* run : {&all, &bounded, &rare, &other}) {
        count(*run);
    }
    EXPECT_EQ(bounded.spec.embeddings.at("user").rows, 5);
    EXPECT_LT(rare.spec.embeddings.at("user").rows, 11);
    EXPECT_EQ(other.spec.embeddings.at("user").rows, 6);
    EXPECT_NE(hashOf(all), hashOf(other));
}

TEST_F(CountingTest, RowsThatAreScoredHaveTheValuesOfTraining) {
    ::setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    ResolvedRun training = resolved();
    count(training);
    ResolveRequest request;
    request.text =
        "dataset: {path: 'rows-*.csv', csv_split_rows: 10}\nfeatures: {ids: [user]}\n"
        "embeddings: {user: {vocabulary: auto}}\nmodel: {type: mlp, embedding_dim: 1}\n"
        "eval: {dataset: {where: user = 4}}\n";
    request.baseDir = dir_.path();
    request.isForScoring = request.mayCount = true;
    for (const bool needsIds : {false, true}) {
        request.needsIds = needsIds;
        const ResolveReply reply = resolveSpec(request);
        ASSERT_TRUE(reply.errors.empty()) << spec::toStatus(reply.errors, "spec");
        const ResolvedRun& scored = reply.runs.front();
        EXPECT_EQ(isPending(scored.spec), !needsIds);
        EXPECT_EQ(hashOf(scored), needsIds ? hashOf(training) : "");
        EXPECT_EQ(scored.spec.embeddings.at("user").rows, needsIds ? 11 : 0);
        EXPECT_EQ(scored.plan.countedTables.size(), needsIds ? 1U : 0U);
    }
}

TEST_F(CountingTest, ValuesOfARunAreTakenForTheSameFeaturesAlone) {
    ResolvedRun run = resolved(), same = resolved(), other = resolved();
    count(run);
    takeCounted(run.spec, run.plan, same.spec, same.plan);
    EXPECT_EQ(hashOf(same), hashOf(run));
    EXPECT_EQ(same.spec.embeddings.at("user").rows, 11);
    EXPECT_EQ(same.plan.countedTables.size(), 1U);
    EXPECT_TRUE(checkSameValues(run.spec, same.spec).ok());
    other.spec.embeddings.at("user").features = {"part"};
    takeCounted(run.spec, run.plan, other.spec, other.plan);
    EXPECT_TRUE(isPending(other.spec));
    ResolvedRun fewer = resolved("auto", "", "user > 4");
    count(fewer);
    EXPECT_THAT(checkSameValues(run.spec, fewer.spec).message(),
                HasSubstr("ids would differ from those of the model"));
}

TEST_F(CountingTest, TheCacheServesWhatHasTheSameRowsAndFeatures) {
    ResolvedRun first = resolved();
    count(first);
    ResolvedRun alike =
        resolved("auto", "batch: {seed: 5, rows: 64}\ntrain: {learning_rate: 0.5}\n");
    EXPECT_THAT(count(alike, false),
                ElementsAre("embeddings: vocabularies counted before: user with 10 values"));
    EXPECT_EQ(hashOf(alike), hashOf(first));
    for (const char* step : {"  - filter: part < 2\n", "  - sample: {keep: 0.5}\n"}) {
        ResolvedRun other = resolved("auto", strCat("recipe:\n", step));
        EXPECT_THAT(count(other, false), ElementsAre(HasSubstr("counted when the run starts")));
        EXPECT_TRUE(isPending(other.spec)) << step;
    }
}

TEST_F(CountingTest, AFileThatWasRewrittenIsCountedAgain) {
    ResolvedRun first = resolved();
    count(first);
    std::ofstream(dir_ / "rows-1.csv") << "click,user,part\n1,77,1\n0,78,1\n";
    ResolvedRun second = resolved();
    EXPECT_THAT(count(second), ElementsAre(HasSubstr("counted now")));
    EXPECT_NE(hashOf(first), hashOf(second));
}

TEST_F(CountingTest, DamagedFilesOfTheCacheAreMadeAnew) {
    ResolvedRun first = resolved();
    count(first);
    for (const auto& file : std::filesystem::directory_iterator(cache_.path())) {
        std::ofstream(file.path()) << "damaged";
    }
    ResolvedRun second = resolved();
    EXPECT_THAT(count(second), ElementsAre(HasSubstr("counted now")));
    EXPECT_EQ(hashOf(first), hashOf(second));
    ResolvedRun third = resolved();
    EXPECT_THAT(count(third), ElementsAre(HasSubstr("counted before")));
}

TEST_F(CountingTest, TheCacheIsBoundedAndKeepsWhatWasUsed) {
    namespace fs = std::filesystem;
    ResolvedRun first = resolved(), second = resolved("{max_rows: 5}"),
                third = resolved("{max_rows: 4}");
    count(first);
    count(second);
    std::int64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(cache_.path())) {
        bytes += static_cast<std::int64_t>(file.file_size());
        fs::last_write_time(file.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
    ResolvedRun again = resolved();
    EXPECT_THAT(count(again), ElementsAre(HasSubstr("counted before")));
    cacheBytesMost_ = bytes;
    count(third);
    ResolvedRun used = resolved(), unused = resolved("{max_rows: 5}");
    EXPECT_THAT(count(used, false), ElementsAre(HasSubstr("counted before")));
    EXPECT_THAT(count(unused, false), ElementsAre(HasSubstr("counted when the run starts")));
}

TEST_F(CountingTest, WhereNothingIsCountedOneNoteNamesAllKeys) {
    const auto both = [this] {
        ResolvedRun run = resolved();
        run.spec.features.ids.push_back("part");
        run.spec.embeddings["part"] = run.spec.embeddings["user"];
        run.spec.embeddings["part"].features = {"part"};
        return run;
    };
    ResolvedRun unknown = both(), known = both(), counted = both(), part = resolved();
    EXPECT_THAT(count(unknown, false),
                ElementsAre(HasSubstr("vocabularies counted when the run starts: part, user; ")));
    count(counted);
    EXPECT_THAT(count(known, false), ElementsAre("embeddings: vocabularies counted before: part "
                                                 "with 3 values, user with 10 values"));
}

TEST_F(CountingTest, ThreadsChangeNothing) {
    std::vector<std::string> hashes;
    for (const int threads : {1, 4}) {
        ResolvedRun run = resolved();
        run.spec.resources.loaderThreads = threads;
        std::vector<std::string> notes;
        ASSERT_TRUE(countValues(run.spec, run.plan, {run.filesVersion, ""}, notes).ok());
        hashes.push_back(hashOf(run));
    }
    EXPECT_EQ(hashes[0], hashes[1]);
}

TEST_F(CountingTest, AStopEndsItAndNothingIsKept) {
    {
        std::ofstream rows(dir_ / "rows-9.csv");  // 20,000 splits: they last longer than a signal
        rows << "click,user,part\n";
        for (int row = 0; row < 200'000; ++row) {
            rows << row % 2 << ',' << row % 7 << ",9\n";
        }
    }
    ResolvedRun run = resolved();
    const Watch watch;  // blocks the signals in this thread, so that it waits for the counting
    ::raise(SIGTERM);
    CountingOptions options{run.filesVersion, cache_.path()};
    std::vector<std::string> notes;
    const Status status = countValues(run.spec, run.plan, options, notes);
    watch.drain();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_TRUE(isPending(run.spec));
    EXPECT_TRUE(std::filesystem::is_empty(cache_.path()));
}

}  // namespace
}  // namespace millrace::loader
