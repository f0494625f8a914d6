#include "daemon/config/state_lock.h"

#include <cstdlib>
#include <ctime>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/system/boot.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::config {
namespace {

using ::testing::HasSubstr;

const PidScope kHere{"machine-a", "boot-1", 1, "host-a"};
const PidScope kRebooted{"machine-a", "boot-0", 1, "host-a"};
const PidScope kContainer{"machine-a", "boot-1", 2, "host-a"};
const PidScope kMachine{"machine-b", "boot-2", 1, "host-b"};

class StateLockTest : public ::testing::Test {
    tests::TempDir place_;

 protected:
    StateLockTerms terms(bool takesOver = false) {
        StateLockTerms terms;
        terms.what = "the state directory /s";
        terms.here = kHere;
        terms.takesOver = takesOver;
        terms.pause = [this](std::chrono::milliseconds) {
            ++numPauses_;
            if (meanwhile_) {
                meanwhile_();
            }
        };
        return terms;
    }
    Result<StateLock> take(bool takesOver = false) {
        return StateLock::take(path_, terms(takesOver));
    }
    /// Writes a holder into the file without a flock on this machine.
    void hold(const LockHolder& holder, int ageS = 0) {
        const UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT, 0600));
        ASSERT_TRUE(holder.write(fd.get(), path_).ok());
        const timespec then{::time(nullptr) - ageS, 0};
        const timespec times[2] = {then, then};
        ASSERT_EQ(::futimens(fd.get(), times), 0);
    }
    std::optional<LockHolder> holder() const {
        const UniqueFd fd(::open(path_.c_str(), O_RDONLY));
        return LockHolder::read(fd.get());
    }
    static std::string sentence(const Result<StateLock>& lock) {
        EXPECT_TRUE(absl::IsAlreadyExists(lock.status())) << lock.status();
        return std::string(messageOf(lock.status()));
    }

    const std::string path_ = place_ / "millraced.lock";
    std::function<void()> meanwhile_;
    int numPauses_ = 0;
};

TEST_F(StateLockTest, ADaemonElsewhereIsHonouredForElevenMinutes) {
    for (const PidScope& other : {kContainer, kMachine}) {
        hold({other, 17, 5, 9}, 60);
        const std::string text = sentence(take());
        EXPECT_THAT(text, HasSubstr("the state directory /s: millraced serves it, process 17 on " +
                                    other.host));
        EXPECT_THAT(text, HasSubstr("start again in 10 m 0"));
        EXPECT_THAT(text, HasSubstr("--take-over"));
        EXPECT_EQ(holder()->pid, 17) << "the file stays its holder's";
        EXPECT_EQ(numPauses_, 0);
    }
}

TEST_F(StateLockTest, ADaemonElsewhereThatWasSilentForLongerIsReplaced) {
    hold({kMachine, 17, 5, 9}, 11 * 60 + 5);
    const Result<StateLock> lock = take();
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(numPauses_, 1) << "it was looked at";
    EXPECT_THAT(lock->takenFrom(), HasSubstr("process 17 on host-b, silent for 66"));
    EXPECT_EQ(holder()->pid, ::getpid());
}

TEST_F(StateLockTest, OneThatRenewsTheFileLivesWhateverItsAge) {
    hold({kMachine, 17, 5, 9}, 24 * 3600);
    meanwhile_ = [this] { hold({kMachine, 17, 5, 10}, 24 * 3600); };
    EXPECT_THAT(sentence(take()), HasSubstr("process 17 on host-b"));
    EXPECT_EQ(holder()->beat, 10);
}

TEST_F(StateLockTest, OneThatEndsInOrderMeanwhileIsReplaced) {
    hold({kMachine, 17, 5, 9}, 24 * 3600);
    meanwhile_ = [this] {
        const UniqueFd fd(::open(path_.c_str(), O_RDWR));
        ASSERT_TRUE(LockHolder::clear(fd.get(), path_).ok());
    };
    EXPECT_TRUE(take().ok());
}

TEST_F(StateLockTest, AFileOfTheFutureIsYoung) {
    hold({kMachine, 17, 5, 9}, -24 * 3600);
    EXPECT_THAT(sentence(take()), HasSubstr("its last sign of life is 0 s old"));
}

TEST_F(StateLockTest, TakingOverWaitsUntilTheOtherOneHasHadTimeToSeeIt) {
    hold({kMachine, 17, 5, 9});
    meanwhile_ = [this] { EXPECT_EQ(holder()->pid, ::getpid()) << "told before the wait"; };
    const Result<StateLock> lock = take(true);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(numPauses_, 1);
    EXPECT_THAT(lock->takenFrom(), HasSubstr("process 17"));
}

