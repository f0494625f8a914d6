#pragma once
// The page Watch with a fake daemon.
#include <QSignalSpy>
#include <QTest>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/watch/watch_charts.h"
#include "app/gui/pages/watch/watch_page.h"
#include "app/gui/widgets/live/lane_list.h"
#include "app/gui/widgets/live/log_view.h"
#include "app/gui/widgets/live/node_deck.h"
#include "tests/support/watch_scene.h"

namespace millrace::gui {

class WatchTest : public testing::Test {
 protected:
    static constexpr int kLimitMs = 20'000;

    WatchTest() {
        // The bridge asks from several threads at once, so this changes nothing of the test.
        daemon.onMetricRange =
            [this](const values::MetricRangeRequest& request) -> Result<values::MetricHistory> {
            const auto found = history.find(request.run);
            return found == history.end() ? values::MetricHistory{} : found->second;
        };
        QObject::connect(&bridge, &DaemonBridge::runsChanged, &table, [this](const RunsDelta& d) {
            table.apply(d.isReset, d.changed, d.removed);
        });
    }
    void open() {
        page = std::make_unique<WatchPage>(PageContext{bridge, table, colors, spec}, nullptr);
        QObject::connect(&*page, &Page::goTo, [this](const Destination& d) { gone.push_back(d); });
        QObject::connect(&*page, &Page::said, [this](const Notice& n) { notices.push_back(n); });
        page->resize(1'400, 900);
        page->show();
        bridge.connectTo("unix:/fake.sock");
        ASSERT_TRUE(until([this] { return bridge.isSettled(); }));
    }
    template <class Condition>
    bool until(Condition condition) {
        return QTest::qWaitFor(condition, kLimitMs);
    }
    values::RunSummary running(const std::string& id, const std::string& variation = "") {
        return client::sceneRun(id, variation, values::RunState::kRunning, nowMs() - 60'000);
    }
    PlotWidget* chart(const QString& key) const { return page->findChild<PlotWidget*>(key); }
    static std::int64_t nowMs() { return QDateTime::currentMSecsSinceEpoch(); }
    std::size_t numPoints(const std::string& run, const std::string& metric) {
        const WatchSeries* series = page->feed().series(run);
        const auto curve = series != nullptr ? series->curve(metric) : nullptr;
        return curve ? curve->size() : 0;
    }

    client::FakeDaemon daemon;
    std::map<std::string, values::MetricHistory> history;
    DaemonBridge bridge{[this](const std::string& address) { return daemon.makeClient(address); }};
    RunTable table;
    RunColors colors;
    SpecDocument spec;
    std::unique_ptr<WatchPage> page;
    std::vector<Destination> gone;
    std::vector<Notice> notices;
};

}  // namespace millrace::gui
