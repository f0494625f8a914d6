#pragma once
// What `compare` and `show` know of several runs beside each other: keys that differ, the best and
// the last of their metrics, whether they trained on the same rows.
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
    std::vector<std::string> values;  ///< one a run, "-" where it has none
};
std::vector<Difference> differencesOf(const std::vector<values::RunDetail>& runs);
/// Without what follows from other keys: hashes of counted vocabularies and their rows. They stay
/// where nothing else differs.
std::vector<Difference> withoutFollowing(std::vector<Difference> all);

/// "+tailnum -origin": what a list has more and less than another one, "other order" where it is
/// only that. Nothing where not both are lists; "-" stands for none.
std::optional<std::string> listChange(const std::string& before, const std::string& after);
/// The value of a run as it is read beside the base's: of a list what was added and removed.
std::string besideBase(const Difference& difference, std::size_t run, std::size_t base);

/// Best and last by run id, then by metric.
using Figures = std::map<std::string, std::map<std::string, session::BestAndLast>>;
/// Of the metrics that say something by their best value; series are read only of those whose best
/// the daemon does not keep. A run whose series cannot be read has none.
Figures readFigures(client::DaemonClient& daemon, const std::vector<values::RunSummary>& runs,
                    const std::vector<std::string>& metrics);
/// Null where there is none.
const session::BestAndLast* find(const Figures& figures, const std::string& runId,
                                 const std::string& metric);
/// "0.7934 @390"; "-".
std::string textOf(const std::optional<session::StepValue>& value);

/// False where two runs are known to have trained on other rows, features or in another order:
/// their losses say nothing of each other.
bool areOfOneStream(const std::vector<values::RunSummary>& runs);

}  // namespace millrace::cli
