// The C library's link to a run's daemon, tested with the daemon's side of the rank socket; its
// checkpoint file, read with backend/checkpoint.
#include "backend/feed/link/run_link.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/core/unique_fd.h"
#include "backend/feed/feed_reader.h"
#include "backend/feed/link/line_link.h"
#include "backend/feed/link/step_page.h"
#include "backend/filesystem/files.h"
#include "backend/rank/rank_server.h"
#include "backend/system/unix_socket.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::ring {
namespace {

using ::testing::ElementsAre;

struct CloseRun {
    void operator()(millrace_run* run) const { millrace_run_close(run); }
};
using RunHandle = std::unique_ptr<millrace_run, CloseRun>;

class RunLink : public ::testing::Test {
 protected:
    void startServer() {
        rank::RankServerOptions options;
        options.socketPath = folder_ / "rank.sock";
        options.onHello = [this](rank::ConnectionId id, const rank::Sender& sender) {
            const std::lock_guard lock(mutex_);
            connection_ = id;
            sender_ = sender;
            return okStatus();
        };
        options.onLine = [this](rank::ConnectionId, const rank::Sender&,
                                const rank::RankLine& line) {
            const std::lock_guard lock(mutex_);
            numAlive_ += std::holds_alternative<rank::Alive>(line.body) ? 1 : 0;
            if (const auto* held = std::get_if<rank::Held>(&line.body)) {
                held_ = held->step;
            }
            if (line.seq > 0) {
                lines_.push_back(line);
            }
            return true;
        };
        options.onClosed = [](rank::ConnectionId, const rank::Sender&, const std::string&) {};
        auto server = rank::RankServer::start(std::move(options));
        ASSERT_TRUE(server.ok()) << server.status();
        server_ = std::move(*server);
    }
    RunHandle open(int rank = 0, std::uint64_t memory = 0) {
        const std::string socket = folder_ / "rank.sock", page = folder_ / "steps.page",
                          spill = folder_ / ("lines" + std::to_string(rank));
        const millrace_run_options options{.struct_size = sizeof options,
                                           .rank = rank,
                                           .attempt = 2,
                                           .run = "r-abcde",
                                           .socket_path = socket.c_str(),
                                           .page_path = page.c_str(),
                                           .spill_path = spill.c_str(),
                                           .memory_bytes = memory,
                                           .alive_ms = 20};
        millrace_run* run = nullptr;
        char error[256] = "";
        EXPECT_EQ(millrace_run_open(&options, &run, error, sizeof error), 0) << error;
        return RunHandle(run);
    }
    std::int64_t send(const RunHandle& run, const std::string& line = kMetrics) {
        return millrace_run_send(run.get(), line.c_str(), error_, sizeof error_);
    }
    /// Writes a checkpoint as a script does, from the file `source`, or from `content` if `source`
    /// is "".
    std::int64_t write(const RunHandle& run, const std::string& name, const std::string& content,
                       const std::string& source = "", const std::string& directory = "") {
        const std::string folder = directory.empty() ? folder_.path() : directory;
        const millrace_run_file out{.struct_size = sizeof out,
                                    .directory = folder.c_str(),
                                    .name = name.c_str(),
                                    .facts = kFacts,
                                    .data = source.empty() ? content.data() : nullptr,
                                    .bytes = content.size(),
                                    .source = source.c_str()};
        return millrace_run_checkpoint(run.get(), &out, checksum_, error_, sizeof error_);
    }
    int readCheckpoint(const std::string& path, bool isWhole = true) {
        char* header = nullptr;
        const int result = millrace_checkpoint_read(path.c_str(), isWhole ? 1 : 0, &header,
                                                    &values_, error_, sizeof error_);
        header_ = header == nullptr ? "" : header;
        millrace_free(header);
        return result;
    }
    template <class Test>
    bool sees(Test test) {
        return test::eventually([&] {
            const std::lock_guard lock(mutex_);
            return test();
        });
    }
    std::vector<std::pair<std::int64_t, std::uint64_t>> places() {
        std::vector<std::pair<std::int64_t, std::uint64_t>> all;
        for (const rank::RankLine& line : lines_) {
            all.emplace_back(line.attempt, line.seq);
        }
        return all;
    }

