#include "app/gui/status_line.h"

#include <QHBoxLayout>
#include <QLabel>
#include <utility>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

RunTotals StatusLine::totalsOf(const RunTable& runs, std::int64_t nowMs) {
    using values::RunState;
    RunTotals totals;
    totals.numRuns = runs.numRuns();
    totals.numQueued = runs.numInState(RunState::kQueued);
    totals.numRunning = runs.numInState(RunState::kStarting) + runs.numInState(RunState::kRunning) +
                        runs.numInState(RunState::kStopping);
    // Rows keep their order of arrival, so running ones may be anywhere; usually there are few, and
    // the search stops after the last of them.
    int left = runs.numInState(RunState::kRunning);
    const auto before = std::exchange(ages_, {});
    for (int row = runs.numRuns(); row-- > 0 && left > 0;) {
        const values::RunSummary& run = runs.run(row);
        if (run.state == RunState::kRunning) {
            const auto known = before.find(run.id);
            session::RateAge& age = ages_[run.id];
            age = known == before.end() ? session::RateAge() : known->second;
            age.note(run, nowMs);
            const bool isOfNow = !run.isStalled() && !age.oldSeconds(run, nowMs);
            totals.samplesPerSecond += isOfNow ? run.rate().value_or(0) : 0.0;
            --left;
        }
    }
    return totals;
}

StatusLine::StatusLine(QWidget* parent) : QFrame(parent) {
    auto* row = boxIn<QHBoxLayout>(this, kSpaceHuge, {kSpaceMedium, 4, kSpaceMedium, 4});
    totals_ = new QLabel(this);
    dropped_ = new QLabel(this);
    daemon_ = new ElidedLabel(this, Qt::ElideMiddle);
    daemon_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    setLook(*totals_, "caption");
    setLook(*daemon_, "caption");
    row->addWidget(totals_);
    row->addWidget(dropped_);
    row->addWidget(daemon_, 1);
    setTotals({});
    dropped_->hide();
}

// The rates of runs are unknown while the daemon is unreachable.
void StatusLine::setTotals(const RunTotals& totals) {
    const QString counts =
        tr("%1 running   %2 queued").arg(totals.numRunning).arg(totals.numQueued);
    const QString text =
        isLive_ ? counts + tr("   %1 samples/s").arg(shortCountText(totals.samplesPerSecond))
                : tr("not connected; last known: %1").arg(counts);
    if (text != totals_->text()) {
        totals_->setText(text);
        totals_->setToolTip(tr("%1 runs in all").arg(countText(totals.numRuns)));
    }
}

void StatusLine::setRuns(const RunTable& runs, std::int64_t nowMs) {
    setTotals(totalsOf(runs, nowMs));
}

void StatusLine::setDropped(std::uint64_t updates) {
    const QString text =
        updates == 0 ? QString()
                     : tr("%1 dropped updates").arg(countText(static_cast<double>(updates)));
    if (text != dropped_->text()) {
        dropped_->setText(text);
        dropped_->setVisible(!text.isEmpty());
        setLook(*dropped_, "error");
        dropped_->setToolTip(
            tr("The console was too busy to take these: figures are the newest, log lines may be "
               "missing"));
    }
}

void StatusLine::setDaemon(const QString& sentence, bool isLive) {
    static_cast<ElidedLabel*>(daemon_)->setFullText(sentence);
    isLive_ = isLive;
}

QString StatusLine::totalsText() const {
    return totals_->text();
}

QString StatusLine::droppedText() const {
    return dropped_->text();
}

}  // namespace millrace::gui
