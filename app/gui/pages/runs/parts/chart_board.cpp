#include "app/gui/pages/runs/parts/chart_board.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/charts/parts/chart_link.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/charts/plot_widget.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/metric_picker.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kPoints = 2'000;   ///< per curve
constexpr int kRefineMs = 150;   ///< after the last move of the view
constexpr int kAgainMs = 2'000;  ///< for an active run
constexpr std::size_t kMostPlots = 24;
constexpr std::size_t kUsualPlots = 4;
constexpr int kPlotHeight = 190;

}  // namespace

ChartBoard::ChartBoard(DaemonBridge& daemon, const RunColors& colors, QWidget* parent)
    : QWidget(parent), daemon_(daemon), colors_(colors), link_(new ChartLink(this)) {
    clock_.start();
    refineTimer_.setSingleShot(true);
    refineTimer_.setInterval(kRefineMs);
    againTimer_.setSingleShot(true);
    againTimer_.setInterval(kAgainMs);
    connect(&refineTimer_, &QTimer::timeout, this, [this] { refine(); });
    connect(&againTimer_, &QTimer::timeout, this, [this] { fetch(); });
    connect(link_, &ChartLink::viewChanged, this, [this] { refineTimer_.start(); });
    connect(&daemon, &DaemonBridge::linkChanged, this, [this] {
        for (std::size_t i = 0; i < plots_.size(); ++i) {
            refreshState(i);
        }
        if (isConnected()) {
            fetch();
        }
    });
    build();
}

ChartBoard::~ChartBoard() = default;

void ChartBoard::build() {
    auto* layout = boxIn<QVBoxLayout>(this, kSpaceTiny);
    bar_ = buildBar();
    layout->addWidget(bar_);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto* inside = new QWidget(scroll);
    column_ = boxIn<QVBoxLayout>(inside, kSpaceSmall);
    scroll->setWidget(inside);
    layout->addWidget(scroll, 1);
}

QWidget* ChartBoard::buildBar() {
    auto* bar = new QWidget(this);
    auto* row = boxIn<QHBoxLayout>(bar, kSpaceSmall);
    metricButton_ = new QToolButton(bar);
    metricButton_->setText(tr("Metrics"));
    metricButton_->setToolTip(tr("Which metrics are drawn"));
    axis_ = new QComboBox(bar);
    axis_->addItems({tr("over steps"), tr("over rows"), tr("over time since start")});
    axis_->setAccessibleName(tr("Axis"));
    smoothing_ = new QSlider(Qt::Horizontal, bar);
    smoothing_->setRange(0, 99);
    smoothing_->setMaximumWidth(110);
    smoothing_->setAccessibleName(tr("Smoothing"));
    smoothing_->setToolTip(tr("Smoothing; the raw line stays, faint"));
    smoothingText_ = styled<QLabel>("caption", bar);
    logButton_ = new QToolButton(bar);
    logButton_->setText(tr("log"));
    logButton_->setCheckable(true);
    logButton_->setToolTip(tr("Logarithmic scale (L in a chart)"));
    row->addWidget(metricButton_);
    row->addWidget(axis_);
    row->addStretch(1);
    row->addWidget(smoothingText_);
    row->addWidget(smoothing_);
    row->addWidget(logButton_);
    connectBar();
    smoothing_->setValue(60);
    return bar;
}

void ChartBoard::connectBar() {
    connect(metricButton_, &QToolButton::clicked, this, [this] { openPicker(); });
    connect(axis_, &QComboBox::currentIndexChanged, this, [this](int place) {
        static constexpr XAxis kAxes[] = {XAxis::kStep, XAxis::kRows, XAxis::kRelativeTime};
        link_->setXAxis(kAxes[std::clamp(place, 0, 2)]);
        link_->follow();
    });
    connect(smoothing_, &QSlider::valueChanged, this, [this] { fill(); });
    connect(logButton_, &QToolButton::toggled, this, [this](bool isLog) {
        for (PlotWidget* plot : plots_) {
            plot->setLogY(isLog);
        }
    });
}

double ChartBoard::smoothing() const {
    return smoothing_->value() / 100.0;
}

void ChartBoard::setRuns(std::vector<BoardRun> runs) {
    const auto isSameRun = [](const BoardRun& a, const BoardRun& b) { return a.id == b.id; };
    const bool isSame = runs.size() == runs_.size() &&
                        std::equal(runs.begin(), runs.end(), runs_.begin(), isSameRun);
    runs_ = std::move(runs);
    std::erase_if(loaded_, [this](const auto& loaded) {
        return std::ranges::none_of(runs_,
                                    [&](const BoardRun& run) { return run.id == loaded.first; });
    });
    if (!isSame) {
        link_->follow();
        fill();
    }
    fetch();
}

// Looks may have changed while it was hidden.
void ChartBoard::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    fill();
}

