// The role feed without a daemon: it streams a spec for the process that started it.
#include "tests/integration/loader/own_feed.h"

#include <csignal>
#include <filesystem>
#include <future>
#include <map>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "backend/feed/feed_reader.h"
#include "backend/stream/read_state.h"
#include "tests/support/poll.h"

namespace millrace {
namespace {

TEST_F(OwnFeed, ServesTrainAndEvalAndEndsWithItsRank) {
    Subprocess feed = start(feedArguments());
    FeedPtr eval = connect({.stream = "eval"});
    ASSERT_NE(eval, nullptr);
    FeedPtr train = connect();
    ASSERT_NE(train, nullptr);
    const Seen seen = read(train.get());
    EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(train.get());
    EXPECT_EQ(seen.rows, 10800U);
    EXPECT_EQ(orderHash(seen.state), streamedHash());
    train.reset();
    EXPECT_EQ(read(eval.get()).rows, 600U) << "it is read to its end";
    eval.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
}

/// One entry for each pass of the feed over the evaluation rows: the number of ranks that it
/// served.
std::vector<std::string> evaluations(const std::string& log) {
    const std::string kBegins = "feed: evaluation";
    std::vector<std::string> ranks;
    for (std::size_t at = log.find(kBegins); at != std::string::npos;
         at = log.find(kBegins, at + 1)) {
        const std::string line = log.substr(at, log.find('\n', at) - at);
        ranks.push_back(line.substr(line.find("ranks") + 6));
    }
    return ranks;
}

TEST_F(OwnFeed, EvaluatesOnceForTheRanksThatComeTogether) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    const Place one{.worldSize = 2, .stream = "eval"};
    const Place two{.rank = 1, .worldSize = 2, .stream = "eval"};
    // On a busy machine the ranks may miss each other, and the feed makes a pass for each.
    constexpr int kTries = 20;
    std::uint64_t share = 0;
    for (int i = 0; i < kTries && (i == 0 || evaluations(said()).back() != "2"); ++i) {
        FeedPtr first = connect(one);
        FeedPtr second = connect(two);
        ASSERT_TRUE(first && second);
        auto other = std::async(std::launch::async, [&second] { return read(second.get()); });
        const Seen seen = read(first.get());
        const Seen others = other.get();
        EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(first.get());
        EXPECT_EQ(seen.rows + others.rows, 600U);
        EXPECT_GT(others.rows, 0U);
        EXPECT_EQ(seen.state, others.state);
        share = seen.rows;
    }
    EXPECT_EQ(evaluations(said()).back(), "2") << said();

    // One of the ranks leaves before the end.
    FeedPtr first = connect(one);
    FeedPtr second = connect(two);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(read(second.get(), 1).result, MILLRACE_FEED_STEP);
    second.reset();
    EXPECT_EQ(read(first.get()).rows, share);
}

TEST_F(OwnFeed, EvaluatesForARankThatComesAlone) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    std::uint64_t rows = 0;
    for (const int rank : {1, 0}) {
        FeedPtr eval = connect({.rank = rank, .worldSize = 2, .stream = "eval"});
        ASSERT_NE(eval, nullptr);
        const Seen seen = read(eval.get());
        EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(eval.get());
        rows += seen.rows;
    }
    EXPECT_EQ(rows, 600U);
    EXPECT_EQ(evaluations(said()), (std::vector<std::string>{"1", "1"})) << said();
}

TEST_F(OwnFeed, EndsOnceItsRankHasHadAll) {
    Subprocess feed = start(feedArguments());
    FeedPtr train = connect();
    ASSERT_NE(train, nullptr);
    const Seen seen = read(train.get());
    EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM);
    train.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
    EXPECT_FALSE(std::filesystem::exists(socket()));
    EXPECT_TRUE(std::filesystem::exists(socketDirectory())) << "it is the caller's";
}

TEST_F(OwnFeed, TheSpecIsChangedAsForAStream) {
    Subprocess feed =
        start(feedArguments({"--variation", "half", "--set", "batch.seed=8", "--attempt", "3"}));
    std::string refused;
    EXPECT_EQ(connect({.attempt = 2}, "", &refused), nullptr);
    EXPECT_NE(refused.find("attempt 2, this feed serves attempt 3"), std::string::npos) << refused;
    FeedPtr train = connect({.attempt = 3});
    ASSERT_NE(train, nullptr);
    EXPECT_EQ(orderHash(read(train.get()).state),
              streamedHash({"--variation", "half", "--set", "batch.seed=8"}));
    train.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
}

