#pragma once
// A bridge with a fake daemon, and a record of its deliveries.
#include <QCoreApplication>
#include <QSignalSpy>
#include <QTest>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/bridge/daemon_bridge.h"
#include "tests/support/fake_daemon_client.h"

namespace millrace::gui {

class BridgeTest : public testing::Test {
 protected:
    static constexpr int kLimitMs = 20'000;

    BridgeTest() {
        QObject::connect(&*bridge, &DaemonBridge::runsChanged, &*bridge,
                         [this](const RunsDelta& delta) { take(delta); });
    }
    void take(const RunsDelta& delta) {
        deltas.push_back(delta);
        if (delta.isReset) {
            runs.clear();
        }
        for (const values::RunSummary& run : delta.changed) {
            runs[run.id] = run;
        }
        for (const std::string& id : delta.removed) {
            runs.erase(id);
        }
        isComplete = delta.isComplete;
    }
    template <class Condition>
    bool until(Condition condition, int limitMs = kLimitMs) {
        return QTest::qWaitFor(condition, limitMs);
    }
    bool connectAndWait() {
        bridge->connectTo("unix:/fake.sock");
        return until([this] { return isComplete && bridge->isSettled(); });
    }
    /// Waits until no delivery has arrived for a while.
    bool becomesQuiet() {
        return until([this] {
            const std::uint64_t before = bridge->numDeliveries();
            return !QTest::qWaitFor([&] { return bridge->numDeliveries() > before; }, 150);
        });
    }
    static values::RunSummary running(const std::string& id) {
        values::RunSummary run;
        run.id = id;
        run.name = "movielens-dlrm";
        run.state = values::RunState::kRunning;
        run.createdMs = 1'800'000'000'000;
        run.params = {{"model.type", "dlrm"}};
        return run;
    }
    static std::vector<values::RunFigure> losses(std::int64_t from, std::int64_t to,
                                                 int attempt = 1) {
        std::vector<values::RunFigure> points;
        for (std::int64_t step = from; step <= to; ++step) {
            points.push_back({"loss", 1.0 / static_cast<double>(step), step, step * 100, 0,
                              step * 256, attempt});
        }
        return points;
    }

    client::FakeDaemon daemon;
    std::vector<RunsDelta> deltas;
    std::map<std::string, values::RunSummary> runs;
    bool isComplete = false;
    std::unique_ptr<DaemonBridge> bridge = std::make_unique<DaemonBridge>(
        [this](const std::string& address) { return daemon.makeClient(address); });
};

}  // namespace millrace::gui
