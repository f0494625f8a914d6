#include "app/gui/pages/runs/details/overview_section.h"

#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>
#include <QResizeEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_diff.h"
#include "app/gui/models/runs/run_facts.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/pages/runs/parts/fact_view.h"
#include "app/gui/pages/runs/parts/run_cell_delegate.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kFigureWidth = 128;
constexpr std::size_t kMostMetrics = 4;

QString phaseText(const values::RunSummary& run) {
    const auto word = nameOf(run.progress.phase);
    return run.state == values::RunState::kRunning && run.progress.phase != values::Phase::kUnknown
               ? qtext(word)
               : QString();
}

}  // namespace

OverviewSection::OverviewSection(DaemonBridge& daemon, const RunColors& colors, QWidget* parent)
    : QWidget(parent),
      reason_(new MessageStrip(this)),
      progressText_(new QLabel(this)),
      progress_(new QProgressBar(this)),
      handOver_(new QLabel(this)),
      figuresBox_(new QWidget(this)),
      grid_(new QGridLayout(figuresBox_)),
      board_(new ChartBoard(daemon, colors, this)),
      facts_(new FactView(tr("Facts of the run"), this)) {
    auto* layout = boxIn<QVBoxLayout>(this, kSpaceSmall,
                                      {kSpaceMedium, kSpaceMedium, kSpaceMedium, kSpaceSmall});
    layout->addWidget(reason_);
    layout->addWidget(progressText_);
    layout->addWidget(progress_);
    layout->addWidget(handOver_);
    setLook(*progressText_, "dim");
    setLook(*handOver_, "dim");
    handOver_->setWordWrap(true);
    handOver_->setVisible(false);
    progress_->setTextVisible(false);
    progress_->setMaximumHeight(6);
    progress_->setAccessibleName(tr("Progress"));
    grid_->setHorizontalSpacing(kSpaceMedium);
    grid_->setVerticalSpacing(kSpaceMedium);
    grid_->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(figuresBox_);
    board_->setBarVisible(false);
    layout->addWidget(board_, 3);
    layout->addWidget(facts_, 2);
}

void OverviewSection::showRun(const values::RunSummary& run, const values::RunSummary* base,
                              std::int64_t nowMs) {
    // The age of a rate is observed here, between two reports: another run starts over.
    rateAge_ = runId_ == run.id ? rateAge_ : session::RateAge();
    runId_ = run.id;
    // Each setFigure() below adds its name; arrangeFigures() then shows these, in this order.
    used_.clear();
    showReason(run);
    showProgress(run);
    const QString handOver = qtext(session::handOverText(run.handOver));
    handOver_->setText(handOver.left(1).toUpper() + handOver.mid(1));
    handOver_->setVisible(!handOver.isEmpty());
    showMetrics(run, base);
    showRate(run, nowMs);
    const double rows = static_cast<double>(std::max(run.rowsTrained, run.progress.rows));
    setFigure(labelOf(word::kRowsTrained), rows > 0 ? shortCountText(rows) : QString(),
              countText(rows));
    const std::int64_t end = run.endedMs > 0 ? run.endedMs : nowMs;
    setFigure(
        run.endedMs > 0 ? labelOf(word::kDuration) : tr("running for"),
        run.startedMs > 0 ? durationText(static_cast<double>(end - run.startedMs)) : QString());
    setFigure(labelOf(word::kStep), run.progress.step > 0
                                        ? countText(static_cast<double>(run.progress.step))
                                        : QString());
    setFigure(labelOf(word::kRestarts),
              run.restarts > 0 ? QString::number(run.restarts) : QString());
    arrangeFigures();
    board_->setRuns({boardRunOf(run)});
    std::vector<std::string> names;
    for (const values::RunFigure& point : run.latestMetrics) {
        names.push_back(point.name);
    }
    names = session::inUsualOrder(names);
    // One chart, of the most usual metric; the section of metrics has all.
    names.resize(std::min<std::size_t>(names.size(), 1));
    board_->setMetrics(names);
    board_->setVisible(!names.empty());
}

// The mean for a run that has ended; otherwise the newest, with its age if it is old.
void OverviewSection::showRate(const values::RunSummary& run, std::int64_t nowMs) {
    rateAge_.note(run, nowMs);
    const std::optional<double> rate = run.rate(), old = rateAge_.oldSeconds(run, nowMs);
    setFigure(labelOf(word::kRate), rate ? countText(*rate) : QString(),
              values::isEnded(run.state) ? tr("The mean of its steps, evaluations left out")
                                         : tr("At the last report"),
              old ? tr("%1 old").arg(durationText(1e3 * *old)) : QString());
    const std::string stall = session::stallText(run, old.has_value());
    setFigure(labelOf(word::kStall), stall == "-" ? QString() : qtext(stall),
              run.progress.times ? qtext(session::timesText(*run.progress.times)) : QString());
}

void OverviewSection::showReason(const values::RunSummary& run) {
    using values::RunState;
    if (run.isPurged()) {
        reason_->setMessage(Tone::kInfo,
                            tr("Purged %1: its files, metrics and plan are gone for good.")
                                .arg(fullTimeText(run.purgedMs)));
        // Trouble hides the reason to wait: it needs the user.
    } else if (!values::isEnded(run.state) && !run.trouble.empty()) {
        const QString since =
            run.isStalled() ? tr(", since %1").arg(fullTimeText(run.standsSinceMs)) : QString();
        reason_->setMessage(run.isStalled() ? Tone::kBad : Tone::kWarn, qtext(run.trouble) + since);
    } else if (!run.exitReason.empty()) {
        reason_->setMessage(run.state == RunState::kFailed ? Tone::kBad : Tone::kInfo,
                            qtext(run.exitReason));
    } else if (!run.reason().empty()) {
        reason_->setMessage(Tone::kInfo, tr("Waits: %1").arg(qtext(run.reason())));
    } else {
        reason_->clearMessage();
    }
}

