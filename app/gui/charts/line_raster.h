#pragma once
// LineRaster: draws CurveLayer's lines as coverage: the share of each pixel that a curve covers.
//
// QPainter's anti-aliased strokes cost about a millisecond per thousand points; here the cost
// depends on the pixels near the curve, and joints are not blended twice. One mask serves all
// curves of a chart, one after the other: begin(), add..., blend().
//
// Units: device pixels of the plot; pixel (0, 0) covers [0, 1) x [0, 1). Threads: the GUI thread.
// Owns: the mask.
#include <QColor>
#include <QImage>
#include <cstdint>
#include <vector>

namespace millrace::gui {

class LineRaster {
 public:
    void resize(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }

    /// Starts a curve that touches only the columns [from, to).
    void begin(int from, int to);
    /// A line with round ends between two positions, `halfWidth` to each side.
    void addSegment(double x0, double y0, double x1, double y1, double halfWidth);
    /// A vertical span of one column from `top` to `bottom`, extended by halfWidth at both ends.
    void addSpan(int column, double top, double bottom, double halfWidth);
    void addDot(double x, double y, double radius) { addSegment(x, y, x, y, radius); }
    /// Alternately drawn and skipped columns; the first column is `phase` columns into a period.
    struct Dashes {
        int on = 0, off = 0;  ///< off 0: a solid line
        int phase = 0;
    };
    /// Blends the curve onto an image of the mask's size (ARGB32 premultiplied), and ends it.
    void blend(QImage& image, const QColor& color, double opacity, const Dashes& dashes);
    void blend(QImage& image, const QColor& color, double opacity) {
        blend(image, color, opacity, Dashes());
    }

 private:
    void raise(int column, int row, double coverage);
    void touch(int column, int top, int bottom);

    int width_ = 0, height_ = 0, from_ = 0, to_ = 0;
    std::vector<std::uint8_t> mask_;  // column by column
    std::vector<int> top_, bottom_;   // rows touched in each column: [top, bottom)
};

}  // namespace millrace::gui
