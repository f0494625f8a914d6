#include "app/gui/pages/runs/details/run_head.h"

#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/models/run_text.h"
#include "app/gui/pages/runs/parts/run_actions.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

using values::RunSummary;

RunHead::RunHead(RunActions& actions, QWidget* parent) : QWidget(parent), actions_(actions) {
    boxIn<QVBoxLayout>(this, kSpaceTiny, kSectionMargins);
    buildTitle();
    buildActions();
}

void RunHead::buildTitle() {
    auto* column = static_cast<QVBoxLayout*>(layout());
    auto* line = new QHBoxLayout;
    title_ = new ElidedLabel(this);
    title_->setFont(headingFont(font()));
    badge_ = new Badge(this);
    line->addWidget(title_, 1);
    line->addWidget(badge_);
    column->addLayout(line);
    subtitle_ = styled<ElidedLabel>("dim", this);
    column->addWidget(subtitle_);
}

template <class Act>
void RunHead::offer(const QString& text, const QString& tip, IsOffered isOffered, Act act) {
    auto* button = new QToolButton(this);
    button->setText(text);
    button->setToolTip(tip);
    connect(button, &QToolButton::clicked, this, std::move(act));
    buttons_->addWidget(button);
    offered_.push_back({button, isOffered});
}

void RunHead::buildActions() {
    buttons_ = boxIn<QHBoxLayout>(nullptr, kSpaceTiny);
    const IsOffered isThere = [](const RunSummary& run) { return run.deletedMs == 0; };
    const IsOffered isActive = [](const RunSummary& run) {
        return run.deletedMs == 0 && !values::isEnded(run.state);
    };
    const IsOffered hasEnded = [](const RunSummary& run) {
        return run.deletedMs == 0 && values::isEnded(run.state);
    };
    const IsOffered hasBroken = [](const RunSummary& run) {
        return run.deletedMs == 0 && (run.state == values::RunState::kFailed ||
                                      run.state == values::RunState::kCancelled);
    };
    const IsOffered isRestorable = [](const RunSummary& run) {
        return run.deletedMs > 0 && !run.isPurged();
    };
    const IsOffered always = [](const RunSummary&) { return true; };
    offer(tr("Watch"), tr("See it live on the Watch page"), isThere,
          [this] { actions_.watch({id_}); });
    offer(tr("Stop"), tr("Ends the run with a checkpoint"), isActive,
          [this] { actions_.stop({id_}); });
    offer(tr("Resume"), tr("Continues from the last checkpoint"), hasBroken,
          [this] { actions_.resume(id_, 0); });
    offer(tr("Launch again"), tr("Repeats it exactly; asks first (Ctrl+R)"), always,
          [this] { actions_.launchAgain({id_}); });
    offer(tr("Change and launch"),
          tr("Opens its spec on the Launch page, with what it was launched with (Ctrl+Shift+L)"),
          always, [this] { actions_.changeAndLaunch(id_); });
    offer(tr("Copy as CLI"), tr("The millrace run line that does the same"), always,
          [this] { actions_.copyCommand(id_); });
    offer(tr("Delete"), tr("Deletes the run; it can be restored"), hasEnded,
          [this] { actions_.remove({id_}); });
    offer(tr("Restore"), tr("Shows the run again"), isRestorable,
          [this] { actions_.restore({id_}); });
    buttons_->addStretch(1);
    static_cast<QVBoxLayout*>(layout())->addLayout(buttons_);
}

void RunHead::showRun(const RunSummary& run) {
    id_ = run.id;
    badge_->setLook(badgeOf(run));
    title_->setFullText(
        qtext(run.variation.empty() ? run.name : run.name + "  ·  " + run.variation));
    QStringList parts = {qtext(run.id)};
    if (run.startedMs > 0) {
        parts.append(tr("started %1").arg(fullTimeText(run.startedMs)));
    }
    if (!run.host.empty()) {
        parts.append(tr("on %1").arg(qtext(run.host)));
    }
    subtitle_->setFullText(parts.join("  ·  "));
    for (const Action& action : offered_) {
        action.button->setVisible(action.isOffered(run));
    }
}

}  // namespace millrace::gui