// The whole stream fits into the ring, so it was delivered before the rank left for the first time.
TEST_F(OwnFeed, ARankMayGoAndComeBackUntilItHasHadAll) {
    Subprocess feed = start(feedArguments());
    std::string state;
    std::uint64_t rows = 0;
    for (const int steps : {1, 9, 20, 3, 50}) {
        const FeedPtr train = connect({}, state);
        ASSERT_NE(train, nullptr);
        const Seen seen = read(train.get(), steps);
        ASSERT_EQ(seen.result, MILLRACE_FEED_STEP) << millrace_feed_error(train.get());
        state = seen.state;
        rows += seen.rows;
    }
    FeedPtr train = connect({}, state);
    ASSERT_NE(train, nullptr);
    const Seen seen = read(train.get());
    EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(train.get());
    EXPECT_EQ(rows + seen.rows, 10800U);
    EXPECT_EQ(orderHash(seen.state), streamedHash());
    train.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
}

// Rank 0 has read all and is gone: the feed does not wait for it when rank 1 comes back.
TEST_F(OwnFeed, ARankThatHasHadAllIsNotMissed) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    FeedPtr first = connect({.rank = 0, .worldSize = 2});
    FeedPtr second = connect({.rank = 1, .worldSize = 2});
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    Seen part = read(second.get(), 30);
    const Seen whole = read(first.get());
    EXPECT_EQ(whole.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(first.get());
    first.reset();
    second.reset();
    second = connect({.rank = 1, .worldSize = 2}, part.state);
    ASSERT_NE(second, nullptr);
    const Seen rest = read(second.get());
    EXPECT_EQ(rest.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(second.get());
    EXPECT_EQ(rest.state, whole.state);
    EXPECT_EQ(whole.rows + part.rows + rest.rows, 10800U);
    second.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
}

// As under an all-reduce: rank 0 still has frames and asks for nothing until rank 1, which came
// back with an empty ring, has trained its step.
TEST_F(OwnFeed, ARankThatComesBackIsServedWhileTheOthersAskForNothing) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    FeedPtr first = connect({.rank = 0, .worldSize = 2});
    FeedPtr second = connect({.rank = 1, .worldSize = 2});
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    Seen mine;
    std::uint64_t rows = 0;
    for (const int steps : {3, 20, 1}) {
        const Seen theirs = read(first.get(), steps);
        mine = read(second.get(), steps);
        ASSERT_EQ(mine.result, MILLRACE_FEED_STEP) << millrace_feed_error(second.get());
        EXPECT_EQ(mine.state, theirs.state);
        rows += mine.rows + theirs.rows;
        second.reset();
        second = connect({.rank = 1, .worldSize = 2}, mine.state);
        ASSERT_NE(second, nullptr);
        mine = read(second.get(), 1);
        ASSERT_EQ(mine.result, MILLRACE_FEED_STEP) << millrace_feed_error(second.get());
        rows += mine.rows + read(first.get(), 1).rows;
    }
    auto behind = std::async(std::launch::async, [&second] { return read(second.get()); });
    const Seen rest = read(first.get());
    mine = behind.get();
    EXPECT_EQ(rest.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(first.get());
    EXPECT_EQ(rest.state, mine.state);
    EXPECT_EQ(rows + rest.rows + mine.rows, 10800U);
    EXPECT_EQ(orderHash(rest.state), streamedHash());
}

// The other ranks must reconnect too: their rings hold frames of the sequence that was abandoned.
TEST_F(OwnFeed, ARankThatComesBackHasTheOthersGoOnToo) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    FeedPtr first = connect({.rank = 0, .worldSize = 2, .join = true});
    FeedPtr second = connect({.rank = 1, .worldSize = 2});
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    Seen other;
    std::jthread behind([&] { other = read(second.get()); });
    std::uint64_t rows = 0;
    for (const int steps : {2, 25, 11}) {
        const Seen part = read(first.get(), steps);
        ASSERT_EQ(part.result, MILLRACE_FEED_STEP) << millrace_feed_error(first.get());
        rows += part.rows;
        first.reset();
        first = connect({.rank = 0, .worldSize = 2, .join = true}, part.state);
        ASSERT_NE(first, nullptr);
    }
    const Seen rest = read(first.get());
    behind.join();
    EXPECT_EQ(rest.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(first.get());
    EXPECT_EQ(other.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(second.get());
    EXPECT_EQ(rest.state, other.state);
    EXPECT_EQ(rows + rest.rows + other.rows, 10800U);
    first.reset();
    second.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
}

// As on two nodes: each feed serves its own ranks and computes the marks of all.
TEST_F(OwnFeed, TwoFeedsShareTheRanksOfOneStream) {
    const std::string other = socketDirectory() + "/other.sock";
    std::vector<std::string> arguments = feedArguments({"--world", "4", "--ranks", "3,1"});
    arguments[5] = other;
    Subprocess even = start(feedArguments({"--world", "4", "--ranks", "0,2"}));
    Subprocess odd = start(arguments);
    std::string refused;
    EXPECT_EQ(connect({.rank = 1, .worldSize = 4}, "", &refused), nullptr);
    EXPECT_NE(refused.find("rank 1 is not one of those that this feed serves"), std::string::npos)
        << refused;
    std::vector<FeedPtr> ranks;
    for (int r = 0; r < 4; ++r) {
        ranks.push_back(connectTo(r % 2 == 0 ? socket() : other, {.rank = r, .worldSize = 4}));
        ASSERT_NE(ranks.back(), nullptr);
    }
    std::uint64_t rows = 0;
    std::map<std::string, int> states;
    for (FeedPtr& rank : ranks) {
        const Seen seen = read(rank.get());
        EXPECT_EQ(seen.result, MILLRACE_FEED_END_OF_STREAM) << millrace_feed_error(rank.get());
        rows += seen.rows;
        ++states[seen.state];
        rank.reset();
    }
    EXPECT_EQ(rows, 10800U);
    ASSERT_EQ(states.size(), 1U) << "one text at the end, of all ranks";
    EXPECT_EQ(orderHash(states.begin()->first), streamedHash());
    EXPECT_EQ(*even.wait(), 0) << said();
    EXPECT_EQ(*odd.wait(), 0) << said();
}

// 84 whole steps of 64 rows per epoch, 16 rows per micro-batch.
TEST_F(OwnFeed, StepsComeJoinedAndLastOnesAreLeftOut) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    std::vector<FeedPtr> ranks;
    for (int r = 0; r < 2; ++r) {
        ranks.push_back(connect({.rank = r, .worldSize = 2, .join = true, .drops = true}));
        ASSERT_NE(ranks.back(), nullptr);
    }
    std::string refused;
    EXPECT_EQ(connect({.rank = 0, .worldSize = 2, .join = true}, "", &refused), nullptr);
    EXPECT_NE(refused.find("last=keep"), std::string::npos) << refused;
    ranks[0] = connect({.rank = 0, .worldSize = 2, .join = true, .drops = true});
    ASSERT_NE(ranks[0], nullptr);
    Seen seen[2];
    {
        std::jthread behind([&] { seen[1] = read(ranks[1].get()); });
        seen[0] = read(ranks[0].get());
    }
    for (std::size_t r = 0; r < 2; ++r) {
        EXPECT_EQ(seen[r].result, MILLRACE_FEED_END_OF_STREAM)
            << millrace_feed_error(ranks[r].get());
        EXPECT_EQ(seen[r].batches, 2U * 84) << "one a step";
        EXPECT_EQ(seen[r].rows, 2U * 84 * 32);
        ranks[r].reset();
    }
    EXPECT_EQ(seen[0].state, seen[1].state);
    const auto end = stream::readState(seen[0].state);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->rowsLeftOut, 48);
    EXPECT_EQ(end->orderHash.hex(), streamedHash({"--last", "drop"}));
    EXPECT_EQ(*feed.wait(), 0) << said();
}

