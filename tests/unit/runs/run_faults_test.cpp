#include <atomic>
#include <fstream>
#include <thread>

#include <sqlite3.h>

#include "tests/support/file_size_limit.h"
#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

TEST_F(RunStoreTest, AFullDiskIsOneClearSentenceAndLosesNothingStored) {
    const std::string id = create("base");
    RunRecord big = newRun("big");
    big.specText.assign(4 << 20, 'x');
    {
        const tests::FileSizeLimit limit(1 << 20);
        const auto failed = store->create(big);
        ASSERT_FALSE(failed.ok());
        EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
        EXPECT_NE(messageOf(failed.status()).find(path() + ": the disk is full"),
                  std::string_view::npos)
            << failed.status();
    }
    EXPECT_TRUE(store->create(big).ok()) << "there is room again";
    EXPECT_TRUE(store->get(id).ok());
}

TEST_F(RunStoreTest, AFileThatIsNoStoreIsRefusedByName) {
    const std::string garbage = directory / "garbage.db";
    std::ofstream(garbage) << std::string(8192, 'g');
    const auto opened = RunStore::open(garbage, clock);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_NE(messageOf(opened.status()).find(garbage), std::string_view::npos);

    const std::string foreign = directory / "foreign.db";
    runSql(foreign, "CREATE TABLE t(x)");
    EXPECT_NE(messageOf(RunStore::open(foreign, clock).status()).find("not a run store"),
              std::string_view::npos);
}

TEST_F(RunStoreTest, ADamagedPageIsDataLossNotACrash) {
    for (int i = 0; i < 200; ++i) {
        create("run-" + std::to_string(i));
    }
    store.reset();
    {
        std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
        for (int page = 2; page < 40; ++page) {
            file.seekp(page * 4096);
            file << std::string(4096, '\xa5');
        }
    }
    auto opened = RunStore::open(path(), clock);
    const Status status = opened.ok() ? (*opened)->list({}).status() : opened.status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_NE(messageOf(status).find(path()), std::string_view::npos);
}

TEST_F(RunStoreTest, ALookForDamageFindsIt) {
    for (int i = 0; i < 200; ++i) {
        create("run-" + std::to_string(i));
    }
    for (const bool isWhole : {false, true}) {
        const auto sound = store->check(isWhole, [] { return false; });
        ASSERT_TRUE(sound.ok()) << sound.status();
        EXPECT_TRUE(sound->damage.empty());
        EXPECT_EQ(sound->runs, 200);
        EXPECT_GT(sound->bytes, 100'000);
    }
    store.reset();
    {
        std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
        for (int page = 30; page < 60; ++page) {
            file.seekp(page * 4096);
            file << std::string(4096, '\xa5');
        }
    }
    auto opened = RunStore::open(path(), clock);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto found = (*opened)->check(false, [] { return false; });
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_FALSE(found->damage.empty());
    for (const std::string& line : found->damage) {
        EXPECT_EQ(line.find('\n'), std::string::npos) << "a warning is one line: " << line;
    }
    EXPECT_LE(found->damage.size(), static_cast<std::size_t>(kDamageMax) + 1);
}

TEST_F(RunStoreTest, ALookForDamageEndsWhenNobodyWantsIt) {
    create("run");
    const auto found = store->check(true, [] { return true; });
    EXPECT_EQ(found.status().code(), absl::StatusCode::kDeadlineExceeded) << found.status();
}

TEST_F(RunStoreTest, NobodyWaitsForALookForDamage) {
    const std::string id = create("run");
    std::atomic<int> numAsked = 0;
    const auto found = store->check(true, [&] {
        // While the look runs, work on the store's own connections continues.
        EXPECT_TRUE(store->list({}).ok());
        EXPECT_TRUE(store->setNote(id, std::to_string(++numAsked)).ok());
        return false;
    });
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_GE(numAsked, 1);
    EXPECT_TRUE(found->damage.empty());
}

TEST_F(RunStoreTest, ALargeDocumentIsReadByPages) {
    RunRecord run = newRun("base");
    std::string text = R"({"files":[")";
    for (int i = 0; i < 1000; ++i) {
        text += "ä" + std::to_string(i);
    }
    text += R"("]})";
    run.plan = std::make_shared<const std::string>(text);
    const std::string id = store->create(run)->run.id;
    EXPECT_EQ(store->document(id, values::LargeDocument::kPlan).value(), text);
    EXPECT_EQ(store->document(id, values::LargeDocument::kReceipt).value(), "");
    std::string read, hash;
    for (DocumentPage page; page.totalBytes == 0 || read.size() < text.size();) {
        page = store
                   ->documentPage(id, values::LargeDocument::kPlan,
                                  static_cast<std::int64_t>(read.size()), 333)
                   .value();
        ASSERT_FALSE(page.bytes.empty());
        EXPECT_LE(page.bytes.size(), 333u);
        EXPECT_EQ(page.totalBytes, static_cast<std::int64_t>(text.size()));
        EXPECT_EQ(hash.empty() ? page.hash : hash, page.hash);
        hash = page.hash;
        read += page.bytes;
    }
    EXPECT_EQ(read, text);
    EXPECT_EQ(store->documentPage(id, values::LargeDocument::kPlan, 1 << 30, 10)->bytes, "");
    EXPECT_EQ(store->documentPage(id, values::LargeDocument::kReceipt, 0, 10)->totalBytes, 0);
    EXPECT_FALSE(store->documentPage(id, values::LargeDocument::kPlan, -1, 10).ok());
    EXPECT_EQ(store->documentPage("r-none", values::LargeDocument::kPlan, 0, 10).status().code(),
              absl::StatusCode::kNotFound);
}

