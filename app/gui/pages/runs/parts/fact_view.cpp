#include "app/gui/pages/runs/parts/fact_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>

#include "app/gui/pages/runs/parts/diff_delegate.h"

namespace millrace::gui {

FactView::FactView(const QString& accessibleName, QWidget* parent)
    : QTableView(parent), facts_(new FactTable(this)) {
    setModel(facts_);
    setItemDelegate(new FactDelegate(this));
    setAccessibleName(accessibleName);
    setShowGrid(false);
    setWordWrap(false);
    setFrameShape(QFrame::NoFrame);
    setTabKeyNavigation(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(QFontMetrics(font()).height() + 9);
    horizontalHeader()->hide();
    horizontalHeader()->setStretchLastSection(true);
    horizontalHeader()->resizeSection(0, 190);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(facts_, &QAbstractItemModel::modelReset, this, [this] { spanSections(); });
}

void FactView::spanSections() {
    clearSpans();
    for (int row = 0; row < facts_->rowCount(); ++row) {
        if (facts_->isSection(row)) {
            setSpan(row, 0, 1, 2);
        }
    }
}

void FactView::keyPressEvent(QKeyEvent* event) {
    if (!event->matches(QKeySequence::Copy)) {
        QTableView::keyPressEvent(event);
        return;
    }
    QString text;
    for (const QModelIndex& index : selectionModel()->selectedRows()) {
        text += index.data().toString() + '\t' +
                index.siblingAtColumn(1).data(FactTable::kFullValueRole).toString() + '\n';
    }
    if (!text.isEmpty()) {
        QGuiApplication::clipboard()->setText(text);
    }
}

}  // namespace millrace::gui
