#include "app/gui/pages/runs/runs_view.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollBar>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/parts/run_cell_delegate.h"
#include "app/gui/pages/runs/parts/wrapped_header.h"
#include "app/gui/widgets/look.h"

namespace millrace::gui {
namespace {

constexpr int kTickWidth = 34;
constexpr double kMostPinnedShare = 0.7;

}  // namespace

RunsView::RunsView(RunRows& rows, const RunTrends& trends, const RunColors& colors, QWidget* parent)
    : QWidget(parent), rows_(rows), delegate_(new RunCellDelegate(rows, trends, colors, this)) {
    build();
    connectScrolling();
    connectSelection();
    setColumns(RunColumns());
}

void RunsView::build() {
    pinned_ = new RunTableView(rows_, *delegate_, this);
    main_ = new RunTableView(rows_, *delegate_, this);
    main_->setSelectionModel(pinned_->selectionModel());
    pinned_->setFocusProxy(main_);
    pinned_->setAccessibleName(tr("Pinned columns of runs"));
    main_->setAccessibleName(tr("Runs"));
    setFocusProxy(main_);
    pinned_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    pinned_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* layout = boxIn<QHBoxLayout>(this, 1);
    auto* left = boxIn<QVBoxLayout>(nullptr, 0);
    gap_ = new QWidget(this);
    gap_->hide();
    left->addWidget(pinned_, 1);
    left->addWidget(gap_);
    layout->addLayout(left);
    layout->addWidget(main_, 1);
    for (RunTableView* view : {pinned_, main_}) {
        buildHeader(*view);
        connectView(*view);
    }
    setRowHeights();
}

void RunsView::buildHeader(RunTableView& view) {
    QHeaderView* header = view.horizontalHeader();
    header->setSectionsMovable(true);
    header->setSectionsClickable(true);
    header->setHighlightSections(false);
    header->setMinimumSectionSize(34);
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    header->setFirstSectionMovable(&view != pinned_);  // the tick stays first
    connect(header, &QHeaderView::sectionMoved, this, [this, &view] { takeOrder(view); });
    connect(header, &QHeaderView::sectionClicked, this, [this](int column) { sortBy(column); });
    connect(header, &QHeaderView::sectionResized, this, [this](int column, int, int width) {
        if (!isArranging_ && column > RunRows::kTickColumn && width > 0) {
            columns_.setWidth(rows_.columnAt(column).facts().key, width);
            fitPinned();
            fitHeaders();
            Q_EMIT columnsChanged();
        }
    });
    connect(header, &QHeaderView::sectionHandleDoubleClicked, this, [this](int column) {
        if (column > RunRows::kTickColumn) {
            fitColumn(rows_.columnAt(column).facts().key);
        }
    });
    connect(header, &QWidget::customContextMenuRequested, this, [this, header](const QPoint& at) {
        const int column = header->logicalIndexAt(at);
        Q_EMIT headerMenuAsked(
            column > RunRows::kTickColumn ? rows_.columnAt(column).facts().key : QString(),
            header->mapToGlobal(at));
    });
}

void RunsView::connectView(RunTableView& view) {
    connect(&view, &RunTableView::hovered, this, [this](int row) { hover(row); });
    connect(&view, &RunTableView::opened, this,
            [this](int row) { Q_EMIT opened(qtext(rows_.idAt(row))); });
    view.setContextMenuPolicy(Qt::CustomContextMenu);
    connect(&view, &QWidget::customContextMenuRequested, this, [this, &view](const QPoint& at) {
        Q_EMIT menuAsked(view.viewport()->mapToGlobal(at));
    });
}

void RunsView::connectScrolling() {
    QScrollBar* left = pinned_->verticalScrollBar();
    QScrollBar* right = main_->verticalScrollBar();
    connect(left, &QScrollBar::valueChanged, right, &QScrollBar::setValue);
    connect(right, &QScrollBar::valueChanged, left, &QScrollBar::setValue);
    connect(right, &QScrollBar::valueChanged, this, [this] { Q_EMIT viewportChanged(); });
    // Both halves have the same height, whether or not the right one scrolls sideways.
    connect(main_->horizontalScrollBar(), &QScrollBar::rangeChanged, this,
            [this](int low, int high) {
                gap_->setFixedHeight(main_->horizontalScrollBar()->sizeHint().height());
                gap_->setVisible(low < high);
            });
}

void RunsView::connectSelection() {
    QItemSelectionModel* selection = main_->selectionModel();
    connect(selection, &QItemSelectionModel::selectionChanged, this,
            [this] { Q_EMIT selectionChanged(); });
    connect(selection, &QItemSelectionModel::currentRowChanged, this, [this] {
        showFocus();
        Q_EMIT selectionChanged();
    });
    connect(main_, &RunTableView::focusChanged, this, [this] { showFocus(); });
    connect(&rows_, &QAbstractItemModel::modelAboutToBeReset, this, [this] {
        keptIds_ = selectedIds();
        keptCurrent_ = currentId();
    });
    connect(&rows_, &QAbstractItemModel::modelReset, this, [this] { keepSelection(); });
    for (const auto signal :
         {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
        connect(&rows_, signal, this, [this] { Q_EMIT viewportChanged(); });
    }
    connect(&rows_, &QAbstractItemModel::layoutChanged, this, [this] { Q_EMIT viewportChanged(); });
    connect(&rows_, &QAbstractItemModel::headerDataChanged, this, [this] { showSort(); });
}

void RunsView::keepSelection() {
    std::vector<std::string> ids = keptIds_;
    const auto current = std::ranges::find(ids, keptCurrent_);
    if (current != ids.end()) {
        std::iter_swap(ids.begin(), current);
    }
    select(ids);
    Q_EMIT viewportChanged();
    Q_EMIT selectionChanged();
}

void RunsView::setRowHeights() {
    const int height = RunCellDelegate::rowHeight(font());
    for (RunTableView* view : {pinned_, main_}) {
        view->verticalHeader()->setMinimumSectionSize(height);
        view->verticalHeader()->setDefaultSectionSize(height);
    }
}

void RunsView::setColumns(const RunColumns& columns) {
    columns_ = columns;
    isArranging_ = true;
    rows_.setColumns(columns_.keys());
    arrange();
    isArranging_ = false;
    QItemSelectionModel* selection = main_->selectionModel();
    selection->select(selection->selection(),
                      QItemSelectionModel::Select | QItemSelectionModel::Rows);
    showSort();
    Q_EMIT viewportChanged();
}

void RunsView::arrange() {
    arrangeHeader(*pinned_, true);
    arrangeHeader(*main_, false);
    fitPinned();
    fitHeaders();
}

void RunsView::arrangeHeader(RunTableView& view, bool isPinned) {
    QHeaderView* header = view.horizontalHeader();
    view.setColumnHidden(RunRows::kTickColumn, !isPinned);
    header->moveSection(header->visualIndex(RunRows::kTickColumn), 0);
    header->setSectionResizeMode(RunRows::kTickColumn, QHeaderView::Fixed);
    header->resizeSection(RunRows::kTickColumn, kTickWidth);
    int place = 1;
    for (const ShownColumn& shown : columns_.shown()) {
        const int column = rows_.columnOfKey(shown.key);
        header->moveSection(header->visualIndex(column), place++);
        view.setColumnHidden(column, shown.isPinned != isPinned);
        if (shown.isPinned == isPinned) {
            // The default width must fit the heading; a width chosen by the user is kept.
            const RunColumnInfo facts = rows_.columnAt(column).facts();
            const int least = shown.width == facts.width ? view.header().widthFor(facts.title) : 0;
            header->resizeSection(column, std::max(shown.width, least));
        }
    }
}

void RunsView::fitPinned() {
    const int wanted = pinned_->horizontalHeader()->length();
    const int most = static_cast<int>(width() * kMostPinnedShare);
    pinned_->setFixedWidth(std::max(kTickWidth, width() > 0 ? std::min(wanted, most) : wanted));
}

// Both headers are as high as the one with more lines.
void RunsView::fitHeaders() {
    const int height =
        std::max(pinned_->header().sizeHint().height(), main_->header().sizeHint().height());
    for (RunTableView* view : {pinned_, main_}) {
        view->header().setFixedHeight(height);
    }
}

void RunsView::takeOrder(RunTableView& view) {
    if (isArranging_) {
        return;
    }
    const QHeaderView* header = view.horizontalHeader();
    std::vector<QString> order;
    for (int visual = 0; visual < header->count(); ++visual) {
        const int column = header->logicalIndex(visual);
        if (column > RunRows::kTickColumn && !view.isColumnHidden(column)) {
            order.push_back(rows_.columnAt(column).facts().key);
        }
    }
    const auto first = static_cast<std::size_t>(&view == pinned_ ? 0 : columns_.numPinned());
    for (std::size_t i = 0; i < order.size(); ++i) {
        columns_.move(order[i], columns_.shown()[first + i].key);
    }
    // Deferred: the header still works on its sections during its own move.
    QTimer::singleShot(0, this, [this] {
        isArranging_ = true;
        arrange();
        isArranging_ = false;
    });
    Q_EMIT columnsChanged();
}

void RunsView::fitColumn(const QString& key) {
    const int column = rows_.columnOfKey(key);
    if (column < 0) {
        return;
    }
    const auto [first, last] = visibleRows();
    int width = QFontMetrics(font()).horizontalAdvance(rows_.columnAt(column).facts().title) + 36;
    for (int row = first; row <= last; ++row) {
        width = std::max(width, delegate_->widthOf(rows_.index(row, column), font()));
    }
    columns_.setWidth(key, std::min(width, 480));
    setColumns(columns_);
    Q_EMIT columnsChanged();
}

void RunsView::sortBy(int column) {
    if (column <= RunRows::kTickColumn) {
        return;
    }
    const RunColumnInfo& facts = rows_.columnAt(column).facts();
    const Qt::SortOrder usual =
        facts.kind == RunColumnKind::kText || facts.kind == RunColumnKind::kState
            ? Qt::AscendingOrder
            : Qt::DescendingOrder;
    const bool isAgain = rows_.sortKey() == facts.key;
    if (isAgain && rows_.sortOrder() != usual) {
        rows_.setSort("created", Qt::DescendingOrder);  // the third click: newest first
    } else {
        rows_.setSort(facts.key, !isAgain                      ? usual
                                 : usual == Qt::AscendingOrder ? Qt::DescendingOrder
                                                               : Qt::AscendingOrder);
    }
    showSort();
    Q_EMIT columnsChanged();
}

void RunsView::showSort() {
    const int column = rows_.columnOfKey(rows_.sortKey());
    for (RunTableView* view : {pinned_, main_}) {
        QHeaderView* header = view->horizontalHeader();
        const bool isHere = column > 0 && !view->isColumnHidden(column);
        header->setSortIndicatorShown(isHere);
        if (isHere) {
            header->setSortIndicator(column, rows_.sortOrder());
        }
    }
}

std::string RunsView::currentId() const {
    const QModelIndex current = main_->currentIndex();
    return current.isValid() ? rows_.idAt(current.row()) : std::string();
}

std::vector<std::string> RunsView::selectedIds() const {
    std::vector<int> rows;
    for (const QItemSelectionRange& range : main_->selectionModel()->selection()) {
        for (int row = range.top(); row <= range.bottom(); ++row) {
            rows.push_back(row);
        }
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::vector<std::string> ids;
    for (const int row : rows) {
        ids.push_back(rows_.idAt(row));
    }
    return ids;
}

void RunsView::select(const std::vector<std::string>& ids) {
    QItemSelection selection;
    QModelIndex current;
    for (const std::string& id : ids) {
        const int row = rows_.rowOf(id);
        if (row >= 0) {
            selection.select(rows_.index(row, 0), rows_.index(row, rows_.columnCount() - 1));
            current = current.isValid() ? current : rows_.index(row, 1);
        }
    }
    QItemSelectionModel* model = main_->selectionModel();
    if (current.isValid()) {
        model->setCurrentIndex(current, QItemSelectionModel::NoUpdate);
    }
    model->select(selection, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    if (current.isValid()) {
        main_->scrollTo(current);
    }
}

std::pair<int, int> RunsView::visibleRows() const {
    if (rows_.rowCount() == 0) {
        return {0, -1};
    }
    const int first = main_->rowAt(0);
    const int last = main_->rowAt(main_->viewport()->height() - 1);
    return {std::max(first, 0), last < 0 ? rows_.rowCount() - 1 : last};
}

TextTable RunsView::selectedTexts() const {
    std::vector<int> rows, columns;
    for (const std::string& id : selectedIds()) {
        rows.push_back(rows_.rowOf(id));
    }
    for (const ShownColumn& shown : columns_.shown()) {
        columns.push_back(rows_.columnOfKey(shown.key));
    }
    return rows_.texts(rows, columns);
}

void RunsView::focusRows() {
    main_->setFocus();
    if (!main_->currentIndex().isValid() && rows_.rowCount() > 0) {
        main_->setCurrentIndex(rows_.index(0, 1));
    }
}

void RunsView::setAway(bool isAway) {
    delegate_->setAway(isAway);
    pinned_->viewport()->update();
    main_->viewport()->update();
}

void RunsView::showFocus() {
    delegate_->setFocusRow(main_->hasFocus() ? main_->currentIndex().row() : -1);
    pinned_->viewport()->update();
}

void RunsView::hover(int row) {
    const int before = delegate_->hoveredRow();
    if (before == row) {
        return;
    }
    delegate_->setHoveredRow(row);
    for (RunTableView* view : {pinned_, main_}) {
        for (const int one : {before, row}) {
            if (one >= 0 && one < rows_.rowCount()) {
                view->viewport()->update(0, view->rowViewportPosition(one),
                                         view->viewport()->width(), view->rowHeight(one));
            }
        }
    }
}

void RunsView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitPinned();
    Q_EMIT viewportChanged();
}

void RunsView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && main_ != nullptr) {
        setRowHeights();
        arrange();
    }
}

}  // namespace millrace::gui
