// Measures what the charts cost the GUI thread, and prints one JSON object.
//
// live       10 charts x 10 series of 100,000 points in a 1200 x 900 window. Each frame appends 10
//            points to each series (a step every 10 ms at 10 frames a second), updates and paints.
// scrolling  the same with a live window of the newest 60 s: the view moves in every frame
// zooming    the same charts with another view in every frame: everything is drawn again
// first      100 metrics of 100,000 points: stores from columns, making the charts, the first paint
#include <QApplication>
#include <QCoreApplication>
#include <QGridLayout>
#include <QScrollArea>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include "app/gui/charts/plot_widget.h"

namespace millrace::gui {
namespace {

constexpr int kNumCharts = 10, kNumSeries = 10, kNumPoints = 100'000, kPointsPerFrame = 10;
constexpr double kStartMs = 1.7637e12, kMsPerStep = 10;

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double threadCpuMs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

struct Columns {
    std::vector<double> x, y, time;
};

Columns columnsOf(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::normal_distribution<double> noise(0, 1);
    Columns columns;
    for (int i = 0; i < kNumPoints; ++i) {
        columns.x.push_back(i);
        columns.y.push_back(0.5 + 0.02 * seed + 0.4 * std::exp(-i / 20'000.0) +
                            0.02 * noise(random));
        columns.time.push_back(kStartMs + kMsPerStep * i);
    }
    return columns;
}

struct Live {
    std::vector<std::shared_ptr<CurveStore>> stores;
    std::vector<PlotWidget*> plots;  // children of the window
    ChartLink link;
    QWidget window;
    std::mt19937 random{1};
    std::normal_distribution<double> noise{0, 1};

    Live() {
        auto* grid = new QGridLayout(&window);
        grid->setContentsMargins(8, 8, 8, 8);
        for (int c = 0; c < kNumCharts; ++c) {
            Curves curves;
            for (int s = 0; s < kNumSeries; ++s) {
                auto store = std::make_shared<CurveStore>();
                const Columns columns = columnsOf(s);
                store->replaceAll({columns.x, columns.y, {}, columns.time});
                stores.push_back(store);
                const QString name = QStringLiteral("variation-%1").arg(s);
                curves.curves.push_back({name, name, QColor::fromHsv(36 * s, 200, 200), store});
            }
            plots.push_back(new PlotWidget(&window));
            plots.back()->setTitle(QStringLiteral("metric %1").arg(c));
            plots.back()->setContent(curves);
            plots.back()->setLink(&link);
            grid->addWidget(plots.back(), c / 2, c % 2);
        }
        window.resize(1200, 900);
        window.show();
        settle();
    }
    static void settle() {
        for (int i = 0; i < 5; ++i) {
            QCoreApplication::sendPostedEvents();
            QCoreApplication::processEvents();
        }
    }
    void append() {
        CurvePoint points[kPointsPerFrame];
        for (const auto& store : stores) {
            const double x = store->extent(CurveAxis::kX).high + 1;
            for (int i = 0; i < kPointsPerFrame; ++i) {
                points[i] = {x + i, 0.55 + 0.02 * noise(random), kNoValue,
                             kStartMs + kMsPerStep * (x + i)};
            }
            store->append(points);
        }
        for (PlotWidget* plot : plots) {
            plot->dataChanged();
        }
    }
};

struct Frames {
    std::vector<double> cpu, wall;
};

template <typename Step>
Frames measure(int numFrames, const Step& step) {
    Frames frames;
    for (int i = 0; i < numFrames; ++i) {
        const Clock::time_point start = Clock::now();
        const double cpu = threadCpuMs();
        step(i);
        Live::settle();
        frames.cpu.push_back(threadCpuMs() - cpu);
        frames.wall.push_back(msSince(start));
    }
    return frames;
}

double percentile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void print(const char* name, const Frames& frames) {
    double sum = 0;
    for (const double ms : frames.cpu) {
        sum += ms;
    }
    std::printf(
        "  \"%s\": {\"frames\": %zu, \"cpuMsMean\": %.2f, \"cpuMsP50\": %.2f, "
        "\"cpuMsP99\": %.2f, \"cpuMsMax\": %.2f, \"wallMsP99\": %.2f, \"histogram\": {",
        name, frames.cpu.size(), sum / static_cast<double>(frames.cpu.size()),
        percentile(frames.cpu, 0.5), percentile(frames.cpu, 0.99), percentile(frames.cpu, 1),
        percentile(frames.wall, 0.99));
    double below = 0;
    for (const double border : {0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 1e9}) {
        const auto count = std::count_if(frames.cpu.begin(), frames.cpu.end(),
                                         [&](double ms) { return ms >= below && ms < border; });
        std::printf("%s\"%s\": %td", below > 0 ? ", " : "",
                    border < 1e9 ? ("<" + std::to_string(border).substr(0, 4)).c_str() : "more",
                    count);
        below = border;
    }
    std::printf("}},\n");
}

void benchFirst() {
    std::vector<Columns> columns;
    for (int i = 0; i < 100; ++i) {
        columns.push_back(columnsOf(i % 10));
    }
    QScrollArea area;
    area.resize(1200, 900);
    area.show();
    Live::settle();
    const double cpu = threadCpuMs();
    const Clock::time_point start = Clock::now();
    std::vector<std::shared_ptr<CurveStore>> stores;
    for (Columns& one : columns) {
        stores.push_back(std::make_shared<CurveStore>());
        stores.back()->adopt(std::move(one.x), std::move(one.y), {}, std::move(one.time));
    }
    const double storesMs = msSince(start);
    auto* page = new QWidget;
    auto* grid = new QGridLayout(page);
    ChartLink link;
    for (int i = 0; i < 100; ++i) {
        auto* plot = new PlotWidget;
        plot->setTitle(QStringLiteral("metric %1").arg(i));
        plot->setContent(
            Curves{{{"run", "run", QColor(0, 114, 178), stores[static_cast<std::size_t>(i)]}}});
        plot->setLink(&link);
        plot->setFixedHeight(180);
        grid->addWidget(plot, i / 2, i % 2);
    }
    area.setWidget(page);
    area.setWidgetResizable(true);
    page->show();
    Live::settle();
    std::printf("  \"first\": {\"storesMs\": %.1f, \"wallMs\": %.1f, \"cpuMs\": %.1f}\n", storesMs,
                msSince(start), threadCpuMs() - cpu);
    page->hide();
    delete area.takeWidget();
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    using namespace millrace::gui;
    QApplication app(argc, argv);
    const int numFrames = argc > 1 ? std::atoi(argv[1]) : 600;
    std::printf("{\n");
    {
        Live live;
        print("live", measure(numFrames, [&](int) { live.append(); }));
        live.link.setXAxis(XAxis::kWallTime);
        live.link.setLiveWindow(60'000);
        Live::settle();
        print("scrolling", measure(numFrames, [&](int) { live.append(); }));
        live.link.setLiveWindow(0);
        const CurveRange all = live.link.extent();
        print("zooming", measure(numFrames / 4, [&](int i) {
                  const double part = 0.3 * (1 + std::sin(i * 0.1));
                  live.link.setView({all.low + part * (all.high - all.low), all.high});
              }));
    }
    benchFirst();
    std::printf("}\n");
    return 0;
}
