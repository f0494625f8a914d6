#pragma once
// An exponential moving average over a curve, kept up with its store as points are appended.
//
// The weight s of a point's past is that of TensorBoard (bias removed at the start) where points
// are few; where more than a thousand points lie in the curve's range, the past fades by s for each
// thousandth of the range, so that the same s looks the same on 1,000 and on 1,000,000 points. A
// gap stays a gap and does not start the average over.
//
// Threads: the GUI thread. Owns: the averaged points (x: the axis, y: the average).
#include <memory>

#include "app/gui/models/curve_store.h"

namespace millrace::gui {

class SmoothedCurve {
 public:
    /// Brings the average up to date; cheap where only points were appended.
    void update(const CurveStore& store, CurveAxis axis, double smoothing);
    const CurveStore& store() const { return store_; }

 private:
    void restart(const CurveStore& store, CurveAxis axis, double smoothing);

    CurveStore store_{CurveStore::Options{std::size_t{1} << 40}};
    std::uint64_t rewrites_ = 0;
    std::size_t numTaken_ = 0;
    CurveAxis axis_ = CurveAxis::kX;
    double smoothing_ = -1, range_ = 0;
    double sum_ = 0, weight_ = 0, lastX_ = 0;
};

}  // namespace millrace::gui