TEST_F(OwnFeed, TheReaderIsToldOfStepsAndColumns) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    const FeedPtr first = connect({.rank = 0, .worldSize = 2});
    const FeedPtr second = connect({.rank = 1, .worldSize = 2});
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    millrace_feed_info info{};
    info.struct_size = sizeof info;
    millrace_feed_get_info(first.get(), &info);
    EXPECT_EQ(info.step_batches, 4U);
    EXPECT_EQ(info.micro_rows, 16U);
    std::vector<millrace_column> columns(32);
    columns[0].struct_size = sizeof columns[0];
    std::size_t count = 0;
    ASSERT_TRUE(test::eventually([&] {
        return millrace_feed_schema(first.get(), columns.data(), columns.size(), &count) == 0;
    }));
    std::string names;
    for (std::size_t c = 0; c < count; ++c) {
        names += std::string(columns[c].name, columns[c].name_bytes) + " ";
    }
    for (const char* name : {"dense ", "user ", "list ", "value ", "label "}) {
        EXPECT_NE(names.find(name), std::string::npos) << names;
    }
}

// A step's rows in one frame need more memory than rings of its micro-batches.
TEST_F(OwnFeed, StepsThatDoNotFitTheMemoryAreRefused) {
    const std::vector<std::string> large = {"--set", "batch.rows=4194304",
                                            "--set", "batch.micro_rows=8192",
                                            "--set", "resources.memory_limit_mb=400",
                                            "--set", "batch.epochs=1"};
    Subprocess feed = start(feedArguments(large));
    FeedPtr joined = connect({.join = true});
    ASSERT_NE(joined, nullptr);
    EXPECT_EQ(read(joined.get()).result, MILLRACE_FEED_FAILED);
    const std::string why = millrace_feed_error(joined.get());
    EXPECT_NE(why.find("to join the micro-batches of a step"), std::string::npos) << why;
    joined.reset();
    EXPECT_EQ(*feed.wait(), 4);
    Subprocess other = start(feedArguments(large));
    FeedPtr plain = connect();
    ASSERT_NE(plain, nullptr);
    EXPECT_EQ(read(plain.get()).result, MILLRACE_FEED_END_OF_STREAM) << "as they are they fit";
    plain.reset();
    EXPECT_EQ(*other.wait(), 0) << said();
}

