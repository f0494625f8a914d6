#include "app/gui/charts/chart.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QPixmap>

#include "app/gui/charts/plot_widget.h"
#include "app/gui/charts/statistic_chart.h"

namespace millrace::gui {

Chart::Chart(QWidget* parent) : QWidget(parent) {}

void Chart::setTitle(const QString& title) {
    title_ = title;
    appearanceChanged();
}

void Chart::setUnit(const Unit& unit) {
    unit_ = unit;
    appearanceChanged();
}

void Chart::setAxisLabels(const QString& x, const QString& y) {
    xLabel_ = x;
    yLabel_ = y;
    appearanceChanged();
}

void Chart::setEmptyText(const QString& text) {
    emptyText_ = text;
    appearanceChanged();
}

QImage Chart::grabImage() {
    return grab().toImage();
}

void Chart::addMenuEntries(QMenu&) {}

void Chart::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    addMenuEntries(*menu);
    menu->addAction(tr("Copy as image"), this, &Chart::copyImage);
    menu->addAction(tr("Copy data as CSV"), this, &Chart::copyCsv)->setEnabled(!isEmpty());
    menu->popup(event->globalPos());
}

void Chart::copyImage() {
    QGuiApplication::clipboard()->setImage(grabImage());
    Q_EMIT copied(tr("The chart \"%1\" is on the clipboard.").arg(title_));
}

void Chart::copyCsv() {
    const QString csv = visibleCsv();
    QGuiApplication::clipboard()->setText(csv);
    const auto numLines = csv.count(QLatin1Char('\n')) - 1;
    Q_EMIT copied(tr("%1 lines of \"%2\" are on the clipboard.").arg(numLines).arg(title_));
}

std::unique_ptr<Chart> makeChart(ChartKind kind, QWidget* parent) {
    if (kind == ChartKind::kCurves) {
        return std::make_unique<PlotWidget>(parent);
    }
    return std::make_unique<StatisticChart>(kind, parent);
}

}  // namespace millrace::gui
