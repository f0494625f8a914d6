#pragma once
// What a daemon tells its clients: backend/values, and what a client asks of metrics.
//
// Times are UTC ms since 1970, 0 where it has not happened; steps count from 1, epochs from 0; an
// optional that is empty is unknown, never zero.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/daemon_facts.h"
#include "backend/values/inspection.h"
#include "backend/values/log_line.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"
#include "backend/values/run_detail.h"
#include "backend/values/run_list.h"
#include "backend/values/submit.h"

namespace millrace::client {

struct MetricRangeRequest {
    std::string run;
    std::vector<std::string> names;
    std::int64_t fromStep = 0, toStep = 0;
    int maxPoints = 0;
    bool withSystem = false;     ///< without names: also "system.*"
    int rank = values::kNoRank;  ///< only what this rank measured; kNoRank: the run's, all ranks'
};
struct MetricSeries {
    std::string name;
    std::vector<std::int64_t> steps, timesMs;
    std::vector<double> values;
    bool isDecimated = false;  ///< the least and greatest points of each bucket only
    std::uint64_t pointsTotal = 0;
    std::vector<std::int64_t> rows;  ///< trained so far, one a point
    std::string problem;             ///< one sentence when stored points are damaged; "" else
    /// Where ranks differ, one a point: `values` are medians then. Else empty.
    std::vector<std::optional<values::RankSpread>> ranks;
    values::MetricCursor cursor;  ///< behind all of the run's that was stored then
};

/// A run's lines of metrics behind a cursor, and those that come.
struct MetricsRequest {
    std::string run;
    values::MetricCursor after{};  ///< none: from the first
    bool withSystem = false;       ///< also "system.*", which the daemon measures
};

}  // namespace millrace::client