TEST_F(OwnFeed, ARefusalNamesWhatJoinedStepsNeed) {
    const auto read = [&](std::int64_t limitMb) {
        Subprocess feed = start(feedArguments(
            {"--set", "batch.rows=65536", "--set", "batch.micro_rows=8192", "--set",
             "batch.epochs=1", "--set", strCat("resources.memory_limit_mb=", limitMb)}));
        FeedPtr joined = connect({.join = true});
        EXPECT_NE(joined, nullptr);
        const bool ended = OwnFeed::read(joined.get()).result == MILLRACE_FEED_END_OF_STREAM;
        std::string why = ended ? "" : millrace_feed_error(joined.get());
        joined.reset();
        EXPECT_EQ(*feed.wait(), ended ? 0 : 4) << said();
        return why;
    };
    const std::string before = " are enough, ", why = read(64);
    const std::size_t at = why.find(before);
    ASSERT_NE(at, std::string::npos) << why;
    EXPECT_NE(why.find("where Python takes the rows of a step as one batch"), std::string::npos)
        << why;
    const std::int64_t enough = std::atoll(why.c_str() + at + before.size());
    EXPECT_NE(read(enough - 1), "");
    EXPECT_EQ(read(enough), "");
}

TEST_F(OwnFeed, WhatIsWrongIsSaidInASentence) {
    const auto failure = [&](std::vector<std::string> arguments, int code, std::string_view words) {
        arguments.insert(arguments.begin(), "feed");
        const SubprocessOutput output = run(arguments);
        EXPECT_EQ(output.exitCode, code) << output.err;
        EXPECT_NE((output.err + output.out).find(words), std::string::npos) << output.err;
        EXPECT_FALSE(std::filesystem::exists(socket()));
    };
    const std::vector<std::string> usual = {"--spec", "spec.yaml", "--socket", socket()};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), usual.begin(), usual.end());
        return more;
    };
    failure({}, 2, "--spec");
    failure({"--spec", "spec.yaml"}, 2, "--socket");
    failure({"--job", "job.json", "--spec", "spec.yaml", "--socket", socket()}, 2, "--job");
    failure({"--spec", "none.yaml", "--socket", socket()}, 4, "none.yaml");
    failure(with({"--set", "batch.micro_rows=-1"}), 4, "batch.micro_rows");
    failure(with({"--variation", "hlf"}), 4, "hlf");
    failure(with({"--world", "3"}), 4,
            "--world: 3 does not divide the 4 micro-batches of a step (batch.rows 64, micro_rows "
            "16); admissible: 1, 2, 4");
    failure(with({"--world", "2", "--ranks", "2"}), 4, "--ranks: 2 is not a rank of 2");
    failure(with({"--world", "2", "--ranks", "1,1"}), 4, "--ranks: a rank appears twice");
    failure(with({"--life-fd", "77"}), 2, "--life-fd: 77");
}

