#include "app/gui/pages/runs/details/metrics_section.h"

#include <QHeaderView>
#include <QPainter>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <set>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/charts/parts/sparkline.h"
#include "app/gui/models/details/run_metrics.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/compare_panel.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kTrendPoints = 120;

class TrendDelegate final : public QStyledItemDelegate {
 public:
    TrendDelegate(const RunMetrics& model, QObject* parent)
        : QStyledItemDelegate(parent), model_(model) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const std::vector<double>& values = model_.trendAt(index.row());
        if (!values.empty()) {
            SparklineStyle style;
            style.line = colorsOf(option.palette).dim;
            paintSparkline(*painter, QRectF(option.rect).adjusted(6, 4, -8, -5), values, style);
        }
    }

 private:
    const RunMetrics& model_;
};

}  // namespace

MetricsSection::MetricsSection(DaemonBridge& daemon, const RunColors& colors, QWidget* parent)
    : QWidget(parent),
      daemon_(daemon),
      model_(new RunMetrics(this)),
      table_(new QTableView(this)),
      splitter_(new QSplitter(Qt::Vertical, this)) {
    auto* layout = boxIn<QVBoxLayout>(this, kStyleSpacing, kSectionMargins);
    layout->addWidget(splitter_);
    splitter_->setChildrenCollapsible(false);
    buildTable();
    splitter_->addWidget(table_);
    board_ = new ChartBoard(daemon, colors, splitter_);
    splitter_->addWidget(board_);
    splitter_->setStretchFactor(0, 2);
    splitter_->setStretchFactor(1, 3);
    splitter_->setSizes({230, 500});
}

void MetricsSection::buildTable() {
    table_->setModel(model_);
    table_->setItemDelegateForColumn(RunMetrics::kTrend, new TrendDelegate(*model_, table_));
    table_->setAccessibleName(tr("Metrics"));
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setFrameShape(QFrame::NoFrame);
    table_->setTabKeyNavigation(false);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(QFontMetrics(font()).height() + 11);
    QHeaderView* header = table_->horizontalHeader();
    header->setHighlightSections(false);
    header->setSectionResizeMode(RunMetrics::kName, QHeaderView::Stretch);
    header->resizeSection(RunMetrics::kTrend, 110);
    for (int column = RunMetrics::kNewest; column < RunMetrics::kNumColumns; ++column) {
        header->resizeSection(column, 82);
    }
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        std::vector<std::string> chosen;
        for (const QModelIndex& index : table_->selectionModel()->selectedRows()) {
            chosen.push_back(model_->metricAt(index.row()));
        }
        board_->choose(std::move(chosen));
    });
}

void MetricsSection::showRun(const values::RunSummary& run, const std::vector<std::string>& names) {
    model_->setRun(run, names);
    board_->setRuns({boardRunOf(run)});
    board_->setMetrics(model_->names());
    if (run.id != runId_ || run.progress.step != step_ || model_->names().size() != numNames_) {
        runId_ = run.id;
        step_ = run.progress.step;
        numNames_ = model_->names().size();
        fetch(run);
    }
}

void MetricsSection::fetch(const values::RunSummary& run) {
    values::MetricRangeRequest request;
    request.run = run.id;
    request.names = model_->names();
    request.maxPoints = kTrendPoints;
    if (request.names.empty()) {
        return;
    }
    ++numOpen_;
    daemon_.metricRange(std::move(request), this,
                        [this, id = run.id](Result<values::MetricHistory> reply) {
                            --numOpen_;
                            if (reply.ok() && id == runId_) {
                                model_->setSeries(reply->series);
                            }
                        });
}

void MetricsSection::clear() {
    runId_.clear();
    step_ = -1;
    model_->clear();
    board_->clear();
}

bool MetricsSection::isSettled() const {
    return numOpen_ == 0 && board_->isSettled();
}

void MetricsSection::save(QSettings& settings) const {
    settings.beginGroup("metrics");
    board_->save(settings);
    settings.setValue("splitter", splitter_->saveState());
    settings.endGroup();
}

void MetricsSection::restore(QSettings& settings) {
    settings.beginGroup("metrics");
    board_->restore(settings);
    splitter_->restoreState(settings.value("splitter").toByteArray());
    settings.endGroup();
}

}  // namespace millrace::gui
