#include "app/gui/pages/data/data_table.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <algorithm>
#include <numeric>
#include <set>

#include "app/gui/models/data/dataset_model.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kRowsMeasured = 60, kWidthLeast = 56, kHeaderPad = 26;

std::vector<int> asVector(const std::set<int>& numbers) {
    return {numbers.begin(), numbers.end()};
}

}  // namespace

DataTable::DataTable(QWidget* parent) : QTableView(parent) {
    setSelectionMode(ExtendedSelection);
    setVerticalScrollMode(ScrollPerPixel);
    setHorizontalScrollMode(ScrollPerPixel);
    setWordWrap(false);
    setShowGrid(false);
    setTabKeyNavigation(false);
    setCornerButtonEnabled(false);
    verticalHeader()->setDefaultSectionSize(std::max(26, fontMetrics().height() + 9));
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    verticalHeader()->hide();
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    setFrameShape(QFrame::NoFrame);
}

void DataTable::fitColumns(int most) {
    if (model() == nullptr) {
        return;
    }
    const QFontMetrics metrics(font());
    const int rows = std::min(kRowsMeasured, model()->rowCount());
    for (int column = 0; column < model()->columnCount(); ++column) {
        const QString title = model()->headerData(column, Qt::Horizontal).toString();
        int width = metrics.horizontalAdvance(title) + kHeaderPad;
        for (int row = 0; row < rows; ++row) {
            const QString text = model()->index(row, column).data().toString().left(80);
            width = std::max(width, metrics.horizontalAdvance(text) + 20);
        }
        setColumnWidth(column, std::clamp(width, kWidthLeast, most));
    }
}

QString DataTable::asTsv() const {
    if (model() == nullptr) {
        return {};
    }
    std::set<int> rows, columns;
    for (const QModelIndex& index : selectionModel()->selectedIndexes()) {
        rows.insert(index.row());
        columns.insert(index.column());
    }
    if (rows.empty()) {
        for (int row = 0; row < model()->rowCount(); ++row) {
            rows.insert(row);
        }
        for (int column = 0; column < model()->columnCount(); ++column) {
            columns.insert(column);
        }
    }
    return tsvOf(*model(), asVector(rows), asVector(columns));
}

void DataTable::copy() {
    const QString text = asTsv();
    if (!text.isEmpty()) {
        QApplication::clipboard()->setText(text);
        Q_EMIT copied(static_cast<int>(text.count('\n')) - 1);
    }
}

void DataTable::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy)) {
        copy();
        return;
    }
    QTableView::keyPressEvent(event);
}

void DataTable::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const bool hasSelection = selectionModel() != nullptr && selectionModel()->hasSelection();
    menu->addAction(hasSelection ? tr("Copy the selection as TSV") : tr("Copy all as TSV"),
                    QKeySequence(QKeySequence::Copy), this, [this] { copy(); });
    menu->popup(event->globalPos());
}

}  // namespace millrace::gui
