#include "app/gui/pages/data/dataset_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSettings>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/gui/charts/chart.h"
#include "app/gui/models/run_text.h"
#include "app/gui/pages/data/data_delegates.h"
#include "app/gui/pages/data/data_table.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

// CSV files are described in parts of that many rows, which differ from a plan's splits.
QString groupWord(const std::string& format) {
    return format == "csv" ? QObject::tr("parts") : QObject::tr("row groups");
}

}  // namespace

DatasetView::DatasetView(QWidget* parent) : QWidget(parent) {
    auto* column = boxIn<QVBoxLayout>(this, kSpaceMedium);
    column->addWidget(makeTotals());
    split_ = new QSplitter(Qt::Horizontal, this);
    split_->setChildrenCollapsible(false);
    split_->addWidget(makeColumns());
    split_->addWidget(makeFiles());
    split_->setStretchFactor(0, 62);
    split_->setStretchFactor(1, 38);
    split_->setSizes({880, 480});
    column->addWidget(split_, 1);
}

DatasetView::~DatasetView() = default;

QWidget* DatasetView::makeTotals() {
    auto* row = new QWidget(this);
    auto* all = boxIn<QHBoxLayout>(row, 2 * kSpaceHuge);
    const auto add = [&](const QString& caption) {
        auto* figure = new Figure(caption, row);
        all->addWidget(figure);
        return figure;
    };
    numRows_ = add(tr("rows"));
    numFiles_ = add(tr("files"));
    numGroups_ = add(tr("row groups"));
    disk_ = add(tr("on disk"));
    decoded_ = add(tr("decoded"));
    ratio_ = add(tr("compression"));
    all->addStretch(1);
    return row;
}

DataTable* DatasetView::makeTable(QAbstractItemModel& model, QSortFilterProxyModel*& proxy,
                                  QWidget* parent) {
    proxy = new QSortFilterProxyModel(this);
    proxy->setSourceModel(&model);
    proxy->setSortRole(kSortRole);
    proxy->setFilterCaseSensitivity(Qt::CaseInsensitive);
    proxy->setFilterKeyColumn(0);
    auto* table = new DataTable(parent);
    table->setModel(proxy);
    table->setItemDelegate(new ShareDelegate(table));
    table->setSortingEnabled(true);
    // -1: the order of the dataset, until the user clicks a header.
    table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    table->horizontalHeader()->setSortIndicatorClearable(true);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    connect(table, &DataTable::copied, this, &DatasetView::copied);
    return table;
}

QWidget* DatasetView::makeColumns() {
    auto* card = new Card(tr("Columns"), this);
    columnsTitle_ = styled<QLabel>("caption", card);
    filter_ = new SearchField(tr("Filter columns"), card);
    filter_->setMaximumWidth(220);
    card->header()->addWidget(columnsTitle_);
    card->header()->addWidget(filter_);
    columnsTable_ = makeTable(columns_, columnsProxy_, card);
    columnsTable_->setAccessibleName(tr("Columns of the dataset"));
    card->body()->addWidget(columnsTable_, 1);
    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
        columnsProxy_->setFilterFixedString(text);
        showCounts();
    });
    connect(filter_, &SearchField::leftDown, this, [this] {
        columnsTable_->setFocus();
        columnsTable_->selectRow(0);
    });
    return card;
}

QWidget* DatasetView::makeFiles() {
    auto* card = new Card(tr("Files"), this);
    filesTitle_ = styled<QLabel>("caption", card);
    card->header()->addWidget(filesTitle_);
    filesTable_ = makeTable(files_, filesProxy_, card);
    filesTable_->setAccessibleName(tr("Files of the dataset"));
    filesTable_->setItemDelegateForColumn(DatasetFilesModel::kStrip, new StripDelegate(this));
    filesTable_->horizontalHeader()->setStretchLastSection(true);
    card->body()->addWidget(filesTable_, 1);
    sizes_ = makeChart(ChartKind::kHistogram, card).release();
    sizes_->setTitle(tr("Row groups by size"));
    sizes_->setEmptyText(tr("This format has no row groups"));
    sizes_->setFixedHeight(150);
    card->body()->addWidget(sizes_);
    connect(filesTable_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            &DatasetView::showSizes);
    return card;
}

