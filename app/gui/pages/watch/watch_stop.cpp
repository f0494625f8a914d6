#include "app/gui/pages/watch/watch_stop.h"

#include <algorithm>

#include "app/gui/widgets/panels.h"

namespace millrace::gui {
namespace {

constexpr std::size_t kNamesMax = 6;

QString labelOf(const values::RunSummary& run) {
    const QString name = QString::fromStdString(run.name);
    return run.variation.empty()
               ? name
               : name + QStringLiteral(" / ") + QString::fromStdString(run.variation);
}

QString reasonOf(const Status& status) {
    return QString::fromStdString(std::string(status.message()));
}

bool canStop(const values::RunSummary& run) {
    return !values::isEnded(run.state) && run.state != values::RunState::kStopping;
}

}  // namespace

StopQuestion stopQuestion(const std::vector<values::RunSummary>& runs) {
    StopQuestion question;
    const bool isQueued = std::ranges::all_of(
        runs, [](const auto& run) { return run.state == values::RunState::kQueued; });
    const QString after =
        isQueued ? QObject::tr("It has not started; it leaves the queue.")
                 : QObject::tr("A checkpoint is written first; Resume continues from there.");
    if (runs.size() == 1) {
        const QString name = labelOf(runs.front());
        question.title = QObject::tr("Stop %1?").arg(name);
        question.sentence =
            QObject::tr("Run %1. %2").arg(QString::fromStdString(runs.front().id), after);
        question.yes = QObject::tr("Stop run");
        return question;
    }
    QStringList names;
    for (std::size_t i = 0; i < std::min(runs.size(), kNamesMax); ++i) {
        names << labelOf(runs[i]);
    }
    if (runs.size() > kNamesMax) {
        names << QObject::tr("and %1 more").arg(runs.size() - kNamesMax);
    }
    question.title = QObject::tr("Stop %1 runs?").arg(runs.size());
    question.sentence =
        names.join(QStringLiteral(", ")) + QStringLiteral(".\n") +
        (isQueued ? QObject::tr("They have not started; they leave the queue.")
                  : QObject::tr("Each writes a checkpoint first; Resume continues from there."));
    question.yes = QObject::tr("Stop %1 runs").arg(runs.size());
    return question;
}

WatchStop::WatchStop(DaemonBridge& daemon, QWidget* page)
    : QObject(page), daemon_(daemon), page_(page) {}

void WatchStop::stop(const std::vector<values::RunSummary>& runs) {
    std::vector<values::RunSummary> going;
    std::ranges::copy_if(runs, std::back_inserter(going), canStop);
    if (going.empty()) {
        Q_EMIT said({Notice::Kind::kInfo,
                     tr("No selected run is active; there is nothing to stop."),
                     {},
                     {}});
        return;
    }
    const StopQuestion question = stopQuestion(going);
    askFirst(page_, question.title, question.sentence, question.yes, [this, going] {
        for (const values::RunSummary& run : going) {
            stopNow(run);
        }
    });
}

void WatchStop::stopNow(const values::RunSummary& run) {
    const QString name = labelOf(run);
    daemon_.stop(run.id, this, [this, name](Result<values::RunSummary> answer) {
        if (!answer.ok()) {
            Q_EMIT said({Notice::Kind::kError,
                         tr("%1 could not be stopped: %2").arg(name, reasonOf(answer.status())),
                         {},
                         {}});
            return;
        }
        Q_EMIT said({Notice::Kind::kInfo, tr("%1 is stopping.").arg(name)});
    });
}

void WatchStop::resume(const values::RunSummary& run) {
    const QString name = labelOf(run);
    daemon_.resume(run.id, 0, this, [this, name](Result<values::RunSummary> answer) {
        if (!answer.ok()) {
            Q_EMIT said({Notice::Kind::kError,
                         tr("%1 could not be resumed: %2").arg(name, reasonOf(answer.status())),
                         {},
                         {}});
            return;
        }
        Q_EMIT said({Notice::Kind::kDone, tr("%1 continues from its last checkpoint.").arg(name)});
    });
}

}  // namespace millrace::gui
