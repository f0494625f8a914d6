#include "app/tui/charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/session/figures.h"

namespace millrace::tui {
namespace {

using session::shortNumber;

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool isEmpty() const { return !(low <= high); }
    double span() const { return high - low; }
};

double pickOne(std::span<const double> values, Pick pick) {
    Range range;
    double sum = 0;
    int count = 0;
    for (const double value : values) {
        if (std::isfinite(value)) {
            range.add(value);
            sum += value;
            ++count;
        }
    }
    if (count == 0) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    return pick == Pick::kMax ? range.high
           : pick == Pick::kMin
               ? range.low
               : std::clamp(sum / count, range.low, range.high);  // the mean of equal values may
                                                                  // round out of the range
}

// A canvas of 2x4 dots per cell, numbered like the braille characters.
class BrailleCanvas {
 public:
    BrailleCanvas(int width, int height) : width_(width), height_(height) {
        bits_.resize(static_cast<std::size_t>(width * height));
    }
    int dotsX() const { return width_ * 2; }
    int dotsY() const { return height_ * 4; }
    void dot(int x, int y) {
        if (x < 0 || y < 0 || x >= dotsX() || y >= dotsY()) {
            return;
        }
        static constexpr unsigned char kBits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
        bits_[static_cast<std::size_t>(y / 4 * width_ + x / 2)] |= kBits[y % 4][x % 2];
    }
    void line(int x0, int y0, int x1, int y1) {
        const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
        for (int i = 0; i <= steps; ++i) {
            dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
        }
    }
    void drawOn(CellGrid& grid, int left, int top, Tone tone) const {
        for (int y = 0; y < height_; ++y) {
            for (int x = 0; x < width_; ++x) {
                const unsigned bits = bits_[static_cast<std::size_t>(y * width_ + x)];
                if (bits == 0) {
                    continue;
                }
                const char braille[] = {'\xe2', static_cast<char>(0xa0 | bits >> 6),
                                        static_cast<char>(0x80 | (bits & 0x3f)), 0};
                grid.set(left + x, top + y, grid.isUtf8() ? braille : "*", tone);
            }
        }
    }

 private:
    int width_, height_;
    std::vector<unsigned char> bits_;
};

// Draws one series as strokes between neighbouring columns of dots; each column shows its smallest
// and largest value.
void plot(BrailleCanvas& canvas, const ChartSeries& series, const Range& xs, const Range& ys) {
    const auto column = [&](double x) {
        return static_cast<int>(std::lround((x - xs.low) / xs.span() * (canvas.dotsX() - 1)));
    };
    const auto row = [&](double y) {
        return static_cast<int>(std::lround((ys.high - y) / ys.span() * (canvas.dotsY() - 1)));
    };
    bool hasLast = false;
    int lastX = 0, lastY = 0;
    for (const ChartPoint& point : series.points) {
        if (!std::isfinite(point.y)) {
            hasLast = false;
            continue;
        }
        const int x = column(point.x), y = row(point.y);
        canvas.line(hasLast ? lastX : x, hasLast ? lastY : y, x, y);
        hasLast = true;
        lastX = x;
        lastY = y;
    }
}

void drawAxes(CellGrid& grid, const Rect& plotArea, const Range& xs, const Range& ys,
              std::string_view xTitle) {
    const int bottom = plotArea.bottom();
    for (int y = plotArea.y; y < bottom; ++y) {
        grid.set(plotArea.x - 1, y, grid.isUtf8() ? "│" : "|", Tone::kDim);
    }
    grid.putRight(plotArea.x - 2, plotArea.y, session::shortNumber(ys.high), Tone::kDim);
    if (plotArea.height >= 5) {
        grid.putRight(plotArea.x - 2, plotArea.y + plotArea.height / 2,
                      session::shortNumber((ys.high + ys.low) / 2), Tone::kDim);
    }
    grid.putRight(plotArea.x - 2, bottom - 1, session::shortNumber(ys.low), Tone::kDim);
    grid.put(plotArea.x, bottom, session::shortNumber(xs.low), Tone::kDim);
    const std::string right = session::shortNumber(xs.high);
    grid.putRight(plotArea.right(), bottom,
                  xTitle.empty() ? right : std::string(xTitle) + " " + right, Tone::kDim);
}

}  // namespace

std::string progressBar(double fraction, int width, bool isUtf8) {
    static constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double part = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
    const int eighths = static_cast<int>(part * width * 8 + 1e-9);
    std::string bar;
    int used = eighths / 8;
    for (int i = 0; i < used; ++i) {
        bar += isUtf8 ? "█" : "#";
    }
    if (isUtf8 && eighths % 8 != 0) {
        bar += kParts[eighths % 8];
        ++used;
    }
    for (; used < width; ++used) {
        bar += isUtf8 ? "░" : "-";
    }
    return bar;
}

std::string sparkline(std::span<const double> values, int width, bool isUtf8, Pick pick, double low,
                      double high) {
    static constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr std::string_view kAscii[] = {"_", ".", "-", "=", "+", "*", "#", "@"};
    if (width <= 0 || values.empty()) {
        return "";
    }
    const std::size_t columns = std::min<std::size_t>(values.size(), width);
    std::vector<double> shown;
    Range range;
    for (std::size_t i = 0; i < columns; ++i) {
        const std::size_t from = i * values.size() / columns;
        const std::size_t to = (i + 1) * values.size() / columns;
        shown.push_back(pickOne(values.subspan(from, to - from), pick));
        if (std::isfinite(shown.back())) {
            range.add(shown.back());
        }
    }
    const double base = low < high ? low : range.low;
    const double span = low < high ? high - low : range.span();
    std::string text;
    for (const double value : shown) {
        if (!std::isfinite(value)) {
            text += " ";
            continue;
        }
        const double part = span > 0 ? std::clamp((value - base) / span, 0.0, 1.0) : 0.5;
        const auto level = static_cast<std::size_t>(std::min(7.0, part * 8));
        text += isUtf8 ? kBlocks[level] : kAscii[level];
    }
    return text;
}

void drawLineChart(CellGrid& grid, const Rect& rect, const std::vector<ChartSeries>& series,
                   std::string_view xTitle) {
    Range xs, ys;
    for (const ChartSeries& one : series) {
        for (const ChartPoint& point : one.points) {
            if (std::isfinite(point.y)) {
                xs.add(point.x);
                ys.add(point.y);
            }
        }
    }
    if (xs.isEmpty()) {
        grid.put(rect.x + 2, rect.y + rect.height / 2, "no values yet", Tone::kDim, rect.right());
        return;
    }
    if (ys.span() <= 0) {
        const double margin = ys.high == 0 ? 1 : std::fabs(ys.high) * 0.05;
        ys = {ys.low - margin, ys.high + margin};
    }
    if (xs.span() <= 0) {
        xs.high = xs.low + 1;
    }
    constexpr int kLabels = 9;
    const Rect plotArea{rect.x + kLabels, rect.y, rect.width - kLabels, rect.height - 1};
    if (plotArea.width < 4 || plotArea.height < 2) {
        return;
    }
    drawAxes(grid, plotArea, xs, ys, xTitle);
    for (const ChartSeries& one : series) {
        BrailleCanvas canvas(plotArea.width, plotArea.height);
        plot(canvas, one, xs, ys);
        canvas.drawOn(grid, plotArea.x, plotArea.y, one.tone);
    }
}

}  // namespace millrace::tui