TEST_F(RunStoreTest, CheckpointsOfARunThatWasRestoredAreNotDropped) {
    const std::string id = create("a");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    LineBatch batch{id, 1, "rank0", 1};
    batch.rank = 0;
    batch.checkpoints = {{1, 1, 3, 0, "three"}};
    ASSERT_TRUE(store->commitLines(batch).ok());
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "x", 0}).ok());
    ASSERT_TRUE(store->markDeleted(id).ok());
    ASSERT_TRUE(store->restore(id).ok()) << "after somebody has listed the deleted ones";
    EXPECT_EQ(store->dropCheckpoints(id).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(store->checkpoints(id)->size(), 1U);
    ASSERT_TRUE(store->markDeleted(id).ok());
    EXPECT_TRUE(store->dropCheckpoints(id).ok());
    EXPECT_TRUE(store->checkpoints(id)->empty());
}

TEST_F(RunStoreTest, APurgedRunKeepsWhatItWasAndNothingElse) {
    RunRecord run = newRun("base");
    run.plan = std::make_shared<const std::string>(R"({"files":[1,2,3]})");
    run.submitKey = "k";
    RunRecord other = run;
    other.variation = "v";
    other.submitKey = "k#v";
    const auto group = store->createGroup({run, other}).value();
    const std::string id = group[0].run.id;
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    ASSERT_TRUE(append(id, 1, 1, 0.5).ok());
    EXPECT_FALSE(store->purge(id).ok()) << "it is not deleted";
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "x", 0}).ok());
    ASSERT_TRUE(store->markDeleted(id).ok());
    EXPECT_EQ(store->deletedBefore(clock.wallMs() + 1, 0)->size(), 1u);
    ASSERT_TRUE(store->purge(id).ok());
    ASSERT_TRUE(store->purge(id).ok()) << "twice is once";
    EXPECT_TRUE(store->metrics(id, "loss")->points.empty());
    EXPECT_EQ(store->document(id, values::LargeDocument::kPlan).value(), "");
    EXPECT_EQ(store->get(id)->specText, run.specText);
    EXPECT_EQ(store->get(id)->newest("loss")->value, 0.5);
    EXPECT_EQ(store->document(group[1].run.id, values::LargeDocument::kPlan).value(), *run.plan)
        << "the others' plan stays";
    EXPECT_TRUE(store->deletedBefore(clock.wallMs() + 1, 0)->empty());
    EXPECT_EQ(store->purgedAmong({id, group[1].run.id, "x"}).value(), std::vector<std::string>{id});
    EXPECT_FALSE(store->restore(id).ok());
}

constexpr std::string_view kReceipt =
    R"({"eval_order_hash":"ee","order_hash":"aa","rows_kept":90,"rows_scanned":100})";

TEST_F(RunStoreTest, ListsShowWhatTheReceiptSays) {
    RunRecord run = newRun("base");
    run.model = "mlp";
    run.dataset = "ratings.csv";
    const std::string id = store->create(run)->run.id;
    EXPECT_EQ(store->list({})->runs.at(0).orderHash, "");
    ASSERT_TRUE(store->setReceipt(id, kReceipt).ok());
    const values::RunSummary listed = store->list({})->runs.at(0);
    EXPECT_EQ(listed.model, "mlp");
    EXPECT_EQ(listed.dataset, "ratings.csv");
    EXPECT_EQ(listed.rowsRead, 100);
    EXPECT_EQ(listed.rowsKept, 90);
    EXPECT_EQ(listed.orderHash, "aa");
    EXPECT_EQ(listed.evalOrderHash, "ee");
    EXPECT_EQ(listed.orderHashVersion, 1) << "a receipt from before version 2";
    const std::string now = R"({"order_hash_version":2,)" + std::string(kReceipt.substr(1));
    ASSERT_TRUE(store->setReceipt(id, now).ok());
    const values::RunSummary later = store->list({})->runs.at(0);
    EXPECT_EQ(later.orderHash, "aa");
    EXPECT_EQ(later.evalOrderHash, "ee");
    EXPECT_EQ(later.orderHashVersion, 2);
}

