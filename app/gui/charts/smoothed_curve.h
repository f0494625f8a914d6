#pragma once
// SmoothedCurve: an exponential moving average of a curve, updated as points are appended.
//
// With few points the weight s of the past is TensorBoard's (bias removed at the start). With more
// than a thousand points in the curve's range, the past fades by s per thousandth of the range, so
// that the same s looks the same on 1,000 and on 1,000,000 points. A gap stays a gap and does not
// restart the average.
//
// Threads: the GUI thread. Owns: the averaged points (x: the axis, y: the average).
#include <memory>

#include "app/gui/models/curve_store.h"

namespace millrace::gui {

class SmoothedCurve {
 public:
    /// Updates the average; cheap if points were only appended.
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
