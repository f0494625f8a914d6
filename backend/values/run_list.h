#pragma once
// A request for a list of runs, and its reply, one page at a time.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/values/run_summary.h"

namespace millrace::values {

enum class RunView { kActive, kDeleted, kAll };

struct ListRequest {
    std::string filter;                ///< backend/search/run_filter.h's grammar; "" matches all
    std::vector<std::string> orderBy;  ///< "metrics.loss ASC"; none: newest first
    std::int64_t pageSize = 0;         ///< 0: the daemon's 100
    std::string pageToken;             ///< from the previous page of the same request
    RunView view = RunView::kActive;
    bool withParams = false;
    bool withSystemMetrics = false;  ///< includes "system.*" in RunSummary::latestMetrics
    std::uint64_t changesSince = 0;  ///< only runs with a higher revision, in any view; 0: all
    bool operator==(const ListRequest&) const = default;
};

struct RunPage {
    std::vector<RunSummary> runs;
    std::string nextPageToken;   ///< "" on the last page
    std::int64_t total = 0;      ///< number of matches on all pages
    std::uint64_t revision = 0;  ///< use it as the next changesSince
    bool operator==(const RunPage&) const = default;
};

/// Whether a filter is valid, and where it is not.
struct FilterCheck {
    bool isOk = false;
    std::string
        message;     ///< why it is invalid; if it is valid: a name in it that no run has, or ""
    int column = 0;  ///< from 1, within the filter; 0: no position
    bool operator==(const FilterCheck&) const = default;
};

}  // namespace millrace::values
