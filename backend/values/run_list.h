#pragma once
// What a list of runs is asked for, and its answer a page at a time.
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
    std::string pageToken;             ///< of the page before, of the same request
    RunView view = RunView::kActive;
    bool withParams = false;
    bool withSystemMetrics = false;  ///< also "system.*" in RunSummary::latestMetrics
    std::uint64_t changesSince = 0;  ///< only runs with a higher revision, of any view; 0: all
    bool operator==(const ListRequest&) const = default;
};

struct RunPage {
    std::vector<RunSummary> runs;
    std::string nextPageToken;   ///< "" on the last page
    std::int64_t total = 0;      ///< that match, on all pages
    std::uint64_t revision = 0;  ///< for the next changesSince
    bool operator==(const RunPage&) const = default;
};

/// Whether a filter can be read, and where not.
struct FilterCheck {
    bool isOk = false;
    std::string message;  ///< one sentence when not
    int column = 0;       ///< from 1, within the filter; 0: no place
    bool operator==(const FilterCheck&) const = default;
};

}  // namespace millrace::values
