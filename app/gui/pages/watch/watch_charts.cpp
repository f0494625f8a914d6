#include "app/gui/pages/watch/watch_charts.h"

#include <QAction>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QResizeEvent>
#include <QScrollArea>
#include <QToolButton>
#include <algorithm>

#include "app/gui/charts/parts/line_dash.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/pages/watch/watch_feed.h"
#include "app/gui/widgets/live_badge.h"
#include "app/gui/widgets/look.h"
#include "app/gui/widgets/metric_picker.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kChartWidthMin = 270;
constexpr int kChartHeightMin = 150;
constexpr int kColumnsMax = 3;
constexpr std::size_t kMachinesMax = 8;
constexpr std::size_t kLegendRunsMax = 3;

// A run that is alone in its chart gets a solid line: dashes only distinguish curves.
void undash(Curves& curves) {
    const auto runOf = [](const Curve& curve) { return curve.id.section('/', 0, 0); };
    const bool isAlone = std::ranges::all_of(curves.curves, [&](const Curve& curve) {
        return runOf(curve) == runOf(curves.curves.front());
    });
    const int dash = curves.curves.empty() || !isAlone ? 0 : curves.curves.front().dash / 2 * 2;
    for (Curve& curve : curves.curves) {
        curve.dash -= dash;
    }
}

// A curve that looks like an earlier one gets another dash, else another colour, while looks are
// left.
void tellApart(Curves& curves) {
    std::set<std::pair<QRgb, int>> known;
    std::vector<QColor> colors = RunColors::palette();
    for (Curve& curve : curves.curves) {
        colors.insert(colors.begin(), curve.color);
        for (std::size_t i = 0; i < colors.size() * kNumLineDashes; ++i) {
            const QColor& color = colors[i / kNumLineDashes];
            const int dash = (curve.dash + static_cast<int>(i)) % kNumLineDashes;
            if (known.emplace(color.rgb(), dash).second) {
                curve.color = color;
                curve.dash = dash;
                break;
            }
        }
        colors.erase(colors.begin());
    }
}

}  // namespace

WatchCharts::WatchCharts(const Sources& sources, QHBoxLayout* bar, QWidget* parent)
    : QWidget(parent), sources_(sources) {
    auto* column = boxIn<QVBoxLayout>(this);
    area_ = new QScrollArea(this);
    area_->setFrameShape(QFrame::NoFrame);
    area_->setWidgetResizable(true);
    area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    page_ = new QWidget(area_);
    grid_ = new QGridLayout(page_);
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setSpacing(kSpaceSmall);
    area_->setWidget(page_);
    column->addWidget(area_);
    folded_ = styled<ElidedLabel>("caption", this, Qt::ElideRight);
    folded_->hide();
    column->addWidget(folded_);
    link_.setXAxis(XAxis::kWallTime);
    buildBar(bar);
    addDefaults();
    connect(&link_, &ChartLink::liveChanged, this, &WatchCharts::refreshBadge);
    connect(&link_, &ChartLink::viewChanged, this, &WatchCharts::askDetail);
    connect(&link_, &ChartLink::liveChanged, this, &WatchCharts::askDetail);
    connect(&link_, &ChartLink::axisChanged, this, &WatchCharts::rebuild);
    refreshBadge();
    arrange();
}

void WatchCharts::buildBar(QHBoxLayout* bar) {
    badge_ = new LiveBadge(this);
    connect(badge_, &LiveBadge::clicked, this, &WatchCharts::follow);
    axisBox_ = new QComboBox(this);
    axisBox_->setToolTip(tr("What the horizontal axis is"));
    windowBox_ = new QComboBox(this);
    windowBox_->setToolTip(tr("How much of the newest LIVE shows"));
    addAxes();
    addWindows();
    metricButton_ = new QToolButton(this);
    metricButton_->setText(tr("Metrics"));
    metricButton_->setToolTip(tr("Charts of more metrics"));
    metricButton_->setObjectName(QStringLiteral("metrics"));
    connect(metricButton_, &QToolButton::clicked, this, &WatchCharts::openMetricPicker);
    for (QWidget* control :
         std::initializer_list<QWidget*>{badge_, axisBox_, windowBox_, metricButton_}) {
        bar->addWidget(control);
    }
}

