#pragma once
// Collects the facts of one run as rows of "section, name, value": overview, environment, receipt,
// resolved spec. Pure functions on the daemon's answer.
//
// Threads: any.
#include <QString>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::gui {

struct RunFact {
    QString section, name, value;
    QString tip;  ///< the full value if it is shortened; else ""
    bool operator==(const RunFact&) const = default;
};

/// Submitter, times, origin; tags; its history, the newest first.
std::vector<RunFact> runFacts(const values::RunDetail& run);
/// Git, packages, hardware, host, directory.
std::vector<RunFact> environmentFacts(const values::RunDetail& run);
/// Frames between machines: by node, the share of the leading feed, the slowest links; why the
/// ranks wait. Empty if there are none.
std::vector<RunFact> trafficFacts(const values::RunDetail& run);
/// Rows scanned, pruned, kept, trained; every step with its reasons; unknown ids; files; hashes.
std::vector<RunFact> receiptFacts(const values::RunDetail& run);
/// The resolved spec's keys, sorted by name.
std::vector<RunFact> specFacts(const values::RunDetail& run);

}  // namespace millrace::gui
