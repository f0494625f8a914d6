#include "app/gui/pages/runs/shown_columns.h"

#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/runs/column_chooser.h"
#include "app/gui/pages/runs/runs_view.h"

namespace millrace::gui {
namespace {

/// While no run has been evaluated, the columns are chosen again at this interval.
constexpr int kUsualMs = 3'000;

}  // namespace

ShownColumns::ShownColumns(RunsView& view, const RunRows& rows, const RunTable& runs,
                           QWidget* parent)
    : QObject(parent), view_(view), rows_(rows), runs_(runs), parent_(parent) {
    connect(&view_, &RunsView::columnsChanged, this, [this] { isChosen_ = true; });
}

void ShownColumns::set(const RunColumns& columns) {
    isChosen_ = true;
    view_.setColumns(columns);
}

void ShownColumns::chooseUsual() {
    const bool isSoon = sinceUsual_.isValid() && sinceUsual_.elapsed() < kUsualMs;
    if (isChosen_ || runs_.numRuns() == 0 || isSoon) {
        return;
    }
    sinceUsual_.start();
    std::vector<std::string> evaluated;
    const std::vector<std::string> all = session::inUsualOrder(runs_.metricNames());
    for (const std::string& name : all) {
        // Every run also has its first head's figures under names without the head.
        const bool isTwin = std::ranges::find(all, session::withoutHead(name)) != all.end();
        if (values::isEvalMetric(name) && !isTwin) {
            evaluated.push_back(name);
        }
    }
    RunColumns columns;
    columns.reset(evaluated);
    if (!(columns == view_.columns())) {
        view_.setColumns(columns);
    }
    isChosen_ = !evaluated.empty();
}

void ShownColumns::reset() {
    isChosen_ = false;
    sinceUsual_.invalidate();
    view_.setColumns(RunColumns());
    chooseUsual();
}

ColumnChooser* ShownColumns::openChooser(QWidget& anchor) {
    const RunTable& runs = rows_.table();
    auto* chooser = new ColumnChooser(
        view_.columns(), {runs.metricNames(), runs.paramNames(), runs.tagNames()}, parent_);
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    connect(chooser, &ColumnChooser::changed, this,
            [this](const RunColumns& columns) { set(columns); });
    connect(chooser, &ColumnChooser::resetAsked, this, [this] { reset(); });
    const QPoint below = anchor.mapToGlobal(QPoint(anchor.width(), 0));
    chooser->move(below.x() - chooser->width(), below.y() + anchor.height() + 2);
    chooser->show();
    return chooser;
}

void ShownColumns::save(QSettings& settings) const {
    if (isChosen_) {
        view_.columns().save(settings);
    }
}

void ShownColumns::restore(QSettings& settings) {
    RunColumns columns;
    if (columns.restore(settings)) {
        isChosen_ = true;
        view_.setColumns(columns);
    }
}

}  // namespace millrace::gui
