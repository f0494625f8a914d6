#include "app/gui/charts/line_raster.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

/// Exact for 255 * 255.
std::uint32_t divide255(std::uint32_t value) {
    return (value + 128 + ((value + 128) >> 8)) >> 8;
}

/// Blends source (premultiplied, weighted by `coverage`) over target.
std::uint32_t blendPixel(std::uint32_t target, const std::uint32_t source[4],
                         std::uint32_t coverage) {
    const std::uint32_t alpha = divide255(source[3] * coverage);
    const std::uint32_t keep = 255 - alpha;
    std::uint32_t result = (alpha + divide255((target >> 24) * keep)) << 24;
    for (int c = 0; c < 3; ++c) {
        const std::uint32_t channel = (target >> (8 * c)) & 0xff;
        result |= std::min<std::uint32_t>(
                      255, divide255(source[c] * coverage) + divide255(channel * keep))
                  << (8 * c);
    }
    return result;
}

}  // namespace

void LineRaster::resize(int width, int height) {
    width_ = std::max(0, width);
    height_ = std::max(0, height);
    mask_.assign(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), 0);
    top_.assign(static_cast<std::size_t>(width_), height_);
    bottom_.assign(static_cast<std::size_t>(width_), 0);
}

void LineRaster::begin(int from, int to) {
    from_ = std::clamp(from, 0, width_);
    to_ = std::clamp(to, from_, width_);
}

void LineRaster::touch(int column, int top, int bottom) {
    const auto c = static_cast<std::size_t>(column);
    top_[c] = std::min(top_[c], top);
    bottom_[c] = std::max(bottom_[c], bottom);
}

// Takes the largest coverage, not the sum: two segments of one curve that meet in a pixel must not
// darken it, and a translucent curve must not show its joints.
void LineRaster::raise(int column, int row, double coverage) {
    std::uint8_t& cell =
        mask_[static_cast<std::size_t>(column) * static_cast<std::size_t>(height_) +
              static_cast<std::size_t>(row)];
    cell = std::max(cell, static_cast<std::uint8_t>(std::lround(255 * coverage)));
}

void LineRaster::addSpan(int column, double top, double bottom, double halfWidth) {
    if (column < from_ || column >= to_) {
        return;
    }
    const double low = std::max(-2.0, top - halfWidth);
    const double high = std::min(height_ + 2.0, bottom + halfWidth);
    const int first = std::clamp(static_cast<int>(std::floor(low)), 0, height_);
    const int last = std::clamp(static_cast<int>(std::ceil(high)), 0, height_);
    if (first >= last) {
        return;
    }
    touch(column, first, last);
    std::uint8_t* cells =
        &mask_[static_cast<std::size_t>(column) * static_cast<std::size_t>(height_)];
    const int firstFull = std::clamp(static_cast<int>(std::ceil(low)), first, last);
    const int lastFull = std::clamp(static_cast<int>(std::floor(high)), firstFull, last);
    std::fill(cells + firstFull, cells + lastFull, std::uint8_t{255});
    // The two ends cover their pixels partly; a span within one pixel has only the first.
    if (first < firstFull) {
        raise(column, first, std::min(high, first + 1.0) - low);
    }
    if (lastFull < last && lastFull >= firstFull && !(first < firstFull && first == last - 1)) {
        raise(column, last - 1, high - (last - 1));
    }
}

// Coverage falls from full to none over one pixel of distance between the pixel's centre and the
// segment: exact enough for lines of one or two pixels and far cheaper than a polygon. x0 <= x1.
void LineRaster::addSegment(double x0, double y0, double x1, double y1, double halfWidth) {
    const double reach = halfWidth + 0.5;
    const int first = std::max(from_, static_cast<int>(std::floor(std::max(x0 - reach, -1e6))));
    const int last = std::min(to_, static_cast<int>(std::ceil(std::min(x1 + reach, 1e6))));
    const double dx = x1 - x0, dy = y1 - y0;
    const double lengthSquared = dx * dx + dy * dy;
    const double slope = dx > 0 ? dy / dx : 0;
    for (int column = first; column < last; ++column) {
        // The rows that the line can reach within this column.
        double a = y0, b = y1;
        if (dx > 0) {
            a = y0 + slope * std::clamp(column - reach - x0, 0.0, dx);
            b = y0 + slope * std::clamp(column + 1 + reach - x0, 0.0, dx);
        }
        const double low = std::clamp(std::min(a, b) - reach, 0.0, double(height_));
        const double high = std::clamp(std::max(a, b) + reach, 0.0, double(height_));
        const int top = static_cast<int>(std::floor(low));
        const int bottom = static_cast<int>(std::ceil(high));
        if (top >= bottom) {
            continue;
        }
        touch(column, top, bottom);
        const double px = column + 0.5 - x0;
        for (int row = top; row < bottom; ++row) {
            const double py = row + 0.5 - y0;
            const double t =
                lengthSquared > 0 ? std::clamp((px * dx + py * dy) / lengthSquared, 0.0, 1.0) : 0;
            const double ex = px - t * dx, ey = py - t * dy;
            const double squared = ex * ex + ey * ey;
            if (squared < reach * reach) {
                raise(column, row, std::min(1.0, reach - std::sqrt(squared)));
            }
        }
    }
}

// Clears the mask while blending: it is clean for the next line, and only touched rows are visited.
void LineRaster::blend(QImage& image, const QColor& color, double opacity, const Dashes& dashes) {
    const double alpha = color.alphaF() * opacity;
    const auto channel = [&](double value) {
        return static_cast<std::uint32_t>(std::lround(255 * value * alpha));
    };
    const std::uint32_t source[4] = {channel(color.blueF()), channel(color.greenF()),
                                     channel(color.redF()), channel(1.0)};
    auto* pixels = reinterpret_cast<std::uint32_t*>(image.bits());
    const auto stride = static_cast<std::size_t>(image.bytesPerLine()) / sizeof(std::uint32_t);
    for (int column = from_; column < to_; ++column) {
        const auto c = static_cast<std::size_t>(column);
        const int top = top_[c], bottom = bottom_[c];
        if (top >= bottom) {
            continue;
        }
        std::uint8_t* cells = &mask_[c * static_cast<std::size_t>(height_)];
        const bool isDrawn =
            dashes.off <= 0 || (column + dashes.phase) % (dashes.on + dashes.off) < dashes.on;
        for (int row = top; isDrawn && row < bottom; ++row) {
            if (cells[row] != 0) {
                std::uint32_t& pixel = pixels[static_cast<std::size_t>(row) * stride + c];
                pixel = blendPixel(pixel, source, cells[row]);
            }
        }
        std::fill(cells + top, cells + bottom, std::uint8_t{0});
        top_[c] = height_;
        bottom_[c] = 0;
    }
}

}  // namespace millrace::gui