TEST_F(StateLockTest, OfTwoThatTakeOverAtOnceOneServes) {
    hold({kMachine, 17, 5, 9});
    meanwhile_ = [this] { hold({kContainer, 18, 5, 0}); };
    EXPECT_THAT(sentence(take(true)), HasSubstr("was taken over by process 18"));
    EXPECT_EQ(holder()->pid, 18);
}

TEST_F(StateLockTest, AnEarlierBootIsOver) {
    hold({kRebooted, 17, 5, 9}, static_cast<int>(bootTimeMs() / 1000) + 5);
    const Result<StateLock> lock = take();
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(lock->takenFrom(), "");
    EXPECT_EQ(numPauses_, 0);
}

TEST_F(StateLockTest, ATwinOfThisMachineWithLaterSignsOfLifeIsHonoured) {
    hold({kRebooted, 17, 5, 9}, 2);
    EXPECT_THAT(sentence(take()), HasSubstr("process 17 on host-a"));
    EXPECT_EQ(holder()->pid, 17);
}

TEST_F(StateLockTest, AProcessOfThisMachineIsLookedUp) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        ::close(pipe[1]);
        ::_exit(static_cast<int>(::read(pipe[0], &byte, 1)));
    }
    const std::int64_t started = processStartTime(child).value_or(0);
    hold({kHere, child, started, 9}, 24 * 3600);
    EXPECT_THAT(sentence(take(true)), HasSubstr(strCat("(process ", child, " on host-a)")))
        << "its flock does not reach over, but it lives";
    hold({kHere, child, started + 1, 9});
    EXPECT_TRUE(take().ok()) << "another process has its pid";
    ::close(pipe[1]);
    ::waitpid(child, nullptr, 0);
    hold({kHere, child, started, 9});
    EXPECT_TRUE(take().ok());
    ::close(pipe[0]);
}

TEST_F(StateLockTest, AnOrderlyEndFreesTheFileForEverybody) {
    {
        const Result<StateLock> lock = take();
        ASSERT_TRUE(lock.ok());
        EXPECT_TRUE(holder().has_value());
    }
    EXPECT_FALSE(holder().has_value());
    StateLockTerms there = terms();
    there.here = kMachine;
    const Result<StateLock> next = StateLock::take(path_, there);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(next->takenFrom(), "");
}

TEST_F(StateLockTest, EachBeatIsSeenAlsoInAFileThatWasReplaced) {
    Result<StateLock> lock = take();
    ASSERT_TRUE(lock.ok());
    ASSERT_TRUE(lock->beat().ok());
    ASSERT_TRUE(lock->beat().ok());
    EXPECT_EQ(holder()->beat, 2);
    ASSERT_EQ(::unlink(path_.c_str()), 0);
    ASSERT_TRUE(lock->beat().ok());
    EXPECT_EQ(holder()->beat, 3);
}

TEST_F(StateLockTest, TheHeartbeatEndsWithTheLoss) {
    Result<StateLock> lock = take();
    ASSERT_TRUE(lock.ok());
    int numLost = 0;  // read when the thread has ended
    std::string why;
    {
        const Heartbeat heartbeat(*lock, std::chrono::milliseconds(1), [&](const Status& status) {
            ++numLost;
            why = messageOf(status);
            ::mkdir((path_ + ".told").c_str(), 0700);
        });
        ASSERT_TRUE(test::eventually([&] { return holder().value_or(LockHolder{}).beat > 2; }));
        hold({kMachine, 17, 5, 0});
        ASSERT_TRUE(
            test::eventually([&] { return ::access((path_ + ".told").c_str(), F_OK) == 0; }));
    }
    EXPECT_EQ(numLost, 1);
    EXPECT_THAT(why, HasSubstr("was taken over by process 17 on host-b"));
    EXPECT_EQ(holder()->pid, 17) << "nothing is written any more";
}

TEST_F(StateLockTest, AFileThatCannotBeWrittenEndsNothing) {
    Result<StateLock> lock = take();
    ASSERT_TRUE(lock.ok());
    ASSERT_EQ(::unlink(path_.c_str()), 0);
    ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
    const Status status = lock->beat();
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::IsAlreadyExists(status)) << status;
    ASSERT_EQ(::rmdir(path_.c_str()), 0);
    EXPECT_TRUE(lock->beat().ok());
}

}  // namespace
}  // namespace millrace::config
