#pragma once
// Tables of several runs side by side: results at the end of following, and `compare`.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/frame/context.h"
#include "app/session/pairs.h"

namespace millrace::cli {

/// One row per run: state, test metrics, rows read/kept/trained, samples/s; below it, whether all
/// were evaluated on the same rows. `pairs`: as of evaluatedOnSameRows.
std::string resultTable(const std::vector<values::RunSummary>& runs, const Terminal& terminal,
                        const std::vector<std::string>& metrics = {},
                        const values::PairReply* pairs = nullptr);

/// The sentence below a table; "" if fewer than two runs were evaluated.
std::string sameRowsSentence(const std::vector<values::RunSummary>& runs, const Terminal& terminal,
                             const values::PairReply* pairs = nullptr);

/// Explains the mark beside an AUC of few rows; "" if no run has one.
std::string fewRowsText(const std::vector<values::RunSummary>& runs, const Terminal& terminal);

/// Explains which rows the counts of runs that ended inside a segment include; "" if no run did.
std::string countedRowsText(const std::vector<values::RunDetail>& runs, const Terminal& terminal);

/// Names the features of which a run scored values that its training never had; "" if none.
std::string unknownIdsText(const std::vector<values::RunDetail>& runs, const Terminal& terminal);

/// The rows behind an evaluation's figures: an AUC of a few positives says little.
class EvaluatedRows {
 public:
    /// Ignores metrics other than rows and positives of the evaluation and of its heads.
    void take(std::string_view metric, double value);
    /// `before` and "37 rows, 18 positive"; "" if the number of rows was not reported. Several
    /// heads are named: "liked: 37 rows, 18 positive; bought: 30 rows, 2 positive".
    std::string text(std::string_view before) const;

 private:
    struct Counts {
        std::optional<double> rows, positives;
    };
    std::map<std::string, Counts, std::less<>> heads_;  ///< "": of the metrics without a head
};

/// kUnknown: fewer than two runs have an evaluation hash. kDifferent: the hashes differ.
/// kNotComparable: they are of several versions. The rest is for equal hashes, which identify the
/// positions of rows alone. kOtherContent: the files that were evaluated differ. kOtherLabels:
/// other numbers of rows have a label. kUnknownFiles: the daemon could not compare the files.
enum class SameRows {
    kUnknown,
    kSame,
    kDifferent,
    kNotComparable,
    kOtherContent,
    kOtherLabels,
    kUnknownFiles
};
/// `pairs`: of the first run with the others. Null for runs of one submit, which read the same
/// files.
SameRows evaluatedOnSameRows(const std::vector<values::RunSummary>& runs,
                             const values::PairReply* pairs = nullptr);

}  // namespace millrace::cli