void ChartBoard::setMetrics(const std::vector<std::string>& names) {
    if (offered_ == names && !plots_.empty()) {
        return;
    }
    offered_ = names;
    if (!isChosenByHand_) {
        chosen_.clear();
        for (const std::string& name : session::inUsualOrder(names)) {
            if (!session::isInternalMetric(name) && chosen_.size() < kUsualPlots) {
                chosen_.push_back(name);
            }
        }
    }
    showPlots();
}

void ChartBoard::choose(std::vector<std::string> metrics) {
    isChosenByHand_ = !metrics.empty();
    chosen_ = std::move(metrics);
    if (chosen_.size() > kMostPlots) {
        chosen_.resize(kMostPlots);
    }
    if (!isChosenByHand_) {
        setMetrics(std::exchange(offered_, {}));
    }
    showPlots();
}

void ChartBoard::clear() {
    ++epoch_;
    numOpen_ = 0;
    loaded_.clear();
    runs_.clear();
    fill();
}

PlotWidget* ChartBoard::makePlot(const std::string& metric) {
    auto* plot = new PlotWidget(this);
    plot->setTitle(metricTitle(metric));
    plot->setUnit(chartUnit(session::metricUnit(metric)));
    plot->setLink(link_);
    plot->setLogY(logButton_->isChecked());
    plot->setMinimumHeight(kPlotHeight);
    connect(plot, &Chart::copied, this, &ChartBoard::copied);
    return plot;
}

void ChartBoard::showPlots() {
    std::vector<std::string> wanted;
    for (const std::string& metric : chosen_) {
        const bool isKnown = std::ranges::find(offered_, metric) != offered_.end();
        if (isKnown || isChosenByHand_) {
            wanted.push_back(metric);
        }
    }
    if (wanted != plotMetrics_) {
        std::map<std::string, PlotWidget*> old;
        for (std::size_t i = 0; i < plots_.size(); ++i) {
            old[plotMetrics_[i]] = plots_[i];
            column_->removeWidget(plots_[i]);
        }
        plots_.clear();
        for (const std::string& metric : wanted) {
            const auto known = old.find(metric);
            plots_.push_back(known != old.end() ? known->second : makePlot(metric));
            column_->addWidget(plots_.back(), 1);
            old.erase(metric);
        }
        for (const auto& [metric, plot] : old) {
            plot->deleteLater();
        }
        plotMetrics_ = std::move(wanted);
    }
    metricButton_->setText(tr("Metrics  %1").arg(plotMetrics_.size()));
    fill();
    fetch();
}

void ChartBoard::fill() {
    smoothingText_->setText(smoothing_->value() == 0
                                ? tr("no smoothing")
                                : tr("smoothing %1").arg(smoothing(), 0, 'f', 2));
    for (std::size_t i = 0; i < plots_.size(); ++i) {
        fillPlot(i);
    }
}

void ChartBoard::fillPlot(std::size_t place) {
    Curves curves;
    for (const BoardRun& run : runs_) {
        const auto loaded = loaded_.find(run.id);
        const auto store =
            loaded == loaded_.end() ? nullptr : loaded->second->series.curve(plotMetrics_[place]);
        if (!store) {
            continue;
        }
        const RunColors::Look look = colors_.of(run.id);
        Curve curve;
        curve.id = qtext(run.id);
        curve.name = run.label;
        curve.color = look.color;
        curve.dash = look.dash;
        curve.store = store;
        // A curve of few points is readable without smoothing.
        curve.smoothing = store->size() > 40 ? smoothing() : 0;
        if (run.startMs > 0) {
            curve.startMs = run.startMs;
        }
        curves.curves.push_back(std::move(curve));
    }
    if (curves.curves.size() == 1) {
        curves.curves.front().dash = 0;  // only curves that share a chart need dashes
    }
    plots_[place]->setLegendVisible(runs_.size() > 1);
    refreshState(place);
    plots_[place]->setContent(std::move(curves));
}

bool ChartBoard::isConnected() const {
    return daemon_.link().state == session::LinkState::kConnected;
}

// The badge means that values will come: a run is active, and the daemon is connected. Without the
// daemon, an empty chart must not claim that no values exist.
void ChartBoard::refreshState(std::size_t place) const {
    const QString metric = qtext(plotMetrics_[place]);
    const bool isGoing =
        std::ranges::any_of(runs_, [](const BoardRun& run) { return !run.hasEnded; });
    plots_[place]->setBadgeVisible(isGoing && isConnected());
    plots_[place]->setEmptyText(
        isConnected() ? tr("No values of %1 yet").arg(metric)
                      : tr("No connection: values of %1 are not known here").arg(metric));
}

void ChartBoard::fetch() {
    for (const BoardRun& run : runs_) {
        fetchRun(run);
    }
}

