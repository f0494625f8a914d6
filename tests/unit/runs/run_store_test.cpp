#include "backend/runs/run_store.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>

#include "backend/runs/filter_sql.h"
#include "backend/search/attributes.h"
#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> namesOf(const values::RunPage& page) {
    std::vector<std::string> names;
    for (const values::RunSummary& run : page.runs) {
        names.push_back(run.name);
    }
    return names;
}

using Names = std::vector<std::string>;

TEST_F(RunStoreTest, ARunComesBackAsItWasStoredAlsoAfterReopening) {
    RunRecord run = newRun("base");
    run.variation = "keep-30";
    run.variationOf = "r-aaaaa";
    run.tags = {{"team", "ranking"}};
    run.plan = std::make_shared<const std::string>(R"({"files":[]})");
    run.planFacts = R"({"files":0})";
    run.gitCommit = "abc";
    run.isGitDirty = true;
    run.packages = {{"arrow", "26.0.0"}};
    const auto created = store->create(run);
    ASSERT_TRUE(created.ok()) << created.status();
    reopen();
    const auto got = store->get(created->run.id);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->specText, run.specText);
    EXPECT_EQ(got->resolvedSpec, run.resolvedSpec);
    EXPECT_EQ(got->plan, nullptr) << "large documents are read by themselves";
    EXPECT_EQ(store->document(got->id, values::LargeDocument::kPlan).value(), *run.plan);
    EXPECT_EQ(got->planFacts, run.planFacts);
    EXPECT_EQ(got->variation, "keep-30");
    EXPECT_EQ(got->variationOf, "r-aaaaa");
    EXPECT_EQ(got->tags, run.tags);
    EXPECT_EQ(got->packages, run.packages);
    EXPECT_EQ(got->seed, run.seed);
    EXPECT_TRUE(got->isGitDirty);
    EXPECT_EQ(got->createdMs, clock.wallMs());
    EXPECT_EQ(got->uid.size(), 32U);
    EXPECT_EQ(got->id.substr(0, 2), "r-");
}

TEST_F(RunStoreTest, ParametersAreTheScalarsOfTheResolvedSpec) {
    const auto got = store->get(create("base"));
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->params.at("batch.rows"), "1024");
    EXPECT_EQ(got->params.at("recipe.spam.kind"), "filter");
}

TEST_F(RunStoreTest, DenseFeaturesAreAListOfTheirColumns) {
    RunRecord run = newRun("dense");
    run.resolvedSpec = R"({"features": {"ids": [], "dense": [{"column": "price", "fill": 0.0},
                                                             {"column": "age", "fill": 2.5}]}})";
    const auto got = store->get(store->create(run)->run.id);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->params.at("features.dense"), R"x(["price","age (fill 2.5)"])x");
    EXPECT_FALSE(got->params.contains("features.dense.0.column"));
}

TEST_F(RunStoreTest, TheSameSubmitKeyGivesTheSameRun) {
    RunRecord run = newRun("base");
    run.submitKey = "k1";
    const auto first = store->create(run), second = store->create(run);
    ASSERT_TRUE(first.ok() && second.ok()) << second.status();
    EXPECT_TRUE(first->isNew);
    EXPECT_FALSE(second->isNew);
    EXPECT_EQ(first->run.id, second->run.id);
    run.specText = "name: other";
    EXPECT_EQ(store->create(run).status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(store->list({})->total, 1);
}

TEST_F(RunStoreTest, StatesSetTheirTimesAndAResumeClearsTheEnd) {
    const std::string id = create("base");
    clock.advanceMs(10);
    ASSERT_TRUE(store->setState(id, {values::RunState::kRunning}).ok());
    const std::int64_t started = clock.wallMs();
    clock.advanceMs(10);
    ASSERT_TRUE(store->setState(id, {values::RunState::kStopping, "disk full"}).ok());
    EXPECT_EQ(store->get(id)->endedMs, 0);
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed}).ok());
    RunRecord run = *store->get(id);
    EXPECT_EQ(run.startedMs, started);
    EXPECT_EQ(run.endedMs, clock.wallMs());
    EXPECT_EQ(run.exitReason, "disk full");
    clock.advanceMs(10);
    ASSERT_TRUE(store->setState(id, {values::RunState::kRunning}).ok());
    run = *store->get(id);
    EXPECT_EQ(run.startedMs, started);
    EXPECT_EQ(run.endedMs, 0);
    EXPECT_EQ(run.exitReason, "");
}

