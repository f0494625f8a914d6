#pragma once
// Letting the console's timers run where there is nothing to wait for: an animation that ends
// before a picture is taken, the time that a bench measures. Who can name a condition takes
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
