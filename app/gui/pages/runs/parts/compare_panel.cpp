#include "app/gui/pages/runs/parts/compare_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_diff.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/diff_delegate.h"
#include "app/gui/pages/runs/parts/run_header.h"
#include "app/gui/pages/runs/parts/table_export.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kNameWidth = 170, kLeastWidth = 150, kMostWidth = 320;  // of the table's columns

}  // namespace

BoardRun boardRunOf(const values::RunSummary& run) {
    BoardRun board;
    board.id = run.id;
    board.label = run.variation.empty() ? qtext(run.name) : qtext(run.variation);
    board.startMs = static_cast<double>(run.startedMs);
    board.step = run.progress.step;
    board.attempt = run.attempt;
    board.hasEnded = values::isEnded(run.state);
    return board;
}

ComparePanel::ComparePanel(DaemonBridge& daemon, RunTable& runs, const RunColors& colors,
                           QWidget* parent)
    : QWidget(parent), daemon_(daemon), runs_(runs), colors_(colors), diff_(new RunDiff(this)) {
    build();
    connect(diff_, &QAbstractItemModel::modelReset, this, [this] { fitColumns(); });
}

void ComparePanel::build() {
    auto* layout = boxIn<QVBoxLayout>(this, kSpaceSmall, kSectionMargins);
    error_ = new MessageStrip(this);
    layout->addWidget(error_);
    splitter_ = new QSplitter(Qt::Vertical, this);
    splitter_->setChildrenCollapsible(false);
    board_ = new ChartBoard(daemon_, colors_, splitter_);
    connect(board_, &ChartBoard::copied, this, &ComparePanel::said);
    splitter_->addWidget(board_);
    splitter_->addWidget(buildTableSide());
    splitter_->setStretchFactor(0, 3);
    splitter_->setStretchFactor(1, 2);
    splitter_->setSizes({480, 320});
    layout->addWidget(splitter_, 1);
}

QWidget* ComparePanel::buildTableSide() {
    auto* side = new QWidget(splitter_);
    auto* layout = boxIn<QVBoxLayout>(side, kSpaceTiny, {0, kSpaceSmall, 0, 0});
    auto* bar = new QHBoxLayout;
    summary_ = styled<QLabel>("dim", side);
    all_ = new QToolButton(side);
    all_->setText(tr("Show equal ones"));
    all_->setCheckable(true);
    all_->setToolTip(tr("Also what is the same in all of these runs"));
    connect(all_, &QToolButton::toggled, this,
            [this](bool isAll) { diff_->setOnlyDifferent(!isAll); });
    export_ = new TableExport(daemon_, [this] { return diff_->texts(); }, this);
    connect(export_, &TableExport::said, this, &ComparePanel::noticed);
    auto* take = new QToolButton(side);
    take->setText(tr("Copy or save"));
    take->setPopupMode(QToolButton::InstantPopup);
    take->setMenu(new QMenu(take));
    export_->addTo(*take->menu());
    bar->addWidget(summary_, 1);
    bar->addWidget(all_);
    bar->addWidget(take);
    layout->addLayout(bar);
    unpaired_ = new QLabel(side);
    remarks_ = new QLabel(side);
    for (QLabel* label : {unpaired_, remarks_}) {
        setLook(*label, "dim");
        label->setWordWrap(true);
        label->hide();
        layout->addWidget(label);
    }
    // Two views of one model, because QTableView cannot freeze a column: one shows column 0 only,
    // the other all but that.
    figures_ = new DiffDelegate(*diff_, side);
    names_ = buildTable(side, tr("Names of what differs"));
    table_ = buildTable(side, tr("What differs"));
    names_->setFocusProxy(table_);
    names_->setFixedWidth(kNameWidth);
    names_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    names_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    gap_ = new QWidget(side);
    gap_->setFixedHeight(0);
    connectTables();
    auto* copy = new QShortcut(QKeySequence::Copy, table_, nullptr, nullptr, Qt::WidgetShortcut);
    connect(copy, &QShortcut::activated, export_, &TableExport::copy);
    auto* left = boxIn<QVBoxLayout>(nullptr, 0);
    left->addWidget(names_, 1);
    left->addWidget(gap_);
    auto* tables = boxIn<QHBoxLayout>(nullptr, 0);
    tables->addLayout(left);
    tables->addWidget(table_, 1);
    layout->addLayout(tables, 1);
    return side;
}