void ChartBoard::fetchRun(const BoardRun& run) {
    std::unique_ptr<Loaded>& loaded = loaded_[run.id];
    if (!loaded || loaded->attempt != run.attempt) {
        loaded = std::make_unique<Loaded>();
        loaded->attempt = run.attempt;
        loaded->askedMs = -kAgainMs;
    }
    const bool isOld = loaded->step != run.step || loaded->hasEnded != run.hasEnded;
    if (isOld && clock_.elapsed() - loaded->askedMs >= kAgainMs) {
        loaded->names.clear();
        loaded->step = run.step;
        loaded->hasEnded = run.hasEnded;
        loaded->askedMs = clock_.elapsed();
    } else if (isOld && !againTimer_.isActive()) {
        againTimer_.start();
    }
    std::vector<std::string> missing;
    for (const std::string& metric : plotMetrics_) {
        if (loaded->names.count(metric) == 0 && loaded->onTheWay.count(metric) == 0) {
            missing.push_back(metric);
        }
    }
    if (!missing.empty()) {
        loaded->onTheWay.insert(missing.begin(), missing.end());
        ask(run, missing);
    }
}

void ChartBoard::ask(const BoardRun& run, const std::vector<std::string>& names) {
    values::MetricRangeRequest request;
    request.run = run.id;
    request.names = names;
    request.maxPoints = kPoints;
    ++numOpen_;
    daemon_.metricRange(
        std::move(request), this,
        [this, id = run.id, names, epoch = epoch_](Result<values::MetricHistory> reply) {
            if (epoch != epoch_) {
                return;
            }
            --numOpen_;
            const auto loaded = loaded_.find(id);
            if (loaded == loaded_.end()) {
                return;
            }
            for (const std::string& name : names) {
                loaded->second->onTheWay.erase(name);
            }
            if (reply.ok()) {
                loaded->second->names.insert(names.begin(), names.end());
                loaded->second->series.setHistory(*reply);
                fill();
            }
        });
}

// Fetches the visible part of thinned curves, with all its points or at least more of them.
void ChartBoard::refine() {
    if (link_->isLive() || link_->view().isEmpty()) {
        return;
    }
    for (const BoardRun& run : runs_) {
        if (loaded_.count(run.id) > 0) {
            refineRun(run, loaded_[run.id]->series);
        }
    }
}

void ChartBoard::refineRun(const BoardRun& run, const WatchSeries& series) {
    const CurveRange view = link_->view();
    const std::set<std::string> names(plotMetrics_.begin(), plotMetrics_.end());
    const double start = link_->xAxis() == XAxis::kRelativeTime ? run.startMs : 0;
    const auto steps =
        series.stepsIn(names, columnOf(link_->xAxis()), view.low + start, view.high + start);
    values::MetricRangeRequest request;
    for (const std::string& name : names) {
        if (steps && series.wantsDetail(name, steps->from, steps->to)) {
            request.names.push_back(name);
        }
    }
    if (request.names.empty()) {
        return;
    }
    request.run = run.id;
    request.fromStep = steps->from;
    request.toStep = steps->to;
    request.maxPoints = kPoints;
    ++numOpen_;
    daemon_.metricRange(
        std::move(request), this,
        [this, id = run.id, steps = *steps, epoch = epoch_](Result<values::MetricHistory> reply) {
            if (epoch != epoch_) {
                return;
            }
            --numOpen_;
            const auto still = loaded_.find(id);
            if (reply.ok() && still != loaded_.end()) {
                still->second->series.refine(*reply, steps.from, steps.to);
                fill();
            }
        });
}

void ChartBoard::openPicker() {
    auto* picker = new MetricPicker(offered_, chosen_, this);
    connect(picker, &MetricPicker::changed, this,
            [this](const std::vector<std::string>& chosen) { choose(chosen); });
    picker->openBelow(*metricButton_);
}

void ChartBoard::save(QSettings& settings) const {
    settings.setValue("smoothing", smoothing_->value());
    settings.setValue("axis", axis_->currentIndex());
    settings.setValue(tr("log"), logButton_->isChecked());
    QStringList names;
    for (const std::string& name : chosen_) {
        names.append(qtext(name));
    }
    settings.setValue("metrics", isChosenByHand_ ? names : QStringList());
}

void ChartBoard::restore(QSettings& settings) {
    smoothing_->setValue(settings.value("smoothing", 60).toInt());
    axis_->setCurrentIndex(std::clamp(settings.value("axis", 0).toInt(), 0, 2));
    logButton_->setChecked(settings.value(tr("log"), false).toBool());
    std::vector<std::string> names;
    for (const QString& name : settings.value("metrics").toStringList()) {
        names.push_back(name.toStdString());
    }
    if (!names.empty()) {
        choose(std::move(names));
    }
}

}  // namespace millrace::gui
