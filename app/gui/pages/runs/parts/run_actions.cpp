#include "app/gui/pages/runs/parts/run_actions.h"

#include <QClipboard>
#include <QGuiApplication>
#include <memory>

#include "app/gui/models/details/run_cli.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/runs/parts/repeat_dialog.h"
#include "app/gui/widgets/panels.h"

namespace millrace::gui {
namespace {

QString sentence(const Status& status) {
    return asSentence(std::string(messageOf(status)));
}

}  // namespace

RunActions::RunActions(DaemonBridge& daemon, RunTable& runs, QWidget* parent)
    : QObject(parent), daemon_(daemon), runs_(runs), window_(parent) {}

QString RunActions::labelOf(const std::string& id) const {
    const values::RunSummary* run = runs_.find(id);
    return run == nullptr           ? qtext(id)
           : run->variation.empty() ? qtext(run->name)
                                    : qtext(run->name + " " + run->variation);
}

QString RunActions::labelOf(const std::vector<std::string>& ids) const {
    return ids.size() == 1 ? labelOf(ids.front()) : tr("%1 runs").arg(ids.size());
}

void RunActions::say(Notice::Kind kind, const QString& text) {
    Q_EMIT said({kind, text});
}

void RunActions::runAll(const std::vector<std::string>& ids, Call call,
                        std::function<void(const Batch&)> onEnd) {
    auto batch = std::make_shared<Batch>();
    batch->numOpen = ids.size();
    for (const std::string& id : ids) {
        (daemon_.*call)(id, this, [this, id, batch, onEnd](Result<values::RunSummary> reply) {
            if (reply.ok()) {
                batch->done.push_back(id);
            } else {
                batch->error = sentence(reply.status());
            }
            if (--batch->numOpen == 0) {
                onEnd(*batch);
            }
        });
    }
}

void RunActions::stop(const std::vector<std::string>& ids) {
    std::vector<std::string> active;
    for (const std::string& id : ids) {
        const values::RunSummary* run = runs_.find(id);
        if (run != nullptr && !values::isEnded(run->state)) {
            active.push_back(id);
        }
    }
    if (active.empty()) {
        say(Notice::Kind::kInfo, tr("Nothing to stop: the selected runs have ended."));
        return;
    }
    const QString label = labelOf(active);
    askFirst(window_, tr("Stop %1?").arg(label),
             active.size() == 1
                 ? tr("It writes a checkpoint and ends; it can be resumed from there.")
                 : tr("They write a checkpoint and end; they can be resumed from there."),
             tr("Stop %1").arg(label), [this, active, label] {
                 runAll(active, &DaemonBridge::stop, [this, label](const Batch& batch) {
                     if (batch.error.isEmpty()) {
                         say(Notice::Kind::kDone, tr("Asked %1 to stop.").arg(label));
                     } else {
                         say(Notice::Kind::kError, batch.error);
                     }
                 });
             });
}

void RunActions::resume(const std::string& id, std::int64_t step) {
    daemon_.resume(id, step, this, [this, id, step](Result<values::RunSummary> reply) {
        if (!reply.ok()) {
            say(Notice::Kind::kError, sentence(reply.status()));
            return;
        }
        Notice notice;
        notice.kind = Notice::Kind::kDone;
        notice.text = step > 0 ? tr("Resumed %1 from step %2.").arg(labelOf(id)).arg(step)
                               : tr("Resumed %1 from its last checkpoint.").arg(labelOf(id));
        notice.actionText = tr("Watch");
        notice.action = [this, id] { watch({id}); };
        Q_EMIT said(notice);
    });
}

void RunActions::remove(const std::vector<std::string>& ids) {
    if (ids.empty()) {
        return;
    }
    const QString label = labelOf(ids);
    runAll(ids, &DaemonBridge::remove, [this, ids, label](const Batch& batch) {
        Q_EMIT deletedChanged();
        if (!batch.error.isEmpty()) {
            say(Notice::Kind::kError, batch.error);
        }
        if (batch.done.empty()) {
            return;
        }
        Notice notice;
        notice.kind = Notice::Kind::kDone;
        notice.text = tr("Deleted %1.")
                          .arg(batch.done.size() == ids.size()
                                   ? label
                                   : tr("%1 of %2 runs").arg(batch.done.size()).arg(ids.size()));
        notice.actionText = tr("Undo");
        // Keep the label: the table forgets the names of deleted runs.
        notice.action = [this, done = batch.done, label] { restore(done, label); };
        Q_EMIT said(notice);
    });
}

void RunActions::restore(const std::vector<std::string>& ids, const QString& label) {
    if (ids.empty()) {
        return;
    }
    runAll(ids, &DaemonBridge::restore, [this, label](const Batch& batch) {
        Q_EMIT deletedChanged();
        if (batch.error.isEmpty()) {
            const bool isNamed = batch.done.size() == 1 && !label.isEmpty();
            say(Notice::Kind::kDone, tr("Restored %1.").arg(isNamed ? label : labelOf(batch.done)));
        } else {
            say(Notice::Kind::kError, batch.error);
        }
    });
}

void RunActions::copy(const QString& text, const QString& sentence) {
    QGuiApplication::clipboard()->setText(text);
    say(Notice::Kind::kInfo, sentence);
}

void RunActions::copyCommand(const std::string& id) {
    daemon_.get(id, this, [this](Result<values::RunDetail> reply) {
        if (!reply.ok()) {
            say(Notice::Kind::kError, sentence(reply.status()));
            return;
        }
        const QString line = runCommandLine(*reply);
        copy(line, tr("Copied: %1").arg(line));
    });
}

void RunActions::copyResume(const std::string& id, std::int64_t step) {
    const QString line = resumeCommandLine(id, step);
    copy(line, tr("Copied: %1").arg(line));
}

void RunActions::copyIds(const std::vector<std::string>& ids) {
    QStringList texts;
    for (const std::string& id : ids) {
        texts.append(qtext(id));
    }
    if (!texts.isEmpty()) {
        copy(texts.join(' '), texts.size() == 1 ? tr("Copied %1.").arg(texts.front())
                                                : tr("Copied %1 ids.").arg(texts.size()));
    }
}

// Fetches their details in the order of `ids`, then asks.
void RunActions::launchAgain(const std::vector<std::string>& ids) {
    struct Reading {
        std::vector<RunPtr> runs;
        std::size_t numOpen = 0;
    };
    auto reading = std::make_shared<Reading>();
    reading->runs.resize(ids.size());
    reading->numOpen = ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        daemon_.get(ids[i], this, [this, i, reading](Result<values::RunDetail> reply) {
            if (reply.ok()) {
                reading->runs[i] = std::make_shared<values::RunDetail>(*std::move(reply));
            } else {
                say(Notice::Kind::kError, sentence(reply.status()));
            }
            if (--reading->numOpen == 0) {
                std::erase(reading->runs, nullptr);
                openRepeat(reading->runs);
            }
        });
    }
}