QTableView* ComparePanel::buildTable(QWidget* side, const QString& name) {
    auto* table = new QTableView(side);
    table->setHorizontalHeader(new RunHeader(colors_, table));
    table->setModel(diff_);
    table->setItemDelegate(figures_);
    table->setAccessibleName(name);
    table->setShowGrid(false);
    table->setFrameShape(QFrame::NoFrame);
    table->setWordWrap(false);
    table->setTabKeyNavigation(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(QFontMetrics(font()).height() + 9);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    return table;
}

// The names column stays while the runs scroll sideways, and scrolls vertically with them.
void ComparePanel::connectTables() {
    table_->setSelectionModel(names_->selectionModel());
    QScrollBar *left = names_->verticalScrollBar(), *right = table_->verticalScrollBar();
    connect(left, &QScrollBar::valueChanged, right, &QScrollBar::setValue);
    connect(right, &QScrollBar::valueChanged, left, &QScrollBar::setValue);
    const QScrollBar* across = table_->horizontalScrollBar();
    connect(across, &QScrollBar::rangeChanged, this, [this, across](int low, int high) {
        gap_->setFixedHeight(low < high ? across->sizeHint().height() : 0);
    });
}

void ComparePanel::setRuns(const std::vector<std::string>& ids) {
    std::vector<std::string> wanted = ids;
    if (wanted.size() > kMostRuns) {
        wanted.resize(kMostRuns);
        error_->setMessage(
            Tone::kInfo,
            tr("The first %1 of %2 runs are compared.").arg(kMostRuns).arg(ids.size()));
    } else {
        error_->clearMessage();
    }
    if (wanted == ids_) {
        return;
    }
    ids_ = std::move(wanted);
    // Details hold the spec and all parameters: those of runs that are not compared any more go.
    std::erase_if(details_, [this](const auto& detail) {
        return std::ranges::find(ids_, detail.first) == ids_.end();
    });
    fetchMissing();
    fetchPairs();
    showBoard();
    show();
}

// Once per set of evaluations: the daemon reads every row.
void ComparePanel::fetchPairs() {
    QString key;
    for (const std::string& id : ids_) {
        const values::RunSummary* run = runs_.find(id);
        const values::RunFigure* rows = run == nullptr ? nullptr : run->newest(metric::kEvalRows);
        // The time of the newest evaluation: another one makes the pairs outdated.
        key += qtext(id) + QString(" %1 ").arg(rows == nullptr ? 0 : rows->timeMs);
    }
    if (key == pairedKey_) {
        return;
    }
    pairedKey_ = key;
    isPairing_ = ids_.size() > 1;
    if (!isPairing_) {
        showPairs({}, QString());
        return;
    }
    daemon_.pair(
        {ids_}, this,
        [this, key](Result<values::PairReply> reply) {
            // Other runs, or a newer evaluation, were requested meanwhile.
            if (key != pairedKey_) {
                return;
            }
            isPairing_ = false;
            const QString why = whyUnpaired(reply);
            showPairs(reply.ok() ? *std::move(reply) : values::PairReply(), why);
        },
        "compare-pairs");
}

void ComparePanel::showPairs(values::PairReply pairs, const QString& unpaired) {
    diff_->setPairs(ids_.empty() ? std::string() : ids_.front(), std::move(pairs));
    showRemarks();
    unpaired_->setText(unpaired);
    unpaired_->setVisible(!unpaired.isEmpty());
}

// The pairs name files that differ, and arrive after the runs or before them.
void ComparePanel::showRemarks() {
    remarks_->setText(diff_->remarks());
    remarks_->setVisible(!remarks_->text().isEmpty());
}

QString ComparePanel::unpairedText() const {
    return unpaired_->text();
}

QString ComparePanel::remarksText() const {
    return remarks_->text();
}

void ComparePanel::fetchMissing() {
    for (const std::string& id : ids_) {
        if (details_.count(id) > 0 || !onTheWay_.insert(id).second) {
            continue;
        }
        // epoch_ counts calls of clear(): replies from before belong to another daemon or
        // comparison.
        daemon_.get(id, this, [this, id, epoch = epoch_](Result<values::RunDetail> reply) {
            if (epoch != epoch_) {
                return;
            }
            onTheWay_.erase(id);
            if (!reply.ok()) {
                const std::string_view why = messageOf(reply.status());
                error_->setMessage(Tone::kBad, qtext(id + ": " + std::string(why)));
            } else if (std::ranges::find(ids_, id) != ids_.end()) {
                details_[id] = std::make_shared<values::RunDetail>(*std::move(reply));
            }
            // Shown once, when all have arrived: the first run is the reference for the others.
            if (onTheWay_.empty()) {
                show();
            }
        });
    }
}

void ComparePanel::show() {
    std::vector<std::shared_ptr<const values::RunDetail>> runs;
    for (const std::string& id : ids_) {
        if (const auto detail = details_.find(id); detail != details_.end()) {
            runs.push_back(detail->second);
        }
    }
    diff_->setRuns(std::move(runs));
    showRemarks();
    const int number = diff_->numDifferent();
    summary_->setText(!onTheWay_.empty() ? tr("Reading %1 runs …").arg(ids_.size())
                      : number == 0      ? tr("Nothing differs between these runs")
                                         : tr("%1 facts differ").arg(number));
}

std::vector<std::string> ComparePanel::metricNames() const {
    std::set<std::string> names;
    for (const std::string& id : ids_) {
        if (const values::RunSummary* run = runs_.find(id)) {
            for (const values::RunFigure& point : run->latestMetrics) {
                names.insert(point.name);
            }
        }
    }
    return session::eachOnce({names.begin(), names.end()});
}

void ComparePanel::showBoard() {
    std::vector<BoardRun> board;
    for (const std::string& id : ids_) {
        if (const values::RunSummary* run = runs_.find(id)) {
            board.push_back(boardRunOf(*run));
        }
    }
    board_->setRuns(std::move(board));
    board_->setMetrics(metricNames());
}

void ComparePanel::refresh() {
    if (ids_.empty()) {
        return;
    }
    showBoard();
    fetchPairs();
    // A copy, because update() changes the list.
    for (const auto& shown : std::vector(diff_->runs())) {
        const values::RunSummary* run = runs_.find(shown->summary.id);
        if (run != nullptr && run->revision != shown->summary.revision) {
            diff_->update(*run);
        }
    }
}

void ComparePanel::looksChanged() {
    board_->looksChanged();
    table_->horizontalHeader()->viewport()->update();
}

void ComparePanel::fitColumns() {
    const int numRuns = diff_->columnCount() - 1;
    if (numRuns < 1) {
        return;
    }
    const int room =
        table_->contentsRect().width() - table_->verticalScrollBar()->sizeHint().width();
    names_->horizontalHeader()->resizeSection(0, kNameWidth);
    for (int column = 0; column <= numRuns; ++column) {
        names_->setColumnHidden(column, column > 0);
        table_->setColumnHidden(column, column == 0);
        const int figures = figures_->figureWidth(column, table_->font());
        table_->horizontalHeader()->resizeSection(
            column, std::clamp(std::max(room / numRuns, figures), kLeastWidth, kMostWidth));
    }
}

void ComparePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitColumns();
}

void ComparePanel::clear() {
    ++epoch_;
    onTheWay_.clear();
    details_.clear();
    ids_.clear();
    pairedKey_.clear();
    isPairing_ = false;
    showPairs({}, QString());
    board_->clear();
    show();
}

bool ComparePanel::isSettled() const {
    return onTheWay_.empty() && !isPairing_ && board_->isSettled();
}

void ComparePanel::setOnlyDifferent(bool isOnly) {
    all_->setChecked(!isOnly);
}

void ComparePanel::save(QSettings& settings) const {
    settings.beginGroup("compare");
    board_->save(settings);
    settings.setValue("splitter", splitter_->saveState());
    settings.setValue("all", all_->isChecked());
    settings.endGroup();
}

void ComparePanel::restore(QSettings& settings) {
    settings.beginGroup("compare");
    board_->restore(settings);
    splitter_->restoreState(settings.value("splitter").toByteArray());
    all_->setChecked(settings.value("all", false).toBool());
    settings.endGroup();
}

}  // namespace millrace::gui