// Progress also counts the steps after the last checkpoint of a run that failed.
TEST_F(RunStoreTest, RowsTrainedOfARunThatHasEndedAreThoseOfItsReceipt) {
    RunRecord run = newRun("base");
    run.streamHash = "stream";
    const std::string id = store->create(run)->run.id;
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    LineBatch batch{id, 1, "rank0", 1};
    batch.rank = 0;
    batch.progress = Progress{40, 0, 2'560};
    ASSERT_TRUE(store->commitLines(batch).ok());
    EXPECT_EQ(store->list({})->runs.at(0).rowsTrained, 2'560);
    ASSERT_TRUE(store->setReceipt(id, R"({"rows_scanned":5000,"rows_trained":1280})").ok());
    RunQuery query;
    query.filter = "rows_trained = 1280";
    const values::RunPage page = *store->list(query);
    ASSERT_EQ(page.runs.size(), 1U);
    EXPECT_EQ(page.runs[0].rowsTrained, 1'280);
    EXPECT_EQ(page.runs[0].progress.rows, 1'280);
    EXPECT_EQ(page.runs[0].progress.step, 40);
}

TEST_F(RunStoreTest, ARequeuedRunWaitsBehindTheOthersAndKeepsItsStep) {
    const std::string first = create("first"), second = create("second");
    EXPECT_LT(store->get(first)->queueNo, store->get(second)->queueNo);
    ASSERT_TRUE(store->setState(first, {values::RunState::kFailed, "broken", 0}).ok());
    ASSERT_TRUE(store->requeue(first, 40).ok());
    EXPECT_EQ(store->get(first)->state, values::RunState::kQueued);
    EXPECT_EQ(store->get(first)->exitReason, "");
    EXPECT_EQ(store->get(first)->endedMs, 0);
    EXPECT_EQ(store->get(first)->resumeFrom, 40);
    EXPECT_GT(store->get(first)->queueNo, store->get(second)->queueNo);
    ASSERT_TRUE(store->setNote(second, "later than the resume").ok());
    EXPECT_GT(store->get(first)->queueNo, store->get(second)->queueNo) << "a note moves nothing";
    ASSERT_TRUE(store->beginAttempt(first, 1, 40).ok());
    EXPECT_EQ(store->get(first)->resumeFrom, 0);
    ASSERT_TRUE(store->beginAttempt(first, 2, 40, true).ok());
    EXPECT_EQ(store->get(first)->restarts, 1);
}

// A step that draws other rows in each epoch makes the total an estimate.
TEST_F(RunStoreTest, TheTotalOfStepsIsNeverExceededAndExactAtTheEnd) {
    RunRecord sampled = newRun("sampled");
    sampled.dataset = "log.csv";
    const auto totalOf = [this](const std::string& id, std::int64_t step, std::int64_t total) {
        LineBatch batch{id, 1, "rank0", step};
        batch.rank = 0;
        batch.progress = Progress{step, 0, 0, total, "training"};
        EXPECT_TRUE(store->commitLines(batch).ok());
        return store->get(id)->progress.stepsTotal;
    };
    for (const std::int64_t end : {88, 94}) {
        const std::string id = store->create(sampled)->run.id;
        ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
        EXPECT_EQ(totalOf(id, 40, 90), 90);
        EXPECT_EQ(totalOf(id, end, 90), std::max<std::int64_t>(end, 90));
        ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 1}).ok());
        EXPECT_EQ(store->get(id)->progress.stepsTotal, end);
    }
    const std::string early = store->create(sampled)->run.id;
    ASSERT_TRUE(store->beginAttempt(early, 1, 0).ok());
    EXPECT_EQ(totalOf(early, 40, 90), 90);
    ASSERT_TRUE(store->setState(early, {values::RunState::kFinished, "early stop", 1}).ok());
    EXPECT_EQ(store->get(early)->progress.stepsTotal, 90) << "rows are left";
}

// Its figures, checkpoints and receipt are still those of the run that finished.
TEST_F(RunStoreTest, AResumeThatDoesNotBeginLeavesAFinishedRunFinished) {
    RunRecord made = newRun("first");
    made.dataset = "log.csv";
    const std::string id = store->create(made)->run.id;
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 1}).ok());
    ASSERT_TRUE(store->setReceipt(id, R"({"rows_trained":1280})").ok());
    const std::int64_t ended = store->get(id)->endedMs;
    int attempt = 1;
    for (const auto state : {values::RunState::kFailed, values::RunState::kCancelled}) {
        clock.advanceMs(5'000);
        ASSERT_TRUE(store->requeue(id, 40).ok());
        ASSERT_TRUE(store->beginAttempt(id, ++attempt, 40).ok());
        ASSERT_TRUE(store->beginAttempt(id, ++attempt, 40, true).ok());
        ASSERT_TRUE(store->setReceipt(id, R"({"rows_trained":640})").ok());
        ASSERT_TRUE(store->setState(id, {state, "its file was rewritten", attempt}).ok());
        EXPECT_EQ(store->get(id)->state, values::RunState::kFinished);
        EXPECT_EQ(store->get(id)->exitReason, "a resume did not begin: its file was rewritten");
        EXPECT_EQ(store->get(id)->rowsTrained, 1'280);
        EXPECT_EQ(store->get(id)->endedMs, ended);
    }
    ASSERT_TRUE(store->requeue(id, 40).ok());
    ASSERT_TRUE(store->setState(id, {values::RunState::kCancelled, "not now", 0}).ok());
    EXPECT_EQ(store->get(id)->state, values::RunState::kFinished) << "stopped in the queue";

    ASSERT_TRUE(store->requeue(id, 40).ok());
    ASSERT_TRUE(store->beginAttempt(id, ++attempt, 40).ok());
    LineBatch work{id, attempt, "rank0", 1};
    work.rank = 0;
    work.progress = Progress{41, 0, 0, 0, "training"};
    ASSERT_TRUE(store->commitLines(work).ok());
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "it broke", attempt}).ok());
    EXPECT_EQ(store->get(id)->state, values::RunState::kFailed) << "this attempt has worked";
    ASSERT_TRUE(store->requeue(id, 40).ok());
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "again", 0}).ok());
    EXPECT_EQ(store->get(id)->state, values::RunState::kFailed) << "it was not finished before";

    made.dataset = "";
    const std::string script = store->create(made)->run.id;
    ASSERT_TRUE(store->beginAttempt(script, 1, 0).ok());
    ASSERT_TRUE(store->setState(script, {values::RunState::kFinished, "", 1}).ok());
    ASSERT_TRUE(store->requeue(script, 0).ok());
    ASSERT_TRUE(store->beginAttempt(script, 2, 0).ok());
    ASSERT_TRUE(store->setState(script, {values::RunState::kFailed, "exit 1", 2}).ok());
    EXPECT_EQ(store->get(script)->state, values::RunState::kFailed) << "it may report nothing";
}

