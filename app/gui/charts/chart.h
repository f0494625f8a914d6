#pragma once
// Chart: the common interface of all charts. PlotWidget (dense live curves, own painter) and the
// statistical charts (Qt Charts) implement it; pages include no Qt Charts header.
//
// Threads: the GUI thread. Owns: its content; the stores in it are shared. Failure: none; content
// of another kind than the chart's shows the empty text, and values that are not finite are left
// out.
#include <QImage>
#include <QString>
#include <QWidget>
#include <memory>

#include "app/gui/charts/parts/chart_content.h"

class QContextMenuEvent;
class QMenu;

namespace millrace::gui {

class Chart : public QWidget {
    Q_OBJECT

 public:
    explicit Chart(QWidget* parent = nullptr);

    void setTitle(const QString& title);
    const QString& title() const { return title_; }
    /// The unit of y values.
    void setUnit(const Unit& unit);
    const Unit& unit() const { return unit_; }
    /// Empty: the chart chooses ("step", "time"), or shows none.
    void setAxisLabels(const QString& x, const QString& y);
    const QString& xLabel() const { return xLabel_; }
    const QString& yLabel() const { return yLabel_; }
    /// Shown if there is nothing to draw: tell the user what to do ("Select a run to see its
    /// loss").
    void setEmptyText(const QString& text);
    const QString& emptyText() const { return emptyText_; }

    /// Replaces the content. Cheap if stores stay the same; hidden curves stay hidden by id.
    virtual void setContent(ChartContent content) = 0;
    virtual const ChartContent& content() const = 0;
    /// Call after appending points to stores already shown. Repaints are coalesced.
    virtual void dataChanged() = 0;
    /// Nothing to draw: the empty text is shown.
    virtual bool isEmpty() const = 0;

    /// The chart in words: title, unit and the last values. For screen readers and tests.
    virtual QString summary() const = 0;
    /// The visible data: a header line, then one line per point or bar. Commas, dots, UTF-8, ISO
    /// times.
    virtual QString visibleCsv() const = 0;
    /// The chart as it is now, at the screen's resolution.
    QImage grabImage();

 Q_SIGNALS:
    /// The chart was copied to the clipboard: one sentence for the status bar.
    void copied(const QString& sentence);

 protected:
    /// Title, unit, labels or empty text changed.
    virtual void appearanceChanged() = 0;
    /// Adds entries above those that every chart has (copy as image, copy data as CSV).
    virtual void addMenuEntries(QMenu& menu);
    void contextMenuEvent(QContextMenuEvent* event) override;

 private:
    void copyImage();
    void copyCsv();

    QString title_, xLabel_, yLabel_, emptyText_;
    Unit unit_;
};

/// kCurves makes a PlotWidget.
std::unique_ptr<Chart> makeChart(ChartKind kind, QWidget* parent = nullptr);

}  // namespace millrace::gui
