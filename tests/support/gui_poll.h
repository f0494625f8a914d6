#pragma once
// Lets the console's timers run when there is no condition to wait for: until an animation ends
// before a picture, or for the time that a bench measures. If there is a condition, use
// QTest::qWaitFor.
//
// Threads: the GUI thread.
#include <QTest>
#include <chrono>

namespace millrace::test {

/// Turns the event loop for `time`, at least once.
inline void letTimersRun(std::chrono::milliseconds time) {
    QTest::qWait(static_cast<int>(time.count()));
}

}  // namespace millrace::test
