#pragma once
// The page Runs with a fake daemon.
#include <QApplication>
#include <QClipboard>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_diff.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/filter_bar.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/runs/runs_view.h"
#include "tests/support/runs_scene.h"

namespace millrace::gui {

class RunsTest : public testing::Test {
 protected:
    static constexpr int kLimitMs = 20'000;

    RunsTest() {
        daemon.onMetricRange =
            [this](const values::MetricRangeRequest& request) -> Result<values::MetricHistory> {
            return client::sceneAnswer(request, stored);
        };
        daemon.onParseFilter = [](const std::string&) -> Result<values::FilterCheck> {
            return values::FilterCheck{true, "", 0};
        };
        QObject::connect(&bridge, &DaemonBridge::runsChanged, &table, [this](const RunsDelta& d) {
            table.apply(d.isReset, d.changed, d.removed);
        });
    }
    /// Gives the daemon runs with ids r-00000, r-00001, ...; the first of five is the base of the
    /// others.
    void store(int numRuns, std::int64_t nowMs) {
        stored = client::sceneRuns(numRuns, nowMs);
        for (const values::RunDetail& run : stored) {
            daemon.putDetail(run);
        }
    }
    /// Gives the table these runs, without a page.
    void load(int numRuns) {
        store(numRuns, 1'800'000'000'000);
        bridge.connectTo("unix:/fake.sock");
        ASSERT_TRUE(until([&] { return bridge.isSettled() && table.numRuns() == numRuns; }));
    }
    void open(int numRuns) {
        store(numRuns, QDateTime::currentMSecsSinceEpoch());
        makePage();
        bridge.connectTo("unix:/fake.sock");
        ASSERT_TRUE(until([this] { return bridge.isSettled() && page->isSettled(); }));
    }
    void makePage() {
        page = std::make_unique<RunsPage>(PageContext{bridge, table, colors, spec}, nullptr);
        QObject::connect(&*page, &Page::goTo, [this](const Destination& d) { gone.push_back(d); });
        QObject::connect(&*page, &Page::said, [this](const Notice& n) { notices.push_back(n); });
        page->resize(1'400, 900);
        page->show();
        page->activateWindow();
    }
    template <class Condition>
    bool until(Condition condition) {
        return QTest::qWaitFor(condition, kLimitMs);
    }
    bool settle() {
        return until([this] { return page->isSettled(); });
    }
    /// Selects a run and waits for its details.
    bool choose(const std::string& id) {
        page->view().select({id});
        return until([this, id] {
            return page->details().runId() == id && page->details().detail() != nullptr;
        });
    }
    std::vector<std::string> shown() {
        std::vector<std::string> ids;
        for (int row = 0; row < page->rows().rowCount(); ++row) {
            ids.push_back(page->rows().idAt(row));
        }
        return ids;
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QTest::keyClick(&page->view().rowsView(), key, modifiers);
    }
    static QString clipboard() { return QGuiApplication::clipboard()->text(); }

    std::vector<values::RunDetail> stored;
    client::FakeDaemon daemon;
    DaemonBridge bridge{[this](const std::string& address) { return daemon.makeClient(address); }};
    RunTable table;
    RunColors colors;
    SpecDocument spec;
    std::unique_ptr<RunsPage> page;
    std::vector<Destination> gone;
    std::vector<Notice> notices;
};

}  // namespace millrace::gui
