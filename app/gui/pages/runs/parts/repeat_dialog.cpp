#include "app/gui/pages/runs/parts/repeat_dialog.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/details/run_cli.h"
#include "app/gui/models/run_text.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kWidth = 640, kRowsHeightMax = 320;

QString labelOf(const values::RunSummary& run) {
    return qtext(run.variation.empty() ? run.name : run.name + " / " + run.variation);
}

Tone toneOf(RepeatVerdict::Kind kind) {
    return kind == RepeatVerdict::Kind::kEqual     ? Tone::kGood
           : kind == RepeatVerdict::Kind::kDiffers ? Tone::kWarn
                                                   : Tone::kBad;
}

}  // namespace

bool RepeatDialog::Submit::isBroken() const {
    return std::ranges::any_of(
        rows, [](const Row& row) { return row.verdict.kind == RepeatVerdict::Kind::kBroken; });
}

RepeatDialog::RepeatDialog(DaemonBridge& daemon, const std::vector<RunPtr>& runs, QWidget* parent)
    : QDialog(parent), daemon_(daemon), numRuns_(static_cast<int>(runs.size())) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowModality(Qt::WindowModal);
    setMinimumWidth(kWidth);
    for (RunRepeat& repeat : repeatsOf(runs)) {
        submits_.push_back({std::move(repeat), {}});
    }
    build();
    numOpen_ = static_cast<int>(submits_.size());
    for (std::size_t i = 0; i < submits_.size(); ++i) {
        check(i);
    }
    showState();
}

void RepeatDialog::build() {
    auto* column = boxIn<QVBoxLayout>(this, kSpaceMedium,
                                      {kSpaceLarge, kSpaceLarge, kSpaceLarge, kSpaceLarge});
    title_ = styled<QLabel>("title", this);
    column->addWidget(title_);
    column->addWidget(buildRows());
    if (numRuns_ == 1) {
        auto* line =
            styled<QLabel>("caption", runCommandLine(*submits_.front().repeat.runs.front()), this);
        line->setTextFormat(Qt::PlainText);
        line->setWordWrap(true);
        line->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        column->addWidget(line);
    }
    const DialogButtons buttons = addButtons(*this);
    launch_ = buttons.yes;
    buttons.no->setText(tr("Cancel"));
    change_ = new QPushButton(tr("Change and launch \u2026"), this);
    change_->setToolTip(tr("Opens its spec on the Launch page, with what it was launched with"));
    change_->setAutoDefault(false);
    change_->setVisible(numRuns_ == 1);
    buttons.row->insertWidget(0, change_);
    connect(buttons.no, &QPushButton::clicked, this, &QDialog::reject);
    connect(launch_, &QPushButton::clicked, this, &RepeatDialog::launch);
    connect(change_, &QPushButton::clicked, this, [this] {
        Q_EMIT changeAsked(submits_.front().repeat.runs.front());
        reject();
    });
}

QWidget* RepeatDialog::buildRows() {
    auto* rows = new QWidget(this);
    auto* column = boxIn<QVBoxLayout>(rows, kSpaceTiny);
    for (Submit& submit : submits_) {
        for (const RunPtr& run : submit.repeat.runs) {
            auto* strip = new MessageStrip(rows);
            strip->setMessage(Tone::kNeutral, tr("%1: checking \u2026").arg(labelOf(run->summary)));
            column->addWidget(strip);
            submit.rows.push_back({run, {}, strip});
        }
    }
    column->addStretch(1);
    scroll_ = new QScrollArea(this);
    scroll_->setWidgetResizable(true);
    scroll_->setFrameShape(QFrame::NoFrame);
    scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll_->setFocusPolicy(Qt::NoFocus);
    scroll_->setWidget(rows);
    return scroll_;
}

// The dialog is as high as its wrapped sentences need; many runs scroll. Measures each strip
// itself, because the layouts around it update later.
void RepeatDialog::fitHeight() {
    const int room = std::max(width(), kWidth) - 2 * kSpaceLarge;
    int height = -kSpaceTiny;
    for (const Submit& submit : submits_) {
        for (const Row& row : submit.rows) {
            height += row.strip->layout()->totalHeightForWidth(room) + kSpaceTiny;
        }
    }
    scroll_->setFixedHeight(std::min(kRowsHeightMax, height));
    resize(width(), layout()->totalHeightForWidth(std::max(width(), kWidth)));
}