void OverviewSection::showProgress(const values::RunSummary& run) {
    const auto& progress = run.progress;
    const bool isShown = progress.stepsTotal > 0 && !values::isEnded(run.state);
    progress_->setVisible(isShown);
    progressText_->setVisible(isShown);
    if (!isShown) {
        return;
    }
    // Thousandths, because steps may exceed the bar's int.
    progress_->setRange(0, 1000);
    progress_->setValue(static_cast<int>(1000 * progress.step / progress.stepsTotal));
    QString text = tr("Step %1 of %2, epoch %3 of %4")
                       .arg(countText(static_cast<double>(progress.step)),
                            countText(static_cast<double>(progress.stepsTotal)))
                       .arg(progress.epoch + 1)
                       .arg(progress.epochs);
    if (const QString phase = phaseText(run); !phase.isEmpty()) {
        text += ", " + phase;
    }
    progressText_->setText(text);
}

void OverviewSection::showMetrics(const values::RunSummary& run, const values::RunSummary* base) {
    std::vector<std::string> names;
    for (const values::RunFigure& point : run.latestMetrics) {
        const bool isKey = point.name == metric::kLoss ||
                           (values::isEvalMetric(point.name) &&
                            values::senseOf(point.name) != values::MetricSense::kUnknown);
        if (isKey) {
            names.push_back(point.name);
        }
    }
    names = session::inUsualOrder(session::eachOnce(std::move(names)));
    names.resize(std::min(names.size(), kMostMetrics));
    for (const std::string& name : names) {
        const double value = *run.metric(name);
        const auto baseValue = base != nullptr ? base->metric(name) : std::nullopt;
        QString text = numberText(value), tip = qtext(name) + " " + QString::number(value, 'g', 17);
        if (baseValue) {
            const BaseDifference against = compareMetric(
                name, {run, run.params, value}, {*base, base->params, *baseValue}, tr("the base"));
            tip += "\n" + against.sentence;
            setFigure(metricTitle(name), text, tip, differenceLabel(against));
        } else {
            setFigure(metricTitle(name), text, tip);
        }
    }
}

// `addition`: after the name; may change while the figure stays.
void OverviewSection::setFigure(const QString& name, const QString& value, const QString& tip,
                                const QString& addition) {
    if (value.isEmpty()) {
        return;
    }
    used_.push_back(name);
    auto known =
        std::ranges::find_if(figures_, [&](const auto& figure) { return figure.first == name; });
    if (known == figures_.end()) {
        figures_.emplace_back(name, new Figure(name, figuresBox_));
        known = figures_.end() - 1;
    }
    known->second->setValue(value, tip);
    known->second->setCaption(addition.isEmpty() ? name : name + "  " + addition);
}

// Removes unused figures and arranges the others in as many columns as fit.
void OverviewSection::arrangeFigures() {
    std::vector<std::pair<QString, Figure*>> kept;
    for (const QString& name : used_) {
        for (auto& figure : figures_) {
            if (figure.second != nullptr && figure.first == name) {
                kept.push_back(std::exchange(figure, {QString(), nullptr}));
            }
        }
    }
    for (const auto& [name, figure] : figures_) {
        if (figure != nullptr) {
            figure->deleteLater();
        }
    }
    figures_ = std::move(kept);
    const int room = std::max(width(), kFigureWidth) - 2 * kSpaceMedium;
    columns_ = std::max(1, room / kFigureWidth);
    for (std::size_t i = 0; i < figures_.size(); ++i) {
        const int place = static_cast<int>(i);
        grid_->addWidget(figures_[i].second, place / columns_, place % columns_, Qt::AlignLeft);
    }
    // There are at most ten figures; columns that are not used any more lose their stretch.
    for (int column = 0; column < 12; ++column) {
        grid_->setColumnStretch(column, column < columns_ ? 1 : 0);
    }
}

void OverviewSection::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    if (event->oldSize().width() != event->size().width()) {
        arrangeFigures();
    }
}

void OverviewSection::showDetail(const values::RunDetail& run) {
    facts_->facts().setFacts(runFacts(run));
}

void OverviewSection::setAway(bool isAway) {
    for (QWidget* old : std::initializer_list<QWidget*>{progressText_, progress_, figuresBox_}) {
        setDimmed(*old, isAway);
    }
}

void OverviewSection::clear() {
    runId_.clear();
    board_->clear();
    facts_->facts().setFacts({});
}

QString OverviewSection::figure(const QString& name) const {
    for (const auto& [known, figure] : figures_) {
        if (known == name) {
            return figure->value();
        }
    }
    return {};
}

QString OverviewSection::caption(const QString& name) const {
    for (const auto& [known, figure] : figures_) {
        if (known == name) {
            return figure->caption();
        }
    }
    return {};
}

QString OverviewSection::reason() const {
    return reason_->sentence();
}

QString OverviewSection::handOver() const {
    return handOver_->isHidden() ? QString() : handOver_->text();
}

}  // namespace millrace::gui
