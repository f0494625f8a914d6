#include "backend/system/pid_scope.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/system/boot.h"
#include "tests/support/poll.h"

namespace millrace {
namespace {

constexpr std::int64_t kOld = INT64_MAX;  // older than any boot

const PidScope kHere{"machine-a", "boot-1", 4026531836, "host-a"};

TEST(PidScope, PidsOfItsOwnNamespaceAreInReach) {
    EXPECT_EQ(reachOf(kHere, kHere, kOld), PidReach::kHere);
    PidScope renamed = kHere;  // one kernel, although machine id and name differ
    renamed.machine = "machine-b";
    renamed.host = "host-b";
    EXPECT_EQ(reachOf(renamed, kHere, kOld), PidReach::kHere);
}

TEST(PidScope, OtherContainersOfOneBootAreElsewhere) {
    PidScope container = kHere;
    container.pidNamespace = 4026532178;
    EXPECT_EQ(reachOf(container, kHere, kOld), PidReach::kElsewhere);
    container.pidNamespace = 0;
    EXPECT_EQ(reachOf(container, kHere, kOld), PidReach::kElsewhere) << "it could not be found out";
}

TEST(PidScope, AnEarlierBootOfThisMachineIsGone) {
    PidScope earlier = kHere;
    earlier.boot = "boot-0";
    EXPECT_EQ(reachOf(earlier, kHere, kOld), PidReach::kGone);
    earlier.pidNamespace = 4026532178;
    EXPECT_EQ(reachOf(earlier, kHere, kOld), PidReach::kGone)
        << "containers end with their machine, too";
}

TEST(PidScope, ARecordOfThePresentBootIsNoEarlierOnes) {
    PidScope twin = kHere;  // a pod of the same name and image
    twin.boot = "boot-0";
    EXPECT_EQ(reachOf(twin, kHere, bootTimeMs() / 2), PidReach::kElsewhere);
}

TEST(PidScope, AnotherMachineIsElsewhereWhateverItsBoot) {
    for (const PidScope& other :
         {PidScope{"machine-b", "boot-2", 4026531836, "host-b"},
          PidScope{"machine-b", "boot-2", 4026531836, "host-a"},  // two hosts of one name
          PidScope{"machine-a", "boot-2", 4026531836, "host-b"},  // a copied image
          PidScope{"machine-a", "", 4026531836, "host-a"}}) {     // no boot is proved
        EXPECT_EQ(reachOf(other, kHere, kOld), PidReach::kElsewhere) << other.machine << other.host;
    }
}

TEST(PidScope, AMachineWithoutAnIdProvesNoEarlierBoot) {
    const PidScope here{"", "boot-1", 4026531836, "host-a"};
    EXPECT_EQ(reachOf({"", "boot-0", 4026531836, "host-a"}, here, kOld), PidReach::kElsewhere);
    EXPECT_EQ(reachOf(here, here, kOld), PidReach::kHere);
}

TEST(PidScope, IsReadAsItWasWritten) {
    Json record = {{"pid", 7}};
    kHere.addTo(record);
    EXPECT_EQ(PidScope::fromJson(record), kHere);
    EXPECT_EQ(PidScope::fromJson(Json{{"boot_id", "b"}}), (PidScope{"", "b", 0, ""}));
}

TEST(PidScope, ThisProcessIsInReachOfItself) {
    const PidScope here = PidScope::ofThisProcess();
    EXPECT_FALSE(here.host.empty());
    EXPECT_NE(here.pidNamespace, 0);
    EXPECT_EQ(reachOf(here, PidScope::ofThisProcess(), 0), PidReach::kHere);
}

TEST(ProcessStartTime, IsThatOfALivingProcessOnly) {
    EXPECT_GT(processStartTime(::getpid()).value_or(0), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    EXPECT_TRUE(test::eventually([&] { return processStartTime(child).value_or(0) == -1; }))
        << "a zombie has ended";
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(processStartTime(child).value_or(0), -1);
}

}  // namespace
}  // namespace millrace