void RepeatDialog::check(std::size_t submit) {
    daemon_.check(submits_[submit].repeat.question(), this,
                  [this, submit](const Result<values::CheckReply>& reply) {
                      for (Row& row : submits_[submit].rows) {
                          row.verdict = verdictOn(*row.run, reply);
                          row.strip->setMessage(toneOf(row.verdict.kind),
                                                labelOf(row.run->summary) + QStringLiteral(": ") +
                                                    row.verdict.sentence);
                      }
                      --numOpen_;
                      showState();
                  });
}

int RepeatDialog::numReady() const {
    int count = 0;
    for (const Submit& submit : submits_) {
        count += submit.isBroken() ? 0 : static_cast<int>(submit.rows.size());
    }
    return count;
}

void RepeatDialog::showState() {
    const bool isOne = numRuns_ == 1;
    const QString what =
        isOne ? labelOf(submits_.front().rows.front().run->summary) : tr("%1 runs").arg(numRuns_);
    setWindowTitle(tr("Launch again"));
    title_->setText(tr("Launch %1 again?").arg(what));
    const int numLaunched = isChecked() ? numReady() : numRuns_;
    launch_->setText(isOne || numLaunched == 0 ? tr("Launch again")
                                               : tr("Launch %1 again").arg(numLaunched));
    launch_->setEnabled(isChecked() && numLaunched > 0);
    fitHeight();
    if (launch_->isEnabled()) {
        launch_->setFocus(Qt::OtherFocusReason);
    }
}

QStringList RepeatDialog::sentences() const {
    QStringList all;
    for (const Submit& submit : submits_) {
        for (const Row& row : submit.rows) {
            all.append(row.strip->sentence());
        }
    }
    return all;
}

void RepeatDialog::launch() {
    launch_->setEnabled(false);
    change_->setEnabled(false);
    launch_->setText(tr("Launching \u2026"));
    launchFrom(0);
}

// One after the other: they queue in this order.
void RepeatDialog::launchFrom(std::size_t submit) {
    while (submit < submits_.size() && submits_[submit].isBroken()) {
        ++submit;
    }
    if (submit == submits_.size()) {
        finish();
        return;
    }
    daemon_.submitAgain(submits_[submit].repeat.request, this,
                        [this, submit](const Result<values::SubmitReply>& reply) {
                            took(submit, reply);
                            launchFrom(submit + 1);
                        });
}

// The daemon has read everything again: only the created runs show whether they are equal.
void RepeatDialog::took(std::size_t submit, const Result<values::SubmitReply>& reply) {
    if (!reply.ok()) {
        failures_.append(qtext(std::string(messageOf(reply.status()))));
    } else if (!reply->errors.empty()) {
        failures_.append(qtext(reply->errors.front().message));
    } else {
        for (const values::RunSummary& made : reply->runs) {
            newIds_.push_back(made.id);
            for (const Row& row : submits_[submit].rows) {
                if (row.run->summary.variation == made.variation) {
                    const bool isEqual = row.run->summary.specHash == made.specHash;
                    (isEqual ? repeated_ : differing_).append(qtext(row.run->summary.id));
                }
            }
        }
    }
}

void RepeatDialog::finish() {
    if (!newIds_.empty()) {
        QStringList parts = {newIds_.size() == 1 ? tr("Launched %1").arg(qtext(newIds_.front()))
                                                 : tr("Launched %1 runs").arg(newIds_.size())};
        if (!repeated_.isEmpty()) {
            parts.append(tr("spec hash equal: repeats %1").arg(repeated_.join(", ")));
        }
        if (!differing_.isEmpty()) {
            parts.append(tr("spec hash differs from %1").arg(differing_.join(", ")));
        }
        Q_EMIT launched(newIds_, parts.join(QStringLiteral("; ")));
    }
    if (!failures_.isEmpty()) {
        failures_.removeDuplicates();
        Q_EMIT failed(tr("Not launched: %1").arg(failures_.join(QStringLiteral("; "))));
    }
    accept();
}

}  // namespace millrace::gui
