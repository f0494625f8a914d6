#pragma once
// Converts values to the documented --json shapes (docs/reference/json.md).
//
// Times are RFC 3339 in UTC or null; unknown figures are null, never 0; hashes are hex strings; NaN
// and infinities are the strings "NaN", "Infinity", "-Infinity".
#include "backend/text/json.h"
#include "backend/values/daemon_info.h"
#include "backend/values/log_line.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"
#include "backend/values/submit.h"

namespace millrace::cli {

Json jsonOf(const values::RunSummary& run);
/// The run's progress: its step, phase and times.
Json progressJson(const values::RunSummary& run);
Json jsonOf(const values::FrameTraffic& traffic);
Json jsonOf(const values::DataWorkersReceipt& workers);
Json jsonOf(const values::Receipt& receipt);
Json jsonOf(const values::RunDetail& detail);
Json jsonOf(const values::SpecError& error);
Json jsonOf(const values::Checkpoint& checkpoint);
Json jsonOf(const values::MetricSeries& series);
Json jsonOf(const values::RankSpread& ranks);
/// A line of `watch --json`.
Json jsonOf(const std::string& run, const values::MetricLine& line,
            const values::MetricNames& names);
Json jsonOf(const values::DaemonStatus& status);
Json jsonOf(const values::NodeInfo& node);
Json jsonOf(const values::NodeSample& sample);
Json jsonOf(const values::LogLine& line);

template <class List>
Json jsonList(const List& values) {
    Json all = Json::array();
    for (const auto& value : values) {
        all.push_back(jsonOf(value));
    }
    return all;
}
/// Null for 0.
Json jsonTime(std::int64_t utcMs);

}  // namespace millrace::cli
