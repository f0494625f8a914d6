#include "app/gui/pages/runs/runs_body.h"

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/panels.h"

namespace millrace::gui {

RunsBody::RunsBody(QWidget* parent) : QStackedWidget(parent) {
    noDaemon_ = add(tr("No daemon"), tr("Start one on this machine, or choose another above."));
    noDaemon_->setCommand(QStringLiteral("millrace up"));
    noRuns_ = add(tr("No runs yet"),
                  tr("Open a spec on the Launch page and press Ctrl+Enter, or start one in a "
                     "terminal."));
    noRuns_->addButton(tr("Go to Launch"), this, [this] { Q_EMIT launchAsked(); });
    noRuns_->setCommand(QStringLiteral("millrace run movielens.yaml --all-variations"));
    noMatch_ = add(tr("No run matches"), {});
    noMatch_->addButton(tr("Clear the filter"), this, [this] { Q_EMIT clearAsked(); });
    reading_ = add(tr("Reading the runs …"), {});
}

EmptyState* RunsBody::add(const QString& title, const QString& sentence) {
    auto* state = new EmptyState(this);
    state->setText(title, sentence);
    addWidget(state);
    return state;
}

void RunsBody::setTable(QWidget& table) {
    table_ = &table;
    insertWidget(0, table_);
    setCurrentWidget(table_);
}

QWidget* RunsBody::wanted(const RunsSituation& now, const session::Link& link) {
    const bool isAway = link.state == session::LinkState::kReconnecting ||
                        link.state == session::LinkState::kRefused;
    if (now.numRuns == 0 && now.isDeletedShown) {
        noMatch_->setText(
            tr("No deleted runs"),
            tr("Deleted runs stay here; those that were not purged can be restored."));
        return noMatch_;
    }
    if (now.numRuns == 0 && (isAway || !now.hasAddress)) {
        noDaemon_->setText(tr("No daemon"),
                           link.sentence.empty()
                               ? tr("Start one on this machine, or choose another above.")
                               : asSentence(link.sentence));
        return noDaemon_;
    }
    if (now.numRuns == 0) {
        return now.isComplete ? noRuns_ : reading_;
    }
    if (now.numShown == 0) {
        noMatch_->setText(
            tr("No run matches"),
            tr("%1 runs are there, none of them fits the filter.").arg(countText(now.numRuns)));
        return noMatch_;
    }
    return table_;
}

bool RunsBody::showFor(const RunsSituation& now, const session::Link& link) {
    QWidget* shown = wanted(now, link);
    const bool isNew = shown == table_ && currentWidget() != table_;
    setCurrentWidget(shown);
    return isNew;
}

}  // namespace millrace::gui