void WatchCharts::addAxes() {
    const auto add = [this](const QString& text, XAxis axis) {
        axisBox_->addItem(text, static_cast<int>(axis));
    };
    add(tr("Time of day"), XAxis::kWallTime);
    add(tr("Since the start"), XAxis::kRelativeTime);
    add(tr("Step"), XAxis::kStep);
    add(tr("Rows"), XAxis::kRows);
    connect(axisBox_, &QComboBox::currentIndexChanged, this, [this] {
        const auto axis = static_cast<XAxis>(axisBox_->currentData().toInt());
        const bool isTime = axis == XAxis::kWallTime || axis == XAxis::kRelativeTime;
        windowBox_->setEnabled(isTime);
        link_.setXAxis(axis);
        link_.setLiveWindow(isTime ? windowBox_->currentData().toDouble() : 0);
    });
}

void WatchCharts::addWindows() {
    windowBox_->addItem(tr("Everything"), 0.0);
    windowBox_->addItem(tr("Last hour"), 3'600'000.0);
    windowBox_->addItem(tr("Last 10 min"), 600'000.0);
    windowBox_->addItem(tr("Last minute"), 60'000.0);
    connect(windowBox_, &QComboBox::currentIndexChanged, this, [this] {
        link_.setLiveWindow(windowBox_->currentData().toDouble());
        link_.follow();
    });
}

void WatchCharts::addDefaults() {
    const Unit percent{UnitKind::kPercent, {}};
    add(QStringLiteral("rate"), Kind::kMetrics, titleOf(session::word::kRate),
        {UnitKind::kCount, QString::fromUtf8(session::word::kRate.unit)},
        session::metricsOf(session::MetricChart::kRate));
    add(QStringLiteral("loss"), Kind::kMetrics, capital(metricTitle(metric::kLoss)), {},
        session::metricsOf(session::MetricChart::kLoss));
    add(QStringLiteral("stall"), Kind::kMetrics, titleOf(session::word::kStall), percent,
        session::metricsOf(session::MetricChart::kStall))
        .plot->setYBounds(0, 100);
    add(QStringLiteral("cpu"), Kind::kCpu, titleOf(session::word::kCpu), percent, {})
        .plot->setYBounds(0, 100);
    add(QStringLiteral("gpu"), Kind::kGpu, titleOf(session::word::kGpu), percent, {})
        .plot->setYBounds(0, 100);
    add(QStringLiteral("rows"), Kind::kMetrics, tr("Rows read, and kept (dashed)"),
        {UnitKind::kCount, tr("rows/s")}, session::metricsOf(session::MetricChart::kRows))
        .suffixes = QStringList{tr("read"), tr("kept")};
}

WatchCharts::Entry& WatchCharts::add(const QString& key, Kind kind, const QString& title,
                                     const Unit& unit, std::vector<std::string> metrics) {
    Entry entry;
    entry.key = key;
    entry.kind = kind;
    entry.metrics = std::move(metrics);
    entry.plot = new PlotWidget(page_);
    entry.plot->setObjectName(key);
    entry.plot->setLink(&link_);
    entry.plot->setTitle(title);
    entry.plot->setUnit(unit);
    entry.plot->setBadgeVisible(false);
    entry.plot->setMinimumHeight(kChartHeightMin);
    connect(entry.plot, &Chart::copied, this, &WatchCharts::copied);
    charts_.push_back(std::move(entry));
    return charts_.back();
}

void WatchCharts::setRuns(const std::vector<std::string>& runs) {
    if (runs != runs_) {
        runs_ = runs;
        rebuild();
    }
}

void WatchCharts::rebuild() {
    for (Entry& entry : charts_) {
        fill(entry);
    }
    fold();
}

void WatchCharts::dataChanged(const std::string& run) {
    bool isUnfolding = false;
    for (Entry& entry : charts_) {
        const bool isOfRun = entry.kind == Kind::kMetrics;
        if (isOfRun == run.empty()) {
            continue;
        }
        if (entry.isFolded) {
            fill(entry);
            isUnfolding = isUnfolding || !entry.plot->isEmpty();
        } else {
            entry.plot->dataChanged();
        }
    }
    if (isUnfolding) {
        fold();
    }
}

// A job that has begun logs its usual metrics with its first steps; for a known machine it is known
// whether it has GPUs.
bool WatchCharts::isExpected(const Entry& entry) const {
    if (entry.kind != Kind::kMetrics) {
        return entry.kind == Kind::kCpu;
    }
    return std::ranges::any_of(runs_, [this](const std::string& run) {
        const LaneState* lane = sources_.lanes.find(run);
        return lane != nullptr && !lane->isEnded() && lane->run.progress.step == 0;
    });
}

// The axis goes from the start of the selected jobs to their end or now. Machines existed before
// and exist after; before a job has started they are the only data.
bool WatchCharts::isLeading(const Entry& entry) const {
    return entry.kind == Kind::kMetrics ||
           std::ranges::none_of(runs_, [this](const std::string& run) {
               const LaneState* lane = sources_.lanes.find(run);
               return lane != nullptr && lane->run.startedMs > 0;
           });
}

void WatchCharts::fold() {
    const bool isAllEmpty =
        std::ranges::all_of(charts_, [](const Entry& entry) { return entry.plot->isEmpty(); });
    bool isNew = false;
    QStringList names;
    for (Entry& entry : charts_) {
        entry.plot->setLeading(isLeading(entry));
        const bool isFolded = !isAllEmpty && entry.plot->isEmpty() && !isExpected(entry);
        isNew = isNew || isFolded != entry.isFolded;
        entry.isFolded = isFolded;
        if (isFolded) {
            names << entry.plot->title() + QStringLiteral(" (") + entry.plot->emptyText() +
                         QLatin1Char(')');
        }
    }
    folded_->setFullText(
        names.isEmpty() ? QString() : tr("Without data: %1").arg(names.join(QStringLiteral(", "))));
    folded_->setVisible(!names.isEmpty());
    if (isNew) {
        numColumns_ = 0;
        arrange();
    }
}

QString WatchCharts::foldedText() const {
    return folded_->isHidden() ? QString() : folded_->fullText();
}

void WatchCharts::fill(Entry& entry) {
    Curves curves;
    if (entry.kind == Kind::kMetrics) {
        for (const std::string& run : runs_) {
            addRunCurves(entry, run, curves);
        }
    } else if (link_.xAxis() == XAxis::kWallTime) {
        addMachineCurves(entry.kind, curves);
    } else {
        addSystemCurves(entry.kind, curves);
    }
    undash(curves);
    tellApart(curves);
    entry.plot->setEmptyText(emptyText(entry));
    // With many runs the lanes above are the legend, and the curves need the room.
    const bool isCrowded = entry.kind == Kind::kMetrics && runs_.size() > kLegendRunsMax;
    entry.plot->setLegendVisible(curves.curves.size() > 1 && !isCrowded);
    entry.plot->setLeading(isLeading(entry));
    entry.plot->setContent(std::move(curves));
}

void WatchCharts::addRunCurves(const Entry& entry, const std::string& run, Curves& curves) const {
    for (std::size_t i = 0; i < entry.metrics.size(); ++i) {
        const QString suffix = entry.suffixes.value(static_cast<int>(i));
        addCurve(run, entry.metrics[i], suffix, static_cast<int>(i), curves);
    }
}

// `number`: the index of the curve among the run's in this chart. The first one has the run's look.
void WatchCharts::addCurve(const std::string& run, const std::string& metric, const QString& suffix,
                           int number, Curves& curves) const {
    const WatchSeries* series = sources_.feed.series(run);
    const auto store = series != nullptr ? series->curve(metric) : nullptr;
    if (!store) {
        return;
    }
    const LaneState* lane = sources_.lanes.find(run);
    const RunColors::Look look = sources_.colors.of(run);
    Curve curve;
    curve.id = QString::fromStdString(run + "/" + metric);
    curve.name = lane != nullptr ? lane->title() : QString::fromStdString(run);
    if (!suffix.isEmpty()) {
        curve.name += QLatin1Char(' ') + suffix;
    }
    curve.color = look.color;
    curve.dash = look.dash + number;
    curve.store = store;
    curve.band = series->band(metric);
    if (lane != nullptr && lane->run.startedMs > 0) {
        curve.startMs = static_cast<double>(lane->run.startedMs);
    }
    curves.curves.push_back(std::move(curve));
}

// The machines of the selected runs; without any run, all of them.
std::vector<const NodeState*> WatchCharts::machines() const {
    std::vector<const NodeState*> found;
    const auto take = [&](const NodeState* node) {
        if (node != nullptr && std::ranges::find(found, node) == found.end() &&
            found.size() < kMachinesMax) {
            found.push_back(node);
        }
    };
    for (const std::string& run : runs_) {
        const LaneState* lane = sources_.lanes.find(run);
        take(lane != nullptr ? sources_.nodes.find(lane->run.host) : nullptr);
    }
    const int numAll = found.empty() ? sources_.nodes.numNodes() : 0;
    for (int row = 0; row < numAll; ++row) {
        take(&sources_.nodes.node(row));
    }
    return found;
}

void WatchCharts::addMachineCurves(Kind kind, Curves& curves) const {
    const auto add = [&](const QString& id, const QString& name,
                         const std::shared_ptr<CurveStore>& store) {
        if (store && !store->isEmpty()) {
            Curve curve;
            curve.id = id;
            curve.name = name;
            const RunColors::Look look = RunColors::numbered(curves.curves.size());
            curve.color = look.color;
            curve.dash = look.dash;
            curve.store = store;
            curves.curves.push_back(std::move(curve));
        }
    };
    const std::vector<const NodeState*> shown = machines();
    for (const NodeState* node : shown) {
        if (kind == Kind::kCpu) {
            add(node->name(), node->name(), node->cpuCurve);
            continue;
        }
        for (const NodeState::Gpu& gpu : node->gpus) {
            const QString name = tr("GPU %1").arg(gpu.info.index);
            add(node->name() + QLatin1Char('/') + QString::number(gpu.info.index),
                shown.size() > 1 ? node->name() + QLatin1Char(' ') + name : name, gpu.curve);
        }
    }
}

// On a step or relative time axis a machine's values belong to a run.
void WatchCharts::addSystemCurves(Kind kind, Curves& curves) const {
    for (const std::string& run : runs_) {
        if (kind == Kind::kCpu) {
            addCurve(run, metric::kSystemCpuPercent, {}, 0, curves);
            continue;
        }
        for (int gpu = 0; gpu < 16; ++gpu) {
            addCurve(run, metric::ofGpu(gpu, metric::kGpuUtilizationPercent), tr("GPU %1").arg(gpu),
                     gpu, curves);
        }
    }
    // For one run, colours distinguish the GPUs, as for a machine.
    for (std::size_t i = 0; kind == Kind::kGpu && runs_.size() == 1 && i < curves.curves.size();
         ++i) {
        const RunColors::Look look = RunColors::numbered(i);
        curves.curves[i].color = look.color;
        curves.curves[i].dash = look.dash;
    }
}

QString WatchCharts::emptyText(const Entry& entry) const {
    if (entry.kind == Kind::kGpu) {
        const std::vector<const NodeState*> shown = machines();
        if (shown.size() == 1 && shown.front()->gpus.empty()) {
            return shown.front()->name() + QStringLiteral(": ") + shown.front()->gpuSentence();
        }
        const bool hasNone =
            std::ranges::all_of(shown, [](const NodeState* node) { return node->gpus.empty(); });
        return hasNone && !shown.empty() ? tr("no GPU on these nodes") : tr("no GPU sample yet");
    }
    if (entry.kind == Kind::kCpu) {
        return tr("no sample of a node yet");
    }
    return runs_.empty() ? tr("Select a run to see it here.")
                         : tr("not logged yet by the selected runs");
}

std::vector<std::string> WatchCharts::offeredMetrics() const {
    std::set<std::string> usual;
    for (const Entry& entry : charts_) {
        if (!extra_.contains(entry.key.toStdString())) {
            usual.insert(entry.metrics.begin(), entry.metrics.end());
        }
    }
    std::vector<std::string> names = sources_.feed.metricNames();
    names.insert(names.end(), extra_.begin(), extra_.end());
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase_if(names, [&](const std::string& name) {
        return usual.contains(name) || session::isInternalMetric(name);
    });
    return names;
}

void WatchCharts::openMetricPicker() {
    const std::vector<std::string> offered = offeredMetrics();
    auto* picker = new MetricPicker(offered, {extra_.begin(), extra_.end()}, this);
    connect(picker, &MetricPicker::changed, this,
            [this, offered](const std::vector<std::string>& chosen) {
                const std::set<std::string> wanted(chosen.begin(), chosen.end());
                for (const std::string& name : offered) {
                    setMetricShown(name, wanted.contains(name));
                }
            });
    picker->openBelow(*metricButton_);
}

void WatchCharts::setMetricShown(const std::string& metric, bool isShown) {
    if (isShown == extra_.contains(metric)) {
        return;
    }
    const QString key = QString::fromStdString(metric);
    if (isShown) {
        extra_.insert(metric);
        fill(add(key, Kind::kMetrics, metricTitle(metric), chartUnit(session::metricUnit(metric)),
                 {metric}));
    } else {
        extra_.erase(metric);
        const auto entry =
            std::ranges::find_if(charts_, [&](const Entry& e) { return e.key == key; });
        link_.forget(entry->plot);
        entry->plot->hide();
        entry->plot->deleteLater();
        charts_.erase(entry);
    }
    numColumns_ = 0;
    fold();
    arrange();
}

void WatchCharts::arrange() {
    const int columns = std::clamp(width() / kChartWidthMin, 1, kColumnsMax);
    if (columns == numColumns_) {
        return;
    }
    numColumns_ = columns;
    for (int column = 0; column < kColumnsMax; ++column) {
        grid_->setColumnStretch(column, column < columns ? 1 : 0);
    }
    QWidget* before = nullptr;
    int place = 0;
    for (const Entry& entry : charts_) {
        grid_->removeWidget(entry.plot);
        entry.plot->setVisible(!entry.isFolded);
        if (entry.isFolded) {
            continue;
        }
        grid_->addWidget(entry.plot, place / columns, place % columns);
        ++place;
        if (before != nullptr) {
            QWidget::setTabOrder(before, entry.plot);
        }
        before = entry.plot;
    }
}

void WatchCharts::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
    sources_.feed.setPixelWidth(
        static_cast<int>(width() / std::max(1, numColumns_) * devicePixelRatioF()));
}

void WatchCharts::focusChart(int place) {
    for (const Entry& entry : charts_) {
        if (!entry.isFolded && place-- == 0) {
            area_->ensureWidgetVisible(entry.plot);
            entry.plot->setFocus(Qt::ShortcutFocusReason);
            return;
        }
    }
}

void WatchCharts::refreshBadge() {
    badge_->setLive(link_.isLive());
    badge_->setVisible(isGoing_ || !link_.isLive());
}

bool WatchCharts::isBadgeShown() const {
    return !badge_->isHidden();
}

QString WatchCharts::badgeText() const {
    return badge_->word();
}

void WatchCharts::setAway(bool isAway) {
    badge_->setAway(isAway);
}

void WatchCharts::setGoing(bool isGoing) {
    if (isGoing != isGoing_) {
        isGoing_ = isGoing;
        refreshBadge();
    }
}

void WatchCharts::askDetail() {
    if (link_.isLive() && link_.liveWindow() <= 0) {
        return;
    }
    std::set<std::string> names;
    for (const Entry& entry : charts_) {
        names.insert(entry.metrics.begin(), entry.metrics.end());
    }
    sources_.feed.detail(names, link_.xAxis(), link_.view());
}

void WatchCharts::saveState(QSettings& settings) const {
    QStringList extra;
    for (const std::string& name : extra_) {
        extra << QString::fromStdString(name);
    }
    settings.setValue(QStringLiteral("charts/metrics"), extra);
    settings.setValue(QStringLiteral("charts/axis"), axisBox_->currentIndex());
    settings.setValue(QStringLiteral("charts/window"), windowBox_->currentIndex());
}

void WatchCharts::restoreState(QSettings& settings) {
    for (const QString& name : settings.value(QStringLiteral("charts/metrics")).toStringList()) {
        setMetricShown(name.toStdString(), true);
    }
    const auto restore = [&](QComboBox* box, const QString& key) {
        box->setCurrentIndex(qBound(0, settings.value(key, 0).toInt(), box->count() - 1));
    };
    restore(windowBox_, QStringLiteral("charts/window"));
    restore(axisBox_, QStringLiteral("charts/axis"));
}

}  // namespace millrace::gui
