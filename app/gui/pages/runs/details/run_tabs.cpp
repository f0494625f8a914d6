#include "app/gui/pages/runs/details/run_tabs.h"

#include <QTabBar>
#include <algorithm>
#include <iterator>
#include <utility>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_facts.h"
#include "app/gui/pages/runs/details/checkpoint_section.h"
#include "app/gui/pages/runs/details/log_section.h"
#include "app/gui/pages/runs/details/metrics_section.h"
#include "app/gui/pages/runs/details/note_section.h"
#include "app/gui/pages/runs/details/overview_section.h"
#include "app/gui/pages/runs/details/receipt_section.h"
#include "app/gui/pages/runs/details/spec_section.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/fact_view.h"

namespace millrace::gui {

using values::RunDetail;

RunTabs::RunTabs(DaemonBridge& daemon, const RunColors& colors, QWidget* parent)
    : QTabWidget(parent) {
    setDocumentMode(true);
    tabBar()->setUsesScrollButtons(true);
    tabBar()->setExpanding(false);
    addCurves(daemon, colors);
    addFacts();
    addRest(daemon);
}

void RunTabs::add(QWidget& section, const QString& title, Section duties) {
    addTab(&section, title);
    sections_.push_back(std::move(duties));
}

void RunTabs::addCurves(DaemonBridge& daemon, const RunColors& colors) {
    overview_ = new OverviewSection(daemon, colors, this);
    metrics_ = new MetricsSection(daemon, colors, this);
    add(*overview_, tr("Overview"),
        {{}, [this](const RunDetail& detail) { overview_->showDetail(detail); }});
    add(*metrics_, tr("Metrics"), {});
    connect(&overview_->board(), &ChartBoard::copied, this, &RunTabs::said);
    connect(&metrics_->board(), &ChartBoard::copied, this, &RunTabs::said);
}

void RunTabs::addFacts() {
    spec_ = new SpecSection(this);
    receipt_ = new ReceiptSection(this);
    auto* environment = new FactView(tr("Environment"), this);
    add(*spec_, tr("Spec"),
        {[this](const std::string&) { spec_->clear(); },
         [this](const RunDetail& detail) { spec_->showDetail(detail); }});
    add(*receipt_, tr("Receipt"),
        {[this](const std::string&) { receipt_->clear(); },
         [this](const RunDetail& detail) { receipt_->showDetail(detail); }});
    add(*environment, tr("Environment"),
        {[environment](const std::string&) { environment->facts().setFacts({}); },
         [environment](const RunDetail& detail) {
             std::vector<RunFact> facts = trafficFacts(detail);
             std::ranges::move(environmentFacts(detail), std::back_inserter(facts));
             environment->facts().setFacts(std::move(facts));
         }});
}

void RunTabs::addRest(DaemonBridge& daemon) {
    log_ = new LogSection(daemon, this);
    checkpoints_ = new CheckpointSection(this);
    note_ = new NoteSection(daemon, this);
    add(*log_, tr("Log"), {[this](const std::string& id) { log_->setRun(id); }, {}});
    add(*checkpoints_, tr("Checkpoints"),
        {[this](const std::string&) { checkpoints_->clear(); },
         [this](const RunDetail& detail) { checkpoints_->showDetail(detail); }});
    add(*note_, tr("Note"), {});
    connect(log_, &LogSection::copied, this, &RunTabs::said);
    connect(checkpoints_, &CheckpointSection::resumeAsked, this, &RunTabs::resumeAsked);
    connect(checkpoints_, &CheckpointSection::copyAsked, this, &RunTabs::copyResumeAsked);
}

void RunTabs::setRun(const std::string& id) {
    for (const Section& section : sections_) {
        if (section.setRun) {
            section.setRun(id);
        }
    }
}

void RunTabs::showDetail(const RunDetail& detail) {
    for (const Section& section : sections_) {
        if (section.showDetail) {
            section.showDetail(detail);
        }
    }
}

void RunTabs::showRun(const values::RunSummary& run, const values::RunSummary* base,
                      const RunDetail* detail, std::int64_t nowMs) {
    if (tab() == Tab::kOverview) {
        overview_->showRun(run, base, nowMs);
    } else if (tab() == Tab::kMetrics) {
        metrics_->showRun(run,
                          detail != nullptr ? detail->metricNames : std::vector<std::string>());
    }
}

void RunTabs::forget() {
    log_->setRun("");
    overview_->clear();
    metrics_->clear();
}

bool RunTabs::isSettled() const {
    return overview_->board().isSettled() && metrics_->isSettled();
}

int RunTabs::tabsWidth() const {
    return tabBar()->sizeHint().width() + 2;
}

void RunTabs::save(QSettings& settings) const {
    settings.setValue("tab", currentIndex());
    metrics_->save(settings);
}

void RunTabs::restore(QSettings& settings) {
    const int tab = settings.value("tab", 0).toInt();
    setCurrentIndex(tab >= 0 && tab < count() ? tab : 0);
    metrics_->restore(settings);
}

}  // namespace millrace::gui
