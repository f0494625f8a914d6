#pragma once
// How a metric of two runs differs, whether the two compare at all, and that in words.
//
// One run a side says nothing of luck, so no difference is called better or worse.
//
// Threads: any.
#include <QString>
#include <string>

#include "app/session/comparability.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

/// A run's metric against another's.
struct BaseDifference {
    /// kApart: they compare and differ. kOtherRows: evaluated on other rows, not to be compared.
    /// kOtherHashes: whether on other ones cannot be told, as the order hashes are of two versions.
    /// kOtherTraining: a figure of the training rows, which are others. kOtherLabel: the run
    /// learned another label.
    enum class Verdict {
        kApart,
        kSame,
        kOtherLabel,
        kOtherRows,
        kUnknownRows,
        kOtherHashes,
        kOtherTraining
    };
    double value = 0;  ///< the variation's minus the base's
    Verdict verdict = Verdict::kApart;
    double other = 0;  ///< what it is measured against
    /// One sentence for tool tips: "0.0021 above the base (0.7913); seed noise unknown".
    QString sentence;
};

/// One side of a comparison.
struct ComparedRun {
    const values::RunSummary& run;
    const session::Params& params;  ///< of its resolved spec
    double value;
};

/// `other` is measured against.
BaseDifference compareMetric(const std::string& metric, const ComparedRun& run,
                             const ComparedRun& other, const QString& otherName);

}  // namespace millrace::gui