void RunActions::openRepeat(const std::vector<RunPtr>& runs) {
    if (runs.empty()) {
        return;
    }
    auto* dialog = new RepeatDialog(daemon_, runs, window_);
    connect(dialog, &RepeatDialog::changeAsked, this, &RunActions::change);
    connect(dialog, &RepeatDialog::failed, this,
            [this](const QString& text) { say(Notice::Kind::kError, text); });
    connect(dialog, &RepeatDialog::launched, this,
            [this](const std::vector<std::string>& ids, const QString& text) {
                say(Notice::Kind::kDone, text);
                watch(ids);
            });
    dialog->open();
}

void RunActions::changeAndLaunch(const std::string& id) {
    daemon_.get(id, this, [this](Result<values::RunDetail> reply) {
        if (reply.ok()) {
            change(std::make_shared<values::RunDetail>(*std::move(reply)));
        } else {
            say(Notice::Kind::kError, sentence(reply.status()));
        }
    });
}

void RunActions::change(const RunPtr& run) {
    Destination destination;
    destination.page = PageName::kLaunch;
    destination.changed = run;
    Q_EMIT goTo(destination);
}

void RunActions::watch(const std::vector<std::string>& ids) {
    Destination destination;
    destination.page = PageName::kWatch;
    destination.runIds = ids;
    Q_EMIT goTo(destination);
}

}  // namespace millrace::gui
