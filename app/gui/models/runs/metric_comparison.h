#pragma once
// Compares a metric of two runs: the difference, whether the two are comparable at all, and a
// sentence.
//
// One run per side does not show how much is chance, so no difference is called better or worse.
//
// Threads: any.
#include <QString>
#include <string>

#include "app/session/comparability.h"
#include "backend/values/inspection.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

/// The comparison of a run's metric with another run's.
struct BaseDifference {
    /// kApart: comparable and different. kOtherRows: evaluated on other rows, not comparable.
    /// kOtherHashes: unknown whether on other rows, because the order hashes are of two versions.
    /// kOtherTraining: a figure of the training rows, which differ. kOtherLabel: the run learned
    /// another label. Files that were rewritten between the runs have other rows, even if the
    /// hashes are equal.
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
    double other = 0;  ///< the value it is compared with
    /// One sentence for tooltips: "0.0021 above the base (0.7913); seed noise unknown".
    QString sentence;
};

/// One side of a comparison.
struct ComparedRun {
    const values::RunSummary& run;
    const session::Params& params;  ///< of its resolved spec
    double value;
};

/// Compares the metric of `run` with that of `other`. `pair`: `run` paired with `other`, for their
/// files; null: not known.
BaseDifference compareMetric(const std::string& metric, const ComparedRun& run,
                             const ComparedRun& other, const QString& otherName,
                             const values::RunPair* pair = nullptr);

}  // namespace millrace::gui