TEST_F(RunStoreTest, AnOldAttemptCannotChangeTheState) {
    const std::string id = create("base");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    ASSERT_TRUE(store->beginAttempt(id, 2, 0).ok());
    const Status late = store->setState(id, {values::RunState::kFailed, "late", 1});
    EXPECT_EQ(late.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(store->get(id)->state, values::RunState::kQueued);
    EXPECT_TRUE(store->setState(id, {values::RunState::kRunning, "", 2}).ok());
}

TEST_F(RunStoreTest, TagsAndNotesAreEdited) {
    const std::string id = create("base");
    ASSERT_TRUE(store->setTag(id, "team", "a").ok());
    ASSERT_TRUE(store->setTag(id, "team", "b").ok());
    ASSERT_TRUE(store->setTag(id, "gone", "x").ok());
    ASSERT_TRUE(store->deleteTag(id, "gone").ok());
    ASSERT_TRUE(store->setNote(id, "seen: loss spikes").ok());
    const RunRecord run = *store->get(id);
    EXPECT_EQ(run.tags, (std::map<std::string, std::string>{{"team", "b"}}));
    EXPECT_EQ(run.note, "seen: loss spikes");
}

TEST_F(RunStoreTest, DeletedRunsAreHiddenUntilRestoredAndRunningOnesAreKept) {
    const std::string id = create("base");
    EXPECT_EQ(store->markDeleted(id).code(), absl::StatusCode::kFailedPrecondition);
    ASSERT_TRUE(store->setState(id, {values::RunState::kCancelled}).ok());
    ASSERT_TRUE(store->markDeleted(id).ok());
    EXPECT_TRUE(store->list({})->runs.empty());
    RunQuery deleted;
    deleted.view = values::RunView::kDeleted;
    EXPECT_EQ(store->list(deleted)->runs.size(), 1U);
    ASSERT_TRUE(store->restore(id).ok());
    EXPECT_EQ(store->list({})->runs.size(), 1U);
}

TEST_F(RunStoreTest, OnlyARunThatHasEndedAndIsThereIsRequeued) {
    const std::string id = create("base");
    EXPECT_THAT(std::string(messageOf(store->requeue(id, 0))),
                HasSubstr("is queued; only a run that has ended"));
    ASSERT_TRUE(store->setState(id, {values::RunState::kRunning}).ok());
    EXPECT_THAT(std::string(messageOf(store->requeue(id, 0))), HasSubstr("is running"));
    EXPECT_EQ(store->get(id)->state, values::RunState::kRunning);
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "x"}).ok());
    ASSERT_TRUE(store->markDeleted(id).ok());
    const Status deleted = store->requeue(id, 0);
    EXPECT_EQ(deleted.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(messageOf(deleted)), HasSubstr("is deleted; restore it first"));
    EXPECT_EQ(store->get(id)->state, values::RunState::kFailed);
    EXPECT_TRUE(store->waiting()->empty()) << "nothing starts it";
    ASSERT_TRUE(store->purge(id).ok());
    EXPECT_THAT(std::string(messageOf(store->requeue(id, 0))), HasSubstr("was purged"));
    EXPECT_THAT(std::string(messageOf(store->restore(id))),
                HasSubstr("its checkpoints, points and plan are gone for good"));
}