TEST_F(OwnFeed, AnErrorReachesTheRanksAndStderr) {
    Subprocess feed = start(feedArguments({"--world", "2"}));
    FeedPtr first = connect({.rank = 0, .worldSize = 2});
    FeedPtr second = connect({.rank = 1, .worldSize = 2});
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    std::string refused;
    EXPECT_EQ(connect({.rank = 0, .worldSize = 1}, "", &refused), nullptr);
    EXPECT_NE(refused.find("this feed serves 2"), std::string::npos) << refused;
    EXPECT_EQ(read(first.get(), 1).result, MILLRACE_FEED_STEP);
    first.reset();
    second.reset();
    std::ofstream(directory_ / "part-2.csv", std::ios::trunc) << "user,value,label,tags\n1,2\n";
    first = connect({.rank = 0, .worldSize = 2});
    second = connect({.rank = 1, .worldSize = 2});
    for (FeedPtr* rank : {&first, &second}) {
        ASSERT_NE(*rank, nullptr);
        EXPECT_EQ(read(rank->get()).result, MILLRACE_FEED_FAILED);
        EXPECT_NE(std::string(millrace_feed_error(rank->get())).find("part-2.csv"),
                  std::string::npos)
            << millrace_feed_error(rank->get());
        rank->reset();
    }
    EXPECT_EQ(*feed.wait(), 4);
    EXPECT_NE(said().find("part-2.csv"), std::string::npos) << said();
}

TEST_F(OwnFeed, AnEvaluationThatTheSpecHasNotHarmsNobody) {
    std::string text = spec();
    text.erase(text.find("eval:"), text.find("variations:") - text.find("eval:"));
    write("spec.yaml", text);
    Subprocess feed = start(feedArguments());
    std::string refused;
    EXPECT_EQ(connect({.stream = "eval"}, "", &refused), nullptr);
    EXPECT_NE(refused.find("no eval section"), std::string::npos) << refused;
    FeedPtr train = connect();
    ASSERT_NE(train, nullptr);
    EXPECT_EQ(read(train.get()).result, MILLRACE_FEED_END_OF_STREAM);
    train.reset();
    EXPECT_EQ(*feed.wait(), 0) << said();
}

TEST_F(OwnFeed, EndsWithItsLifeLineAndLeavesNothing) {
    Subprocess feed = start(feedArguments({"--life-fd", "9"}));
    const FeedPtr train = connect();
    ASSERT_NE(train, nullptr);
    ASSERT_EQ(read(train.get(), 2).result, MILLRACE_FEED_STEP);
    closeLine(life_[1]);
    EXPECT_EQ(*feed.wait(), 0) << said();
    EXPECT_FALSE(std::filesystem::exists(socketDirectory()));
}

// The spec is a pipe without a writer: the feed never reads its end.
TEST_F(OwnFeed, EndsAlsoWhileItReadsItsSpec) {
    std::filesystem::remove(directory_ / "spec.yaml");
    ASSERT_EQ(::mkfifo((directory_ / "spec.yaml").c_str(), 0600), 0);
    Subprocess asked = start(feedArguments({"--life-fd", "9"}));
    Subprocess feed = start(feedArguments({"--life-fd", "9"}));
    // The feed has opened the pipe, so it has installed its signal handlers.
    const int spec = ::open((directory_ / "spec.yaml").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(spec, 0);
    asked.signal(SIGTERM);
    const int code = *asked.wait();
    EXPECT_TRUE(code == 3 || code == 128 + SIGTERM) << code;
    closeLine(life_[1]);
    EXPECT_EQ(*feed.wait(), 0) << said();
    EXPECT_FALSE(std::filesystem::exists(socketDirectory()));
    ::close(spec);
}

// As Python starts a feed. The owner is killed and cannot clean up.
TEST_F(OwnFeed, NothingIsLeftOfAnOwnerThatIsKilled) {
    std::string command = strCat(MILLRACE_BIN_DIR, "/millrace-exec --life-fd 8 --");
    for (const std::string& argument : feedArguments({"--life-fd", "9"})) {
        command += " " + argument;
    }
    SubprocessOptions options;
    options.argv = {"sh", "-c", command + " 7>&- & wait"};
    options.environment = {"XDG_CACHE_HOME=" + directory_.path() + "/cache"};
    options.passFds = {{life_[1], 7}, {life_[0], 8}, {life_[0], 9}};
    auto owner = Subprocess::start(options);
    ASSERT_TRUE(owner.ok()) << owner.status();
    closeLine(life_[0]);
    closeLine(life_[1]);
    const FeedPtr train = connect();
    ASSERT_NE(train, nullptr);
    ASSERT_EQ(read(train.get(), 2).result, MILLRACE_FEED_STEP);
    ASSERT_TRUE(isServed());
    owner->signal(SIGKILL);
    ASSERT_TRUE(owner->wait().ok());
    EXPECT_TRUE(
        test::eventually([&] { return !isServed() && !std::filesystem::exists(socketDirectory()); },
                         std::chrono::seconds(20)));
}

}  // namespace
}  // namespace millrace
