#pragma once
// Histogram and funnel by Qt Charts, styled like PlotWidget: same fonts, same palette, no
// animation. Only this file, statistic_chart.cpp and statistic_series.cpp use Qt Charts.
//
// Threads: the GUI thread. Owns: the QChart, behind a pimpl.
#include <memory>

#include "app/gui/charts/chart.h"

namespace millrace::gui {

class StatisticChart : public Chart {
    Q_OBJECT

 public:
    explicit StatisticChart(ChartKind kind, QWidget* parent = nullptr);
    ~StatisticChart() override;

    void setContent(ChartContent content) override;
    const ChartContent& content() const override;
    void dataChanged() override;
    bool isEmpty() const override;
    QString summary() const override;
    QString visibleCsv() const override;
    QSize sizeHint() const override { return {420, 220}; }
    QSize minimumSizeHint() const override;

 protected:
    void appearanceChanged() override { dataChanged(); }
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

 private:
    void rebuild();
    void placeChart();

    struct State;
    std::unique_ptr<State> s_;
};

}  // namespace millrace::gui
