#pragma once
// What a difference between two runs' metrics is worth, and in words.
//
// Threads: any.
#include <QString>
#include <string>

#include "backend/values/run_summary.h"

namespace millrace::gui {

/// A run's metric against another's.
struct BaseDifference {
    /// kOtherRows: evaluated on other rows, not to be compared. kOtherHashes: whether on other ones
    /// cannot be told, as the order hashes are of two versions. kOtherTraining: a figure of the
    /// training rows, which are others; neither better nor worse.
    enum class Verdict {
        kBetter,
        kWorse,
        kSame,
        kNeutral,
        kOtherRows,
        kUnknownRows,
        kOtherHashes,
        kOtherTraining
    };
    double value = 0;  ///< the variation's minus the base's
    Verdict verdict = Verdict::kNeutral;
    double other = 0;  ///< what it is measured against
    /// One sentence for tool tips: "0.0021 better than the base (0.7913)".
    QString sentence;
};

/// `other` is measured against.
BaseDifference compareMetric(const std::string& metric, const values::RunSummary& run, double value,
                             const values::RunSummary& other, double otherValue,
                             const QString& otherName);

}  // namespace millrace::gui