TEST_F(RunStoreTest, ARunIsFoundByIdUidNameOrUniquePrefix) {
    const std::string id = create("movielens-dlrm");
    create("movielens-mlp");
    const std::string uid = store->get(id)->uid;
    for (const std::string& text :
         {id, uid, id.substr(2), std::string("movielens-dlrm"), std::string("movielens-d")}) {
        const auto found = store->findId(text);
        ASSERT_TRUE(found.ok()) << text << ": " << found.status();
        EXPECT_EQ(*found, id) << text;
    }
    EXPECT_EQ(store->findId(id.substr(2, 3)).status().code(), absl::StatusCode::kNotFound)
        << "a few letters are more likely a name";
    EXPECT_EQ(store->findId("movielens").status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(store->findId("nothing").status().code(), absl::StatusCode::kNotFound);
    EXPECT_FALSE(store->findId("").ok());
}

TEST_F(RunStoreTest, TwoRunsOfOneNameAreToldApartByTheirIds) {
    const std::string first = create("base"), second = create("base");
    const auto found = store->findId("base");
    ASSERT_FALSE(found.ok());
    EXPECT_NE(messageOf(found.status()).find(first), std::string_view::npos);
    EXPECT_NE(messageOf(found.status()).find(second), std::string_view::npos);
}

TEST_F(RunStoreTest, ListsAreNewestFirstWithoutTheDocuments) {
    create("a");
    clock.advanceMs(1);
    create("b");
    const values::RunPage page = *store->list({});
    EXPECT_EQ(namesOf(page), (Names{"b", "a"}));
    EXPECT_TRUE(page.runs[0].params.empty());
    RunQuery withParams;
    withParams.withParams = true;
    EXPECT_EQ(store->list(withParams)->runs[0].params.at("batch.rows"), "1024");
}

TEST_F(RunStoreTest, FiltersSelectByEveryEntity) {
    for (const char* name : {"Alpha_1", "alphaX1", "beta"}) {
        const std::string id = create(name);
        clock.advanceMs(1000);
        ASSERT_TRUE(store->setTag(id, "team", name).ok());
        ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    }
    const std::string beta = *store->findId("beta");
    ASSERT_TRUE(append(beta, 1, 1, 0.25).ok());
    ASSERT_TRUE(store->setState(beta, {values::RunState::kRunning}).ok());
    clock.advanceMs(60'000);
    ASSERT_TRUE(store->setState(beta, {values::RunState::kFinished}).ok());
    const auto match = [&](const std::string& filter) {
        RunQuery query;
        query.filter = filter;
        query.orderBy = {"name"};
        const auto page = store->list(query);
        EXPECT_TRUE(page.ok()) << page.status();
        return page.ok() ? namesOf(*page) : Names{};
    };
    EXPECT_EQ(match("state = 'finished'"), Names{"beta"});
    EXPECT_EQ(match("status = 'FINISHED'"), Names{"beta"});
    EXPECT_EQ(match("state != 'finished'"), (Names{"Alpha_1", "alphaX1"}));
    EXPECT_EQ(match("name LIKE 'Alpha_1'"), Names{"Alpha_1"});
    EXPECT_EQ(match("name LIKE '%lpha_1'"), (Names{"Alpha_1", "alphaX1"}));
    EXPECT_EQ(match("name LIKE 'alpha%'"), Names{"alphaX1"});
    EXPECT_EQ(match("name ILIKE 'ALPHA%'"), (Names{"Alpha_1", "alphaX1"}));
    EXPECT_EQ(match("name LIKE '*'"), Names{});
    EXPECT_EQ(match("metrics.loss <= 0.25"), Names{"beta"});
    EXPECT_EQ(match("metrics.loss != 7"), Names{"beta"});
    EXPECT_EQ(match("metrics.loss > 0.25"), Names{});
    EXPECT_EQ(match("tags.team = 'beta' AND params.\"batch.rows\" = '1024'"), Names{"beta"});
    EXPECT_EQ(match("params.batch.rows = '1024.0'"), Names{});
    EXPECT_EQ(match("tags.none IS NULL AND metrics.loss IS NOT NULL"), Names{"beta"});
    EXPECT_EQ(match("tags.none != 'x'"), Names{});
    EXPECT_EQ(match("end_time > 0"), Names{"beta"});
    EXPECT_EQ(match("created > 1700000000500 AND name IN ('beta', 'x')"), Names{"beta"});
    EXPECT_EQ(match("created < '2023-11-14T22:13:20.500Z'"), Names{"Alpha_1"});
    EXPECT_EQ(match("params.batch.rows = 1024 and params.batch.rows >= 1e3 and step in (1)"),
              Names{"beta"});
    EXPECT_EQ(match("params.batch.rows > 1024 or params.model.type < 5"), Names{});
    EXPECT_EQ(match("tags.team = 'beta' or name = 'Alpha_1' and step = 0"),
              (Names{"Alpha_1", "beta"}));
    EXPECT_EQ(match("not (tags.team = 'beta' or metrics.loss > 0)"), (Names{"Alpha_1", "alphaX1"}));
    EXPECT_EQ(match("not tags.none = 'x' and not variation = 'x'"),
              (Names{"Alpha_1", "alphaX1", "beta"}))
        << "what a run does not have does not hold";
    EXPECT_EQ(match("since 62s"), (Names{"alphaX1", "beta"}));
    EXPECT_EQ(match("before 62s"), Names{"Alpha_1"});
    EXPECT_EQ(match("duration >= 1m and duration < 1h and ended is not null"), Names{"beta"});
}

TEST_F(RunStoreTest, WhatARunLacksIsNullAndNanIsNoNumber) {
    const std::string bare = create("bare");
    RunRecord run = newRun("stream");
    run.streamHash = "ab";
    const std::string stream = store->create(run)->run.id;
    ASSERT_TRUE(store->beginAttempt(bare, 1, 0).ok());
    ASSERT_TRUE(append(bare, 1, 1, 0.9).ok());
    ASSERT_TRUE(append(bare, 1, 2, std::numeric_limits<double>::quiet_NaN()).ok());
    const auto match = [&](const std::string& filter) {
        RunQuery query;
        query.filter = filter;
        query.orderBy = {"name"};
        const auto page = store->list(query);
        EXPECT_TRUE(page.ok()) << page.status();
        return page.ok() ? namesOf(*page) : Names{};
    };
    for (const char* const clause : {"< 0.5", "= 0", ">= 0", "!= 7", "not in (1, 2)"}) {
        EXPECT_EQ(match(strCat("metrics.loss ", clause)), Names{}) << clause;
    }
    EXPECT_EQ(match("metrics.loss is not null"), Names{"bare"});
    for (const char* const key : {"seed", "epoch", "rows_trained"}) {
        EXPECT_EQ(match(strCat(key, " != 5")), Names{"stream"}) << key;
        EXPECT_EQ(match(strCat(key, " is null")), Names{"bare"}) << key;
    }
    EXPECT_EQ(match("stream_hash != 'x'"), Names{"stream"});
    EXPECT_EQ(match("stream_hash is null"), Names{"bare"});
    EXPECT_EQ(match("note is null and variation is null and project is not null"),
              (Names{"bare", "stream"}));
    EXPECT_EQ(match("note != 'x' or note = ''"), Names{});
}

TEST_F(RunStoreTest, EachAttributeIsFilteredAndSortedBy) {
    create("a");
    for (const search::Attribute& attribute : search::attributes()) {
        RunQuery query;
        query.filter = std::string(attribute.name) + " is null or " + std::string(attribute.name) +
                       " is not null";
        query.orderBy = {std::string(attribute.name)};
        const auto page = store->list(query);
        ASSERT_TRUE(page.ok()) << attribute.name << page.status();
        EXPECT_EQ(page->runs.size(), 1U) << attribute.name;
    }
}

TEST_F(RunStoreTest, TextsOfAFilterNeverReachTheSql) {
    const auto filter = search::parseFilter("tags.\"a'); DROP\" = \"x' OR 1=1\"", clock.wallMs());
    ASSERT_TRUE(filter.ok()) << filter.status();
    const SqlText sql = conditionOf(*filter);
    EXPECT_EQ(sql.text.find("DROP"), std::string::npos);
    EXPECT_EQ(sql.text.find("1=1"), std::string::npos);
    EXPECT_EQ(sql.values.size(), 2U);
}

TEST_F(RunStoreTest, OwnParametersAreComparedAsNumbersAndAreApartFromKeysOfTheSpec) {
    const std::pair<const char*, const char*> runs[] = {{"nine", "9"},
                                                        {"ten", "10.0"},
                                                        {"tenth", "1e-1"},
                                                        {"word", "\"9x\""},
                                                        {"text", "\"0.10\""}};
    for (const auto& [name, value] : runs) {
        RunRecord run = newRun(name);
        run.resolvedSpec = strCat(R"({"batch": {"rows": 512}, "params": {"lr": )", value,
                                  R"(, "w": {"days": [1, "a,b"]}}})");
        ASSERT_TRUE(store->create(run).ok());
    }
    const auto match = [&](const std::string& filter, const std::string& order = "name") {
        RunQuery query;
        query.filter = filter;
        query.orderBy = {order};
        const auto page = store->list(query);
        EXPECT_TRUE(page.ok()) << page.status();
        return page.ok() ? namesOf(*page) : Names{};
    };
    EXPECT_EQ(match("params.lr > 9"), Names{"ten"});
    EXPECT_EQ(match("params.lr >= 9.0"), (Names{"nine", "ten"}));
    EXPECT_EQ(match("params.lr = 0.1"), (Names{"tenth", "text"}));
    EXPECT_EQ(match("params.lr != 9"), (Names{"ten", "tenth", "text"})) << "a word is not a number";
    EXPECT_EQ(match("params.lr = '9x'"), Names{"word"});
    EXPECT_EQ(match("params.w.days LIKE '%a,b%' AND params.lr < 1"), (Names{"tenth", "text"}));
    EXPECT_EQ(match("params.batch.rows = 512 AND params.lr IS NOT NULL").size(), 5U);
    EXPECT_EQ(match("params.rows = 512"), Names{});
    EXPECT_EQ(match("params.batch.rows IS NULL"), Names{});
    const Names sorted = match("params.lr > 0 and params.lr != 0.1", "params.lr DESC");
    EXPECT_EQ(sorted, (Names{"ten", "nine"}));
    EXPECT_EQ(match("params.lr IS NOT NULL", "params.lr ASC").back(), "word");
}

TEST_F(RunStoreTest, TextsThatAreDatesHaveAnOrder) {
    for (const char* const day :
         {"2024-02-29", "2024-03-01", "2024-03-01 12:30", "2024-13-01", "20240302", "x"}) {
        RunRecord run = newRun(day);
        run.resolvedSpec = strCat(R"({"params": {"day": ")", day, R"("}})");
        const auto created = store->create(run);
        ASSERT_TRUE(created.ok());
        ASSERT_TRUE(store->setTag(created->run.id, "day", day).ok());
    }
    const auto match = [&](const std::string& filter) {
        RunQuery query;
        query.filter = filter;
        query.orderBy = {"name"};
        const auto page = store->list(query);
        EXPECT_TRUE(page.ok()) << page.status();
        return page.ok() ? namesOf(*page) : Names{};
    };
    const Names first{"2024-03-01", "2024-03-01 12:30"};
    EXPECT_EQ(match("params.day >= '2024-03-01'"), first);
    EXPECT_EQ(match("tags.day >= '2024-03-01'"), first);
    EXPECT_EQ(match("params.day <= '2024-03-01' and params.day > '2024-02-29'"), first)
        << "a day is whole";
    EXPECT_EQ(match("params.day < '2024-03-01'"), Names{"2024-02-29"});
    EXPECT_EQ(match("params.day > '2024-03-01 12:00'"), Names{"2024-03-01 12:30"});
    EXPECT_EQ(match("params.day = '2024-03-01'"), Names{"2024-03-01"});
}

TEST_F(RunStoreTest, ANameOfAFilterThatNoRunHasIsFound) {
    const std::string id = create("a");
    ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
    ASSERT_TRUE(append(id, 1, 1, 0.5).ok());
    RunRecord run = newRun("own");
    run.resolvedSpec = R"({"params": {"dropout": 0.1}})";
    ASSERT_TRUE(store->create(run).ok());
    const auto unknown = [&](const std::string& filter) {
        return *store->unknownNameIn(*search::parseFilter(filter, clock.wallMs()));
    };
    EXPECT_EQ(unknown(""), "");
    EXPECT_EQ(unknown("metrics.loss < 1 and (params.dropout = 0.1 or params.batch.rows > 1)"), "");
    EXPECT_EQ(unknown("name = 'x' or not metrics.los > 1"),
              "no run has a metric 'los'; did you mean 'loss'?");
    EXPECT_EQ(unknown("params.dropuot = 0.1"),
              "no run has a parameter 'dropuot'; did you mean 'dropout'?");
    EXPECT_EQ(unknown("params.rows = 1"),
              "no run has a parameter 'rows'; did you mean 'batch.rows'?");
    EXPECT_EQ(unknown("tags.team = 'x'"), "no run has a tag 'team'");
    ASSERT_TRUE(store->setState(id, {values::RunState::kFinished}).ok());
    ASSERT_TRUE(store->markDeleted(id).ok());
    EXPECT_EQ(unknown("metrics.loss < 1"), "") << "a deleted run has it";
}

TEST_F(RunStoreTest, OrderPutsNanBehindNumbersAndMissingValuesLastInBothDirections) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, double>>{{"two", 2}, {"nan", nan}, {"one", 1}}) {
        const std::string id = create(name);
        ASSERT_TRUE(store->beginAttempt(id, 1, 0).ok());
        ASSERT_TRUE(append(id, 1, 1, value).ok());
    }
    create("missing");
    RunQuery query;
    query.orderBy = {"metrics.loss"};
    EXPECT_EQ(namesOf(*store->list(query)), (Names{"one", "two", "nan", "missing"}));
    query.orderBy = {"metrics.loss DESC"};
    EXPECT_EQ(namesOf(*store->list(query)), (Names{"two", "one", "nan", "missing"}));
}