    static constexpr const char* kMetrics =
        R"({"type":"metrics","step":1,"epoch":0,"rows":8,"time_ms":5,"values":{"loss":0.5,"bad":"NaN"}})";
    static constexpr const char* kFacts =
        R"({"step":"40","epoch":"1","attempt":"2","state":"s \"1\"","identity":"{\"run\":\"r-abcde\",\"stream_hash\":\"h\"}"})";

    const tests::TempDir folder_;
    char error_[512] = "", checksum_[33] = "";
    std::string header_;
    std::uint64_t values_ = 0;
    std::mutex mutex_;
    rank::ConnectionId connection_ = 0;
    rank::Sender sender_;
    int numAlive_ = 0;
    std::int64_t held_ = -1;  ///< last reported value
    std::vector<rank::RankLine> lines_;
    std::unique_ptr<rank::RankServer> server_;
};

TEST_F(RunLink, LinesAreKeptUntilTheyAreStored) {
    const RunHandle run = open();
    EXPECT_EQ(send(run), 1);
    EXPECT_EQ(send(run), 2);
    EXPECT_EQ(millrace_run_wait(run.get(), 0), MILLRACE_FEED_TIMEOUT);
    startServer();
    ASSERT_TRUE(sees([&] { return lines_.size() == 2; }));
    EXPECT_THAT(places(), ElementsAre(std::pair(2, 1), std::pair(2, 2)));
    EXPECT_EQ(sender_, (rank::Sender{"r-abcde", 2, "rank", 0, ::getpid(), 20}));
    EXPECT_EQ(std::get<rank::Metrics>(lines_[1].body).values.at("loss"), 0.5);
    server_->ack(connection_, 2, 1);
    // Lines that were not stored are sent again over the next connection.
    server_->close(connection_);
    ASSERT_TRUE(sees([&] { return lines_.size() > 2; }));
    ASSERT_TRUE(sees([&] { return lines_.back().seq == 2U; }));
    server_->ack(connection_, 2, 2);
    EXPECT_EQ(millrace_run_wait(run.get(), 20'000), 0);
}

// Through memory, a file and a checkpoint: the next attempt first sends the lines that this one
// could not send.
TEST_F(RunLink, LinesOfTheAttemptBeforeComeFirstHoweverManyTheyAre) {
    const std::string name = "step-00000040.a2.safetensors";
    for (const std::int64_t lines : {3, 3'000}) {
        const std::uint64_t memory = lines > 3 ? 1'000'000 : 100;
        {
            const RunHandle before = open(0, memory);
            for (std::int64_t i = 1; i <= lines; ++i) {
                // A list of thousands does not fit into the header.
                const std::string more(lines > 3 ? 8'000 : 0, 'x');
                ASSERT_EQ(send(before, R"({"type":"error","message":"\u00fc )" + more + "\"}"), i)
                    << error_;
            }
            ASSERT_GT(write(before, name, "content"), 0) << error_;
        }
        ASSERT_EQ(readCheckpoint(folder_ / name), 0) << error_;
        EXPECT_EQ(header_.find(R"("unacked":{"dtype":"U8")") != header_.npos, lines > 3);
        const UniqueFd file(::open((folder_ / name).c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_TRUE(checkpoint::verify(file.get(), name).ok());

        const RunHandle run = open(0, memory);
        ASSERT_EQ(millrace_run_preload(run.get(), (folder_ / name).c_str(), error_, sizeof error_),
                  0)
            << error_;
        EXPECT_EQ(send(run), lines + 1) << "as the attempt's own, which goes on counting";
        startServer();
        ASSERT_TRUE(sees([&] {
            if (!lines_.empty()) {
                server_->ack(connection_, 2, lines_.back().seq);
            }
            return std::ssize(lines_) == lines + 1;
        }));
        for (std::int64_t i = 0; i <= lines; ++i) {
            ASSERT_EQ(lines_[static_cast<std::size_t>(i)].seq, static_cast<std::uint64_t>(i + 1));
        }
        server_.reset();
        lines_.clear();
    }
    EXPECT_EQ(millrace_run_preload(open().get(), "/nonexistent/a", error_, sizeof error_),
              MILLRACE_FEED_FAILED);
}

TEST_F(RunLink, TheProcessIsSaidToLiveWhateverItsThreadsDo) {
    startServer();
    const RunHandle run = open();
    EXPECT_TRUE(sees([&] { return numAlive_ > 5; }));
}

// An agent's tunnel behaves like this while the head is away.
TEST(LineLink, ADaemonThatTakesConnectionsAndSaysNothingIsTriedLessAndLessOften) {
    tests::TempDir folder;
    LineLinkOptions options;
    options.socketPath = folder / "rank.sock";
    options.run = "r-abcde";
    options.backoffFirstMs = 1;
    const UniqueFd listener = std::move(listenUnix(options.socketPath, 8).value());
    LineLink link(std::move(options));
    ASSERT_TRUE(link.start());
    constexpr int kConnects = 12;
    const std::int64_t begin = steadyNs();
    for (int i = 0; i < kConnects; ++i) {
        const UniqueFd socket(::accept(listener.get(), nullptr, nullptr));
        ASSERT_TRUE(socket.isOpen());
    }
    // At least half of 1 + 2 + 4 + ... ms; with a back-off that each connection resets it would be
    // 12 ms.
    EXPECT_GE(steadyNs() - begin, ((1 << (kConnects - 1)) - 1) * 1'000'000LL / 2 - 20'000'000);
}

TEST_F(RunLink, WhatDoesNotFitIsRefused) {
    const RunHandle run = open(0, 200);
    EXPECT_EQ(send(run), 1);
    std::filesystem::create_directory(folder_ / "lines0");
    EXPECT_EQ(send(run), MILLRACE_FEED_FAILED) << "a directory has the name of its file";
    EXPECT_THAT(std::string(error_), ::testing::HasSubstr("lines0: Is a directory"));
    EXPECT_EQ(send(run, "no object"), MILLRACE_FEED_INVALID);
    const std::string large = "{" + std::string(std::size_t{1} << 20, ' ') + "}";
    EXPECT_EQ(send(run, large), MILLRACE_FEED_INVALID);
}

TEST_F(RunLink, AStopEndsAllRanksBehindTheFurthestStepThatOneHasBegun) {
    startServer();
    const RunHandle first = open(0), second = open(1);
    EXPECT_EQ(millrace_run_begin(first.get(), 11), 0);
    EXPECT_EQ(millrace_run_begin(first.get(), 12), 0);
    EXPECT_EQ(millrace_run_begin(second.get(), 11), 0);
    ASSERT_TRUE(sees([&] { return connection_ != 0; }));
    server_->stop(connection_, {});
    ASSERT_TRUE(test::eventually([&] { return millrace_run_is_over(first.get(), 13) == 1; }));
    EXPECT_EQ(millrace_run_begin(first.get(), 13), MILLRACE_FEED_ABORTED);
    EXPECT_EQ(millrace_run_is_over(second.get(), 12), 0) << "another one has begun it";
    EXPECT_EQ(millrace_run_begin(second.get(), 12), 0);
    EXPECT_EQ(millrace_run_begin(second.get(), 13), MILLRACE_FEED_ABORTED);
}

// Ranks run at their own pace while stops and requests arrive: no rank begins a step that another
// does not end with.
TEST_F(RunLink, WhichStepEachRankHasEndedIsToldWithItsLinesAndOutlivesIt) {
    const std::string page = folder_ / "steps.page";
    startServer();
    {
        const RunHandle first = open(0), second = open(1);
        ASSERT_GT(send(first), 0);
        ASSERT_TRUE(sees([&] { return lines_.size() == 1; }));
        EXPECT_EQ(lines_.back().ended, 0) << "it has ended none";
        for (int step = 1; step <= 6; ++step) {
            ASSERT_EQ(millrace_run_begin(first.get(), step), 0);
        }
        ASSERT_EQ(millrace_run_begin(second.get(), 1), 0);
        EXPECT_EQ(StepPage::endedByAll(page, 2), 0);
        ASSERT_EQ(millrace_run_begin(second.get(), 2), 0);
        ASSERT_GT(send(first), 0);
        ASSERT_TRUE(sees([&] {
            return std::any_of(lines_.begin(), lines_.end(),
                               [](const rank::RankLine& line) { return line.ended == 5; });
        }));
        // A rank that waits for a step's data has ended the step before.
        EXPECT_EQ(millrace_run_is_over(second.get(), 5), 0);
    }
    EXPECT_EQ(StepPage::endedByAll(page, 2), 4);
    EXPECT_EQ(StepPage::endedByAll(page, 3), 0) << "the third never came";
    EXPECT_EQ(StepPage::endedByAll(page + ".none", 2), 0);
}

TEST_F(RunLink, RanksInThreadsAgree) {
    for (int round = 0; round < 200; ++round) {
        const std::string path = folder_ / ("page" + std::to_string(round));
        constexpr int kRanks = 4;
        std::vector<std::int64_t> last(kRanks);
        std::vector<StepPage> pages(kRanks + 1);
        std::string error;
        for (StepPage& page : pages) {
            ASSERT_TRUE(page.open(path, error)) << error;
        }
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < kRanks; ++rank) {
            threads.emplace_back([&, rank] {
                for (std::int64_t step = 1;
                     pages[rank].begin(static_cast<std::uint64_t>(step)) == StepPage::Answer::kGo;
                     ++step) {
                    last[rank] = step;
                }
            });
        }
        std::this_thread::yield();
        pages[kRanks].stop();
        threads.clear();
        EXPECT_THAT(last, ::testing::Each(last[0])) << round;
    }
}

TEST_F(RunLink, CheckpointsThatNobodyAnswersForBecomeRareInAllRanksAtTheSameSteps) {
    constexpr std::int64_t kEvery = 5, kSteps = 20'000;
    const RunHandle first = open(0), second = open(1);
    EXPECT_EQ(millrace_run_acked(first.get()), 0);
    std::vector<std::int64_t> due, seconds;
    for (std::int64_t step = kEvery; step <= kSteps; step += kEvery) {
        const auto waiting = static_cast<std::int64_t>(due.size()) - 4;
        // Sometimes one rank reaches a step first, sometimes the other; requests of rank 1 for
        // checkpoints do not count.
        const bool isSecondFirst = step % 3 == 0;
        if (isSecondFirst && millrace_run_checkpoint_due(second.get(), step, kEvery, 9) == 1) {
            seconds.push_back(step);
        }
        if (millrace_run_checkpoint_due(first.get(), step, kEvery, waiting) == 1) {
            due.push_back(step);
        }
        if (!isSecondFirst && millrace_run_checkpoint_due(second.get(), step, kEvery, 9) == 1) {
            seconds.push_back(step);
        }
    }
    EXPECT_THAT(std::vector(due.begin(), due.begin() + 4), ElementsAre(5, 10, 15, 20));
    EXPECT_LT(due.size(), 20) << "of 4,000";
    EXPECT_GT(due.back(), kSteps / 4) << "at most half of the way is lost, or what one lag adds";
    EXPECT_EQ(due, seconds);
    EXPECT_EQ(millrace_run_checkpoint_due(first.get(), kSteps + kEvery, kEvery, 0), 1)
        << "the daemon has stored them";
    EXPECT_EQ(millrace_run_checkpoint_due(first.get(), 7, kEvery, 0), 0);
}

TEST_F(RunLink, HeldRanksWaitUntilTheLastStepOfAllMachinesIsNamed) {
    startServer();
    const RunHandle first = open(0), second = open(1);
    for (std::int64_t step = 1; step <= 12; ++step) {
        EXPECT_EQ(millrace_run_begin(first.get(), step), 0);
    }
    ASSERT_TRUE(sees([&] { return connection_ != 0; }));
    using Kind = rank::Stop::Kind;
    server_->stop(connection_, {Kind::kHold});
    ASSERT_TRUE(sees([&] { return held_ == 12; }));
    EXPECT_EQ(millrace_run_begin(first.get(), 13), MILLRACE_FEED_TIMEOUT);
    EXPECT_EQ(millrace_run_is_over(first.get(), 13), 0) << "nobody has said so yet";
    EXPECT_EQ(millrace_run_begin(second.get(), 12), 0) << "the furthest one here";
    std::jthread waiting([&] {
        int code = MILLRACE_FEED_TIMEOUT;
        while (code == MILLRACE_FEED_TIMEOUT) {
            code = millrace_run_begin(first.get(), 13);
        }
        EXPECT_EQ(code, 0);
    });
    server_->stop(connection_, {Kind::kBehind, 14});
    waiting.join();
    EXPECT_EQ(millrace_run_begin(first.get(), 14), 0);
    EXPECT_EQ(millrace_run_begin(first.get(), 15), MILLRACE_FEED_ABORTED);
    EXPECT_EQ(millrace_run_is_over(second.get(), 15), 1);
    // Asked again, for example by another daemon, the ranks report the agreed step.
    server_->stop(connection_, {Kind::kHold});
    ASSERT_TRUE(sees([&] { return held_ == 14; }));
    EXPECT_EQ(millrace_run_begin(second.get(), 14), 0);
}

// Like RanksInThreadsAgree, on two machines.
TEST_F(RunLink, RanksOfTwoMachinesAgree) {
    for (int round = 0; round < 200; ++round) {
        constexpr int kMachines = 2, kRanks = 4;
        std::vector<std::int64_t> last(kRanks);
        std::vector<StepPage> pages(kRanks), daemons(kMachines);
        std::string error;
        const auto pathOf = [&](int machine) {
            return folder_ / ("page" + std::to_string(round) + "-" + std::to_string(machine));
        };
        for (int i = 0; i < kRanks; ++i) {
            ASSERT_TRUE(pages[i].open(pathOf(i % kMachines), error)) << error;
        }
        for (int i = 0; i < kMachines; ++i) {
            ASSERT_TRUE(daemons[i].open(pathOf(i), error)) << error;
        }
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < kRanks; ++rank) {
            threads.emplace_back([&, rank] {
                StepPage::Answer answer = StepPage::Answer::kGo;
                for (std::uint64_t step = 1; answer != StepPage::Answer::kOver;) {
                    answer = pages[rank].beginWithin(step, 1'000'000);
                    if (answer == StepPage::Answer::kGo) {
                        last[rank] = static_cast<std::int64_t>(step++);
                    }
                }
            });
        }
        std::this_thread::yield();
        std::uint64_t furthest = 0;
        for (StepPage& daemon : daemons) {
            furthest = std::max(furthest, daemon.hold());
        }
        for (StepPage& daemon : daemons) {
            daemon.stopBehind(furthest);
        }
        threads.clear();
        EXPECT_THAT(last, ::testing::Each(static_cast<std::int64_t>(furthest))) << round;
    }
}

TEST_F(RunLink, ItsCheckpointIsOneOfOurs) {
    const RunHandle run = open();
    const std::string name = "step-00000040.a2.safetensors", content(100'000, 'x');
    const std::int64_t bytes = write(run, name, content);
    ASSERT_GT(bytes, 100'000) << error_;
    const std::string hash = checksum_;
    const UniqueFd file(::open((folder_ / name).c_str(), O_RDONLY | O_CLOEXEC));
    const auto facts = checkpoint::verify(file.get(), name);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->step, 40);
    EXPECT_EQ(facts->run, "r-abcde");
    EXPECT_EQ(facts->state, "s \"1\"");
    EXPECT_EQ(facts->bytes, bytes);
    EXPECT_EQ(facts->hash, hash);
    const auto read = checkpoint::readContent(*checkpoint::FileBytes::ofFile(file.get(), name));
    ASSERT_EQ(read->tensors.size(), 1U);
    EXPECT_EQ(read->tensors[0].name, "content");
    EXPECT_EQ(read->tensors[0].bytes, content.size());
    EXPECT_EQ(read->meta["unacked"], Json::array());
    ASSERT_EQ(readCheckpoint(folder_ / name), 0) << error_;
    EXPECT_EQ(values_, read->tensors[0].begin);
    EXPECT_EQ(readFile(folder_ / name)->substr(values_), content);
    // A file as source gives the same; an empty content is valid too.
    ASSERT_TRUE(writeFileAtomic(folder_ / "content", content, 0600).ok());
    EXPECT_EQ(write(run, "step-00000041.a2.safetensors", "", folder_ / "content"), bytes);
    EXPECT_EQ(checksum_, hash);
    ASSERT_GT(write(run, name, ""), 0) << error_;
    ASSERT_EQ(readCheckpoint(folder_ / name), 0) << error_;
    EXPECT_EQ(values_, readFile(folder_ / name)->size());
}

TEST_F(RunLink, ACheckpointThatCannotBeWrittenSaysWhy) {
    const RunHandle run = open();
    EXPECT_EQ(write(run, "a", "", "/nonexistent/content"), MILLRACE_FEED_FAILED);
    EXPECT_THAT(std::string(error_), ::testing::HasSubstr("/nonexistent/content"));
    EXPECT_EQ(write(run, "a", "x", "", "/nonexistent"), MILLRACE_FEED_FAILED);
    EXPECT_THAT(std::string(error_), ::testing::HasSubstr("/nonexistent/a"));
    for (const char* facts : {"", "[]", R"({"step":40})", R"({"checksum":"x"})", R"({"a":"b"}x)"}) {
        const millrace_run_file out{.struct_size = sizeof out,
                                    .directory = folder_.path().c_str(),
                                    .name = "a",
                                    .facts = facts,
                                    .data = "x",
                                    .bytes = 1,
                                    .source = nullptr};
        EXPECT_EQ(millrace_run_checkpoint(run.get(), &out, checksum_, error_, sizeof error_),
                  MILLRACE_FEED_FAILED)
            << facts;
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

TEST_F(RunLink, DamageToACheckpointIsSeenAsTheTrainersReaderSeesIt) {
    const std::vector<float> weights(1000, 0.5F);
    const std::vector<std::int64_t> ids(33, 7);
    const std::string path = folder_ / "step-00000040.a2.safetensors";
    const auto written = checkpoint::writeCheckpointFile(
        path, {{"step", 40}, {"state", "s"}, {"name", "f\u00fcr \"alle\""}},
        {{"w", checkpoint::DType::kFloat32, {100, 10}, true, weights.data(), 4000},
         {"none", checkpoint::DType::kFloat32, {0, 10}, true, weights.data(), 0},
         {"ids", checkpoint::DType::kInt64, {33}, false, ids.data(), 264}});
    ASSERT_TRUE(written.ok()) << written.status();
    ASSERT_EQ(readCheckpoint(path), 0) << error_;

    const std::string whole = *readFile(path, 1 << 20);
    std::mt19937_64 random(37);
    for (int round = 0; round < 300; ++round) {
        std::string damaged = whole;
        switch (round % 3) {
            case 0:
                damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
                break;
            case 1:
                damaged.resize(random() % damaged.size());
                break;
            default:
                damaged.insert(random() % damaged.size(), 1 + random() % 9, 'x');
        }
        std::ofstream(path, std::ios::binary) << damaged;
        const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_FALSE(checkpoint::verify(file.get(), path).ok()) << round;
        ASSERT_LT(readCheckpoint(path), 0) << round;
        EXPECT_THAT(std::string(error_), ::testing::StartsWith("checkpoint " + path));
    }
    std::string later = whole;
    later.replace(later.find("checkpoint-2"), 12, "checkpoint-3");
    ASSERT_TRUE(writeFileAtomic(path, later, 0600).ok());
    EXPECT_EQ(readCheckpoint(path), MILLRACE_FEED_INVALID);
    EXPECT_THAT(std::string(error_), ::testing::HasSubstr("format version 3"));
    EXPECT_EQ(readCheckpoint("/nonexistent/a"), MILLRACE_FEED_FAILED);
    EXPECT_EQ(readCheckpoint(folder_.path()), MILLRACE_FEED_CORRUPT);
    // A caller that has read the file before reads only its header.
    std::string changed = whole;
    changed.back() ^= 1;
    ASSERT_TRUE(writeFileAtomic(path, changed, 0600).ok());
    EXPECT_EQ(readCheckpoint(path), MILLRACE_FEED_CORRUPT);
    EXPECT_EQ(readCheckpoint(path, false), 0) << error_;
}

}  // namespace
}  // namespace millrace::ring
