#include "daemon/agent/times/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Recovery, SaysWhatTookHowLongOnceAtTheFirstStep) {
    FakeClock clock;
    Recovery recovery(clock);
    recovery.placed();
    recovery.loaded();
    EXPECT_THAT(recovery.reached(1, 0), IsEmpty()) << "nothing failed before";
    engines::State gang;
    gang.phase = engines::Phase::kStopping;
    gang.workers.resize(3);
    gang.workers[1].exitCode = 137;
    gang.workers[1].endedMs = clock.wallMs();
    clock.advanceMs(200);
    gang.workers[2].exitCode = 1;
    gang.workers[2].endedMs = clock.wallMs();
    recovery.look(gang);
    clock.advanceMs(1'000);
    recovery.noticed(clock.wallMs());  // a second worker ends
    recovery.failed(112);
    clock.advanceMs(500);
    recovery.placed();
    clock.advanceMs(1'000);
    recovery.loaded();
    clock.advanceMs(500);
    EXPECT_THAT(recovery.reached(100, 100), IsEmpty());
    EXPECT_THAT(
        recovery.reached(101, 100),
        ElementsAre(
            "goes on again: noticed after 0.2 s, workers started after 1.5 s, rank 0 loaded "
            "after 2.5 s, first step after 3.0 s; steps repeated: 12"));
    EXPECT_THAT(recovery.reached(102, 100), IsEmpty());
}

TEST(Recovery, WhatWasNoticedAndWasNoFailureIsForgotten) {
    FakeClock clock;
    Recovery recovery(clock);
    recovery.noticed(0);
    clock.advanceMs(3'600'000);
    recovery.placed();  // the same attempt, started again
    recovery.noticed(clock.wallMs());
    recovery.failed(7);
    clock.advanceMs(1'000);
    EXPECT_THAT(recovery.reached(8, 7),
                ElementsAre("goes on again: noticed at once, first step after 1.0 s; steps "
                            "repeated: 0"));
}

}  // namespace
}  // namespace millrace::agent
