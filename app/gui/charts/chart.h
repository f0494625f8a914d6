#pragma once
// The one face of every chart. PlotWidget (dense live curves, own painter) and the statistical
// charts (Qt Charts) stand behind it; pages include no Qt Charts header.
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
    /// Empty: the chart chooses ("step", "time"), or writes none.
    void setAxisLabels(const QString& x, const QString& y);
    const QString& xLabel() const { return xLabel_; }
    const QString& yLabel() const { return yLabel_; }
    /// What to read where there is nothing to draw: say what to do ("Select a run to see its
    /// loss").
    void setEmptyText(const QString& text);
    const QString& emptyText() const { return emptyText_; }

    /// Replaces what is shown. Cheap where stores stay the same; hidden curves stay hidden by id.
    virtual void setContent(ChartContent content) = 0;
    virtual const ChartContent& content() const = 0;
    /// Points were appended to stores already shown. Repaints are coalesced.
    virtual void dataChanged() = 0;
    /// Nothing to draw: the empty text stands there.
    virtual bool isEmpty() const = 0;

    /// What the chart says in words: title, unit and the last values. For screen readers and tests.
    virtual QString summary() const = 0;
    /// The visible data: a header line, then one line a point or bar. Commas, dots, UTF-8, ISO
    /// times.
    virtual QString visibleCsv() const = 0;
    /// The chart as it stands, at the screen's resolution.
    QImage grabImage();

 Q_SIGNALS:
    /// Something went to the clipboard: one sentence for the status bar.
    void copied(const QString& sentence);

 protected:
    /// A change of title, unit, labels or empty text.
    virtual void appearanceChanged() = 0;
    /// Entries above the ones every chart has (copy as image, copy data as CSV).
    virtual void addMenuEntries(QMenu& menu);
    void contextMenuEvent(QContextMenuEvent* event) override;

 private:
    void copyImage();
    void copyCsv();

    QString title_, xLabel_, yLabel_, emptyText_;
    Unit unit_;
};

/// kCurves gives a PlotWidget.
std::unique_ptr<Chart> makeChart(ChartKind kind, QWidget* parent = nullptr);

}  // namespace millrace::gui