void DatasetView::setReply(const values::DatasetReply& reply) {
    const DatasetTotals totals = totalsOf(reply);
    numRows_->setValue(totals.rows);
    numFiles_->setValue(totals.files, tr("Format: %1").arg(totals.format));
    numFiles_->setCaption(reply.filesTotal == 1 ? tr("file") : tr("files"));
    numGroups_->setValue(totals.rowGroups);
    numGroups_->setCaption(groupWord(reply.format));
    format_ = qtext(reply.format);
    disk_->setValue(totals.disk);
    decoded_->setValue(totals.decoded,
                       tr("What all columns take once decompressed, as the footers say"));
    ratio_->setValue(totals.ratio);
    columns_.setReply(reply);
    files_.setReply(reply);
    listed_ = reply.files;
    filesTotal_ = reply.filesTotal;
    columnsTable_->fitColumns(190);
    filesTable_->fitColumns(210);
    // The strip takes the remaining width.
    filesTable_->setColumnWidth(DatasetFilesModel::kStrip, 64);
    showCounts();
    showSizes();
}

void DatasetView::clear() {
    setReply({});
    for (Figure* figure : {numRows_, numFiles_, numGroups_, disk_, decoded_, ratio_}) {
        figure->setValue({});
    }
}

void DatasetView::showCounts() {
    const int shown = columnsProxy_->rowCount(), all = columns_.rowCount();
    columnsTitle_->setText(shown == all ? countText(all)
                                        : tr("%1 of %2").arg(countText(shown), countText(all)));
    const auto numListed = static_cast<std::int64_t>(listed_.size());
    filesTitle_->setText(numListed < filesTotal_
                             ? tr("the first %1 of %2; totals count all")
                                   .arg(countText(static_cast<double>(numListed)),
                                        countText(static_cast<double>(filesTotal_)))
                             : countText(static_cast<double>(numListed)));
}

// Shows the sizes of the selected files, or of all.
void DatasetView::showSizes() {
    std::vector<values::DatasetFile> files;
    for (const QModelIndex& index : filesTable_->selectionModel()->selectedRows()) {
        files.push_back(files_.file(filesProxy_->mapToSource(index).row()));
    }
    const bool isAll = files.empty();
    const RowGroupSizes sizes = rowGroupSizes(isAll ? listed_ : files);
    const QString what = format_ == QLatin1String("csv") ? tr("Splits") : tr("Row groups");
    sizes_->setTitle((sizes.isDecoded ? tr("%1 by decoded size") : tr("%1 by size")).arg(what) +
                     (isAll ? QString() : tr(", of the selected files")));
    if (sizes.numRowGroups == 0) {
        sizes_->setContent({});
        return;
    }
    const bool isSmall = sizes.edges.back() < 4e6;
    Histogram histogram;
    const double unit = isSmall ? 1e3 : 1e6;
    for (const double edge : sizes.edges) {
        histogram.edges.push_back(edge / unit);
    }
    histogram.counts = sizes.counts;
    histogram.color = colorsOf(palette()).accent;
    histogram.marker = sizes.medianBytes / unit;
    histogram.markerName = tr("median %1").arg(bytesText(sizes.medianBytes));
    sizes_->setAxisLabels(isSmall ? tr("kB") : tr("MB"), {});
    sizes_->setContent(std::move(histogram));
}

void DatasetView::focusFilter() {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
}

void DatasetView::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("split"), split_->saveState());
}

void DatasetView::restoreState(QSettings& settings) {
    split_->restoreState(settings.value(QStringLiteral("split")).toByteArray());
}

}  // namespace millrace::gui
