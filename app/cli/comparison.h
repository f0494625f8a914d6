#pragma once
// Compares several runs, for `compare` and `show`: keys that differ, the best and the last of their
// metrics, whether they trained on the same rows.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "app/session/metric_sense.h"

namespace millrace::cli {

/// A key of the resolved spec that is not the same in all runs.
struct Difference {
    std::string key;
    std::vector<std::string> values;  ///< one per run, "-" if it has none
};
std::vector<Difference> differencesOf(const std::vector<values::RunDetail>& runs);
/// Without what follows from other keys: hashes of counted vocabularies and their rows. They stay
/// where nothing else differs.
std::vector<Difference> withoutFollowing(std::vector<Difference> all);
/// A step that some runs switch off as one line, `recipe.spam` on or off, without its keys that
/// differ only because of that.
std::vector<Difference> withStepsAsLines(std::vector<Difference> all);

/// "+tailnum -origin": items that a list gained and lost against another, "other order" if only the
/// order differs. Nothing unless both are lists; "-" counts as an empty one.
std::optional<std::string> listChange(const std::string& before, const std::string& after);
/// The value of a run as shown beside the base's: for a list, the items added and removed.
std::string besideBase(const Difference& difference, std::size_t run, std::size_t base);

/// Best and last by run id, then by metric.
using Figures = std::map<std::string, std::map<std::string, session::BestAndLast>>;
/// For metrics with a meaningful best value. Reads series only if the daemon does not keep the
/// best. A run whose series cannot be read has none.
Figures readFigures(client::DaemonClient& daemon, const std::vector<values::RunSummary>& runs,
                    const std::vector<std::string>& metrics);
/// Null if there is none.
const session::BestAndLast* find(const Figures& figures, const std::string& runId,
                                 const std::string& metric);
/// "0.7934 @390"; "-".
std::string textOf(const std::optional<session::StepValue>& value);

/// False if two runs are not known to have trained on the same files, rows and features in the same
/// order: their losses cannot be compared. `pairs`: of the first run with the others.
bool areOfOneStream(const std::vector<values::RunSummary>& runs, const values::PairReply& pairs);

/// The files that differ, "file log.csv", and what each run read of it: "31.2 kB c4eccae9d5de".
std::vector<Difference> fileDifferencesOf(const std::vector<values::RunSummary>& runs,
                                          const values::PairReply& pairs);

}  // namespace millrace::cli
