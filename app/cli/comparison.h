#pragma once
// Compares several runs, for `compare` and `show`: the best and the last of their metrics, whether
// they trained on the same rows, the files that differ.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/client/daemon_client.h"
#include "app/session/metric_sense.h"
#include "app/session/spec_differences.h"

namespace millrace::cli {

using session::Difference;

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
