// Renders every chart with invented but realistic data to PNG files, dark and light, at 1x and
// 1.5x. A person looks at them after a change in how charts look. charts_gallery DIR
#include <QApplication>
#include <QDir>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/lane_paint.h"
#include "app/gui/charts/parts/sparkline.h"
#include "app/gui/charts/plot_widget.h"

namespace millrace::gui {
namespace {

const QColor kColors[] = {QColor(0x56, 0xb4, 0xe9), QColor(0xe6, 0x9f, 0x00),
                          QColor(0x00, 0x9e, 0x73), QColor(0xcc, 0x79, 0xa7),
                          QColor(0xd5, 0x5e, 0x00), QColor(0x00, 0x72, 0xb2)};
constexpr double kStartMs = 1.7637e12;

QPalette paletteFor(bool isDark) {
    QPalette palette;
    palette.setColor(QPalette::Base, isDark ? QColor(0x1b, 0x1f, 0x26) : QColor(Qt::white));
    palette.setColor(QPalette::Window,
                     isDark ? QColor(0x14, 0x17, 0x1c) : QColor(0xf3, 0xf5, 0xf8));
    palette.setColor(QPalette::Text, isDark ? QColor(0xe8, 0xeb, 0xf0) : QColor(0x18, 0x1d, 0x25));
    palette.setColor(QPalette::WindowText, palette.color(QPalette::Text));
    palette.setColor(QPalette::Link, isDark ? QColor(0x56, 0xb4, 0xe9) : QColor(0x00, 0x66, 0xa1));
    palette.setColor(QPalette::Highlight,
                     isDark ? QColor(0x1d, 0x3d, 0x54) : QColor(0xd3, 0xe7, 0xf6));
    return palette;
}

std::shared_ptr<CurveStore> storeOf(int numPoints, double msPerStep,
                                    const std::function<double(double)>& value) {
    auto store = std::make_shared<CurveStore>();
    std::vector<CurvePoint> points;
    for (int i = 0; i < numPoints; ++i) {
        const double step = 10.0 * (i + 1);
        points.push_back(
            {step, value(i / double(numPoints)), step * 1024, kStartMs + step * msPerStep});
    }
    store->append(points);
    return store;
}

Curve curveOf(const char* name, int color, std::shared_ptr<CurveStore> store,
              double smoothing = 0) {
    return {QString::fromUtf8(name), QString::fromUtf8(name), kColors[color], std::move(store),
            smoothing};
}

Curves losses(double smoothing) {
    static std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 1);
    const char* names[] = {"base", "keep-30", "no-spam",
                           "label-3.5-with-a-very-long-variation-name-for-the-legend"};
    Curves curves;
    for (int i = 0; i < 4; ++i) {
        curves.curves.push_back(curveOf(names[i], i,
                                        storeOf(6000, 25,
                                                [&, i](double t) {
                                                    return 0.52 + 0.03 * i +
                                                           0.35 * std::exp(-6 * t) - 0.05 * t +
                                                           0.02 * noise(random);
                                                }),
                                        smoothing));
    }
    return curves;
}

Curves throughput() {
    static std::mt19937 random(8);
    std::normal_distribution<double> noise(0, 1);
    Curves curves;
    for (int i = 0; i < 2; ++i) {
        curves.curves.push_back(
            curveOf(i == 0 ? "keep-30" : "no-spam", i + 1, storeOf(900, 100, [&, i](double t) {
                        if (t > 0.42 && t < 0.46) {
                            return kNoValue;
                        }
                        const double dip = std::fmod(t, 0.2) < 0.01 ? 0.35 : 1;
                        return dip * (48'000 + 9'000 * i + 900 * noise(random)) *
                               std::min(1.0, 0.3 + 20 * t);
                    })));
    }
    return curves;
}

Curves evaluation() {
    Curves curves;
    for (int i = 0; i < 3; ++i) {
        curves.curves.push_back(curveOf(i == 0   ? "base"
                                        : i == 1 ? "keep-30"
                                                 : "no-spam",
                                        i, storeOf(9, 4000, [i](double t) {
                                            return 0.742 + 0.012 * i +
                                                   0.06 * (1 - std::exp(-4 * t));
                                        })));
    }
    curves.curves[2].dash = 1;
    return curves;
}

std::unique_ptr<PlotWidget> plot(const char* title, Unit unit, Curves curves) {
    auto widget = std::make_unique<PlotWidget>();
    widget->setTitle(QString::fromUtf8(title));
    widget->setUnit(unit);
    widget->setContent(std::move(curves));
    return widget;
}

struct Shot {
    QString name;
    std::unique_ptr<QWidget> widget;
    QSize size;
};

void hover(PlotWidget& widget, double partX, double partY) {
    widget.grab();
    const QRectF area = widget.plotArea();
    const QPointF at(area.left() + partX * area.width(), area.top() + partY * area.height());
    QMouseEvent move(QEvent::MouseMove, at, at, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(&widget, &move);
}

void addPlots(std::vector<Shot>& shots) {
    auto loss = plot("loss", {}, losses(0.9));
    loss->resize(640, 300);
    hover(*loss, 0.6, 0.5);
    shots.push_back({"loss_smoothed_crosshair", std::move(loss), {640, 300}});
    shots.push_back({"loss_raw", plot("loss", {}, losses(0)), {640, 300}});
    auto log = plot("loss", {}, losses(0.6));
    log->setLogY(true);
    shots.push_back({"loss_log", std::move(log), {640, 300}});
    auto rate = plot("throughput", {UnitKind::kCount, "samples/s"}, throughput());
    rate->setXAxis(XAxis::kRelativeTime);
    shots.push_back({"throughput_live", std::move(rate), {640, 220}});
    auto small = plot("train/samples_per_second_of_all_ranks", {UnitKind::kCount, "samples/s"},
                      throughput());
    small->setXAxis(XAxis::kWallTime);
    shots.push_back({"small_wall_time", std::move(small), {300, 150}});
    auto frozen = plot("AUC", {}, evaluation());
    frozen->resize(420, 220);
    frozen->grab();
    frozen->link()->setView({20, 88});
    frozen->link()->setSelection(CurveRange{40, 60});
    hover(*frozen, 0.3, 0.4);
    shots.push_back({"auc_frozen_selection", std::move(frozen), {420, 220}});
    shots.push_back({"auc", plot("AUC", {}, evaluation()), {420, 220}});
    auto empty = plot("loss", {}, {});
    empty->setEmptyText("Select one or more runs to see their loss.");
    shots.push_back({"empty", std::move(empty), {420, 220}});
}

void addStatistics(std::vector<Shot>& shots) {
    auto histogram = makeChart(ChartKind::kHistogram);
    histogram->setTitle("step time");
    histogram->setUnit({UnitKind::kMilliseconds, {}});
    histogram->setAxisLabels({}, "steps");
    Histogram h;
    h.color = kColors[0];
    for (int i = 0; i <= 40; ++i) {
        h.edges.push_back(4 + i * 0.5);
        if (i < 40) {
            h.counts.push_back(std::round(1800 * std::exp(-std::pow((i - 11) / 6.0, 2)) +
                                          40 * std::exp(-i / 30.0)));
        }
    }
    h.marker = 9.7;
    h.markerName = "median 9.7 ms";
    histogram->setContent(h);
    shots.push_back({"histogram", std::move(histogram), {480, 240}});
    auto funnel = makeChart(ChartKind::kFunnel);
    funnel->setTitle("rows through the recipe");
    funnel->setContent(Funnel{{{"read", "ratings.csv", 1'000'209, 1'000'209},
                               {"filter", "rating is not null and userId <> 0", 1'000'209, 998'120},
                               {"anti_join spam_users.csv", "on userId", 998'120, 871'904},
                               {"join movies.csv", "on movieId", 871'904, 871'904},
                               {"sample", "keep 0.3 where rating < 4.0", 871'904, 402'311}},
                              kColors[2]});
    shots.push_back({"funnel", std::move(funnel), {480, 220}});
    shots.push_back({"funnel_empty", makeChart(ChartKind::kFunnel), {300, 160}});
}

std::vector<LaneSpan> spansOf(double fromMs, double toMs, unsigned seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> stretch(1.0);
    std::vector<LaneSpan> spans;
    double at = fromMs + 2500;
    spans.push_back({fromMs, at, LanePhase::kIdle});
    for (int i = 0; at < toMs; ++i) {
        const LanePhase phase = i % 24 == 23   ? LanePhase::kCheckpoint
                                : i % 24 == 22 ? LanePhase::kEvaluating
                                : i % 2 == 0   ? LanePhase::kTraining
                                               : LanePhase::kWaiting;
        const double mean = phase == LanePhase::kTraining     ? 5000
                            : phase == LanePhase::kEvaluating ? 15000
                            : phase == LanePhase::kCheckpoint ? 4000
                                                              : 600;
        const double end = at + mean * (0.2 + stretch(random));
        spans.push_back({at, end, phase});
        at = end;
    }
    spans.back().toMs = std::numeric_limits<double>::infinity();
    return spans;
}

QImage lanes(const QPalette& palette) {
    QImage image(760, 96, QImage::Format_ARGB32_Premultiplied);
    image.fill(palette.color(QPalette::Base));
    QPainter painter(&image);
    const double now = kStartMs + 600'000;
    const Lane rows[] = {{spansOf(kStartMs, now, 1), {}},
                         {spansOf(kStartMs + 60'000, now, 2), {}},
                         {spansOf(kStartMs + 30'000, now - 200'000, 3), now - 200'000}};
    double top = 8;
    for (const Lane& lane : rows) {
        paintLane(painter, QRectF(8, top, 744, 18), lane, kStartMs, now, now, palette);
        top += 30;
    }
    return image;
}

QImage sparklines(const QPalette& palette, double ratio) {
    QImage image(QSize(int(360 * ratio), int(132 * ratio)), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(palette.color(QPalette::Base));
    QPainter painter(&image);
    std::mt19937 random(5);
    std::normal_distribution<double> noise(0, 1);
    for (int row = 0; row < 5; ++row) {
        const auto store = storeOf(row == 3 ? 5 : 4000, 10, [&](double t) {
            if (row == 4 && t > 0.4 && t < 0.6) {
                return kNoValue;
            }
            return row == 1 ? 50 + 3 * noise(random) + (std::abs(t - 0.7) < 0.0002 ? 60 : 0)
                            : std::exp(-4 * t) + 0.02 * noise(random);
        });
        std::vector<double> values;
        for (std::size_t i = 0; i < store->size(); ++i) {
            values.push_back(store->value(i));
        }
        QColor fill = kColors[row];
        fill.setAlphaF(0.16F);
        painter.setPen(palette.color(QPalette::Text));
        painter.drawText(QRectF(8, row * 26, 100, 26), Qt::AlignVCenter,
                         QString("run-%1").arg(row));
        paintSparkline(painter, QRectF(110, row * 26 + 3, 110, 20), values,
                       {kColors[row], row % 2 == 0 ? fill : QColor(), true, {}});
    }
    return image;
}

void render(const QString& folder, bool isDark) {
    std::vector<Shot> shots;
    QApplication::setPalette(paletteFor(isDark));
    addPlots(shots);
    addStatistics(shots);
    const QString theme = isDark ? "dark" : "light";
    for (Shot& shot : shots) {
        shot.widget->setPalette(paletteFor(isDark));
        shot.widget->resize(shot.size);
        shot.widget->grab().save(folder + "/" + shot.name + "_" + theme + ".png");
    }
    lanes(paletteFor(isDark)).save(folder + "/lanes_" + theme + ".png");
    sparklines(paletteFor(isDark), 2).save(folder + "/sparklines_" + theme + ".png");
}

}  // namespace
}  // namespace millrace::gui

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    if (argc != 2) {
        std::fprintf(stderr, "charts_gallery DIR\n");
        return 2;
    }
    QDir().mkpath(argv[1]);
    millrace::gui::render(argv[1], true);
    millrace::gui::render(argv[1], false);
    return 0;
}
