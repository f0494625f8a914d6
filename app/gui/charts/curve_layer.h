#pragma once
// CurveLayer: the image of a plot's curves, updated with minimal work: appended points redraw only
// the columns they touch, a view that moved by whole columns is shifted, everything else is
// redrawn.
//
// Dense curves are drawn from the envelope of each column (CurveStore::envelope), sparse ones from
// their points. On a time axis a line ends if no point came for several usual intervals
// (CurveStore::isAfterPause). Units: device pixels.
//
// Threads: the GUI thread. Owns: image, envelopes, averages; shares the stores.
#include <QImage>
#include <QSet>
#include <QString>
#include <vector>

#include "app/gui/charts/line_raster.h"
#include "app/gui/charts/parts/chart_content.h"
#include "app/gui/charts/smoothed_curve.h"

namespace millrace::gui {

CurveAxis storeAxis(XAxis axis);
/// The offset from a position on the chart's axis to the store's: the start for relative time, else
/// 0.
double axisOffset(const Curve& curve, XAxis axis);

struct LayerGeometry {
    int columns = 0, rows = 0;
    double scale = 1;  ///< device pixels per logical pixel
    XAxis axis = XAxis::kStep;
    std::int64_t firstBin =
        0;  ///< the left edge is at firstBin * binWidth: a pan leaves column borders unchanged
    double binWidth = 1;  ///< one column, in units of the axis
    CurveRange y{0, 1};
    bool isLogY = false;
    bool operator==(const LayerGeometry&) const = default;
    double yToRow(double value) const;
    double xToColumn(double x) const { return x / binWidth - static_cast<double>(firstBin); }
    double columnToX(double column) const {
        return (static_cast<double>(firstBin) + column) * binWidth;
    }
};

/// The changed columns: [from, to).
struct DirtyColumns {
    int from = 0, to = 0;
    bool isNone() const { return from >= to; }
};

class CurveLayer {
 public:
    /// Keeps the caches of curves whose store stays.
    void setCurves(const std::vector<Curve>& curves);
    void setHidden(const QSet<QString>& ids);
    void setHighlighted(const QString& id);

    DirtyColumns update(const LayerGeometry& geometry);
    const QImage& image() const { return image_; }

    /// The envelope of curve i in the last update; empty if it is drawn from its points.
    const std::vector<CurveBin>& bins(std::size_t i) const { return lines_[i].raw.bins; }
    /// The average of curve i, x being the store's axis; nullptr without smoothing.
    const CurveStore* smoothedStore(std::size_t i) const;
    /// The number of columns drawn since the start, for tests of incremental drawing.
    std::uint64_t numColumnsDrawn() const { return numColumnsDrawn_; }

 private:
    enum class Density { kMarked, kSparse, kDense };  // points with dots, points alone, envelopes
    struct Trace {
        std::vector<CurveBin> bins;
        std::uint64_t revision = 0, rewrites = 0;
        double lastX = 0;  // of the newest point drawn, in units of the store
        Density density = Density::kSparse;
        bool isFresh = false;
    };
    struct Line {
        Curve curve;
        SmoothedCurve smoothed;
        Trace raw, smooth;
        double offset = 0;
    };
    struct Source {
        const CurveStore& store;
        CurveAxis axis;
        double offset;
        bool isTime;
        bool isCut(std::size_t i) const { return isTime && store.isAfterPause(i, axis); }
    };
    struct Pen {
        double halfWidth;
        int from, to;          // the columns to draw: [from, to)
        bool hasLines = true;  // else only the marks of single points
    };
    static bool isSmoothed(const Line& line) { return line.curve.smoothing > 0; }
    Source rawSource(const Line& line) const;
    Source smoothSource(const Line& line) const;
    bool isTime() const { return storeAxis(geometry_.axis) == CurveAxis::kTime; }
    int shiftFor(const LayerGeometry& geometry) const;
    void shiftTrace(Trace& trace, const Source& source, int columns);
    void shift(int columns);
    int refresh(Line& line);
    int refreshTrace(Trace& trace, const Source& source);
    Density densityOf(const Source& source) const;
    int lastColumn() const;
    void draw(int from, int to);
    LineRaster::Dashes dashesOf(const Curve& curve) const;
    void drawLine(const Line& line, int from, int to);
    void drawBand(const Line& line, int from, int to);
    void drawBandColumns(const Line& line, int from, int to);
    void drawBandEdges(const Line& line, int from, int to);
    void drawTrace(const Trace& trace, const Source& source, const Pen& pen);
    void drawPoints(const Trace& trace, const Source& source, const Pen& pen);
    void drawBins(const Trace& trace, const Source& source, const Pen& pen);
    void drawBin(const CurveBin& bin, int column, const Pen& pen);
    void joinBins(const Trace& trace, int left, int right, const Pen& pen);
    void drawEdges(const Trace& trace, const Source& source, const Pen& pen);
    void drawToPoint(const Source& source, std::size_t i, double column, double row,
                     const Pen& pen);

    std::vector<Line> lines_;
    QSet<QString> hidden_;
    QString highlighted_;
    LayerGeometry geometry_;
    LineRaster raster_;
    QImage image_;
    bool isStale_ = true;
    std::uint64_t numColumnsDrawn_ = 0;
};

}  // namespace millrace::gui