TEST_F(RunStoreTest, PackagesAreAddedToThoseThatAreKnown) {
    RunRecord run = newRun("base");
    run.packages = {{"millrace", "0.1.0"}, {"torch", "1"}};
    const std::string id = store->create(run)->run.id;
    ASSERT_TRUE(store->addPackages(id, {{"torch", "2"}, {"arrow", "20"}}).ok());
    const std::map<std::string, std::string> expected = {
        {"arrow", "20"}, {"millrace", "0.1.0"}, {"torch", "2"}};
    EXPECT_EQ(store->get(id)->packages, expected);
}

TEST_F(RunStoreTest, ADirectoryThatIsNotThereIsNamed) {
    const auto opened = RunStore::open("/no/such/place/runs.db", clock);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(messageOf(opened.status()).find("/no/such/place/runs.db"), std::string_view::npos);
}

TEST_F(RunStoreTest, ReadersSeeWholeBatchesWhileAWriterCommits) {
    const std::string id = create("base");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    std::thread writer([&] {
        for (int i = 1; i <= 50; ++i) {
            LineBatch batch{id, 1, "rank0", i};
            batch.rank = 0;
            batch.metrics.push_back({i, i, 0, 0, 0, {{"a", 1.0 * i}, {"b", 1.0 * i}}});
            EXPECT_TRUE(store->commitLines(batch).ok());
        }
    });
    for (int i = 0; i < 50; ++i) {
        const values::RunSummary run = store->list({})->runs.at(0);
        const auto *a = run.newest("a"), *b = run.newest("b");
        ASSERT_EQ(a == nullptr, b == nullptr);
        if (a != nullptr) {
            EXPECT_EQ(a->value, b->value);
        }
    }
    writer.join();
    EXPECT_EQ(store->metrics(id, "a")->points.size(), 50U);
}

}  // namespace
}  // namespace millrace::runs
