#include "app/gui/pages/runs/run_panels.h"

#include <algorithm>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/pages/runs/runs_view.h"

namespace millrace::gui {
namespace {

/// Selections that change faster than this (a held arrow key) are shown at most this often.
constexpr int kFastMs = 40;

}  // namespace

RunPanels::RunPanels(const PageContext& context, RunRows& rows, const RunsView& view,
                     RunActions& actions, QWidget* parent)
    : QTabWidget(parent), colors_(context.colors), rows_(rows), view_(view) {
    setDocumentMode(true);
    details_ = new DetailsPanel(context.daemon, context.runs, context.colors, actions, this);
    compare_ = new ComparePanel(context.daemon, context.runs, context.colors, this);
    addTab(details_, tr("Details"));
    addTab(compare_, tr("Compare"));
    fitWidth();
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, [this] { showSelection(); });
    connect(details_, &DetailsPanel::said, this, &RunPanels::said);
    connect(compare_, &ComparePanel::said, this, &RunPanels::said);
}

void RunPanels::fitWidth() {
    setMinimumWidth(details_->tabsWidth());
}

void RunPanels::selectionChanged() {
    if (!timer_.isActive()) {
        const bool isFast = sinceChange_.isValid() && sinceChange_.elapsed() < kFastMs;
        timer_.start(isFast ? kFastMs : 0);
    }
    sinceChange_.start();
}

std::vector<std::string> RunPanels::comparedRuns() const {
    std::vector<std::string> compared = rows_.ticked();
    if (compared.size() < 2) {
        for (const std::string& id : view_.selectedIds()) {
            if (std::ranges::find(compared, id) == compared.end()) {
                compared.push_back(id);
            }
        }
    }
    if (compared.size() < 2) {
        compared.clear();
    }
    return compared;
}

RunColors::Shown RunPanels::shownOf(const std::string& id) const {
    const values::RunSummary* run = rows_.table().find(id);
    return {id, run == nullptr ? std::string() : run->variationOf};
}

void RunPanels::showSelection() {
    const std::vector<std::string> compared = comparedRuns();
    const std::string current = view_.currentId();
    std::vector<RunColors::Shown> shown;
    for (const std::string& id : compared) {
        shown.push_back(shownOf(id));
    }
    shown.push_back(shownOf(current));
    const bool hasNewLooks = colors_.assign("runs", shown);
    const bool hasMore = compared.size() > compare_->runs().size();
    compare_->setRuns(compared);
    if (hasNewLooks) {
        compare_->looksChanged();
    }
    details_->setRun(current);
    setTabText(1, compared.empty() ? tr("Compare") : tr("Compare  %1").arg(compared.size()));
    setTabEnabled(1, !compared.empty());
    chooseTab(hasMore, !compared.empty());
}

// Adding a run to compare shows the comparison, unless the user has just selected a single run.
void RunPanels::chooseTab(bool hasMore, bool hasAny) {
    if (hasMore && (view_.selectedIds().size() != 1 || rows_.ticked().size() >= 2)) {
        setCurrentWidget(compare_);
    } else if (!hasAny) {
        setCurrentWidget(details_);
    }
}

void RunPanels::openDetails() {
    showSelection();
    setCurrentWidget(details_);
    details_->focusTabs();
}

void RunPanels::editNote() {
    setCurrentWidget(details_);
    details_->editNote();
}

void RunPanels::refresh() {
    details_->refresh();
    compare_->refresh();
}

void RunPanels::drop() {
    details_->clear();
    compare_->clear();
}

bool RunPanels::isSettled() const {
    return !timer_.isActive() && details_->isSettled() && compare_->isSettled();
}

void RunPanels::save(QSettings& settings) const {
    details_->save(settings);
    compare_->save(settings);
}

void RunPanels::restore(QSettings& settings) {
    details_->restore(settings);
    compare_->restore(settings);
}

}  // namespace millrace::gui