TEST_F(RunStoreTest, PagesAreCompleteAndKeepTheirPlaceWhenRunsAreAdded) {
    for (int i = 0; i < 10; ++i) {
        create("run-" + std::to_string(i));
        clock.advanceMs(1);
    }
    RunQuery query;
    query.pageSize = 5;
    std::set<std::string> seen;
    values::RunPage page = *store->list(query);
    EXPECT_EQ(page.total, 10);
    for (const values::RunSummary& run : page.runs) {
        seen.insert(run.name);
    }
    create("late");
    query.pageToken = page.nextPageToken;
    page = *store->list(query);
    EXPECT_EQ(page.nextPageToken, "") << "the last page, though exactly full";
    for (const values::RunSummary& run : page.runs) {
        EXPECT_TRUE(seen.insert(run.name).second) << run.name << " came twice";
    }
    EXPECT_EQ(seen.size(), 10U);
    EXPECT_EQ(seen.count("late"), 0U);
}

TEST_F(RunStoreTest, AForeignOrGarbledPageTokenIsRefused) {
    create("a");
    create("b");
    RunQuery query;
    query.pageSize = 1;
    query.pageToken = store->list(query)->nextPageToken;
    ASSERT_NE(query.pageToken, "");
    query.filter = "name = 'a'";
    EXPECT_FALSE(store->list(query).ok());
    for (const char* token : {"x", "..", "a.b.c", "a.b.99999999999"}) {
        query.pageToken = token;
        EXPECT_EQ(store->list(query).status().code(), absl::StatusCode::kInvalidArgument) << token;
    }
}

TEST_F(RunStoreTest, ChangedSinceTellsOfEveryChangedRunOnce) {
    const std::string a = create("a");
    create("b");
    RunQuery query;
    query.changedSince = *store->changeCursor();
    EXPECT_TRUE(store->list(query)->runs.empty());
    ASSERT_TRUE(store->setState(a, {values::RunState::kCancelled}).ok());
    ASSERT_TRUE(store->markDeleted(a).ok());
    const values::RunPage page = *store->list(query);
    ASSERT_EQ(namesOf(page), Names{"a"});
    EXPECT_TRUE(page.runs[0].isDeleted());
    query.changedSince = static_cast<std::int64_t>(page.revision);
    EXPECT_TRUE(store->list(query)->runs.empty());
}

// A client that was away receives all changes, page by page, even while it reads.
TEST_F(RunStoreTest, AReconnectingClientHasWhatAFreshListHas) {
    std::vector<std::string> ids;
    for (int i = 0; i < 6; ++i) {
        ids.push_back(create(strCat("run-", i)));
        ASSERT_TRUE(store->setState(ids.back(), {values::RunState::kFailed, "x", 0}).ok());
        clock.advanceMs(1);
    }
    ASSERT_TRUE(store->markDeleted(ids[5]).ok());
    std::map<std::string, values::RunSummary> known;
    const values::RunPage before = *store->list({});
    for (const values::RunSummary& run : before.runs) {
        known[run.id] = run;
    }
    ASSERT_EQ(known.size(), 5U);

    ASSERT_TRUE(store->markDeleted(ids[0]).ok());
    ASSERT_TRUE(store->markDeleted(ids[1]).ok());
    ASSERT_TRUE(store->restore(ids[1]).ok());
    ASSERT_TRUE(store->restore(ids[5]).ok());
    ASSERT_TRUE(store->setNote(ids[2], "seen").ok());
    reopen();
    RunQuery query;
    query.pageSize = 1;
    query.changedSince = static_cast<std::int64_t>(before.revision);
    std::int64_t next = -1;
    int numPages = 0;
    do {
        const values::RunPage page = *store->list(query);
        // Continue from the first page's cursor.
        next = next < 0 ? static_cast<std::int64_t>(page.revision) : next;
        for (const values::RunSummary& run : page.runs) {
            known.erase(run.id);
            if (!run.isDeleted()) {
                known[run.id] = run;
            }
        }
        if (++numPages == 2) {
            ASSERT_TRUE(store->setNote(ids[3], "while it reads").ok());
        }
        query.pageToken = page.nextPageToken;
    } while (!query.pageToken.empty());
    EXPECT_GE(numPages, 4);
    query = {};
    query.changedSince = next;
    const values::RunPage rest = *store->list(query);
    for (const values::RunSummary& run : rest.runs) {
        known[run.id] = run;
    }
    const values::RunPage fresh = *store->list({});
    ASSERT_EQ(fresh.runs.size(), known.size());
    for (const values::RunSummary& run : fresh.runs) {
        ASSERT_TRUE(known.contains(run.id)) << run.name;
        EXPECT_EQ(known[run.id].revision, run.revision) << run.name;
        EXPECT_EQ(known[run.id].note, run.note) << run.name;
    }
}

TEST_F(RunStoreTest, UnknownRunsAreNamed) {
    EXPECT_EQ(messageOf(store->get("r-zzzzz").status()), "run 'r-zzzzz': not known");
    EXPECT_FALSE(store->setNote("r-zzzzz", "x").ok());
    EXPECT_FALSE(store->beginAttempt("r-zzzzz", 1, 0).ok());
    EXPECT_FALSE(store->metrics("r-zzzzz", "loss").ok());
}

}  // namespace
}  // namespace millrace::runs
