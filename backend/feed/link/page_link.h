#pragma once
// Connects a rank's link to the step page of its attempt, through which stops are agreed (decision
// 0031).
//
// Threads, failure: as LineLink and StepPage.
#include <cstdint>

#include "backend/feed/link/line_link.h"
#include "backend/feed/link/step_page.h"

namespace millrace::ring {

/// Passes the daemon's stop requests to `page`, and adds the last step that the rank has ended to
/// its lines. `page` outlives the link; options.rank must be set.
inline void agreeThrough(StepPage& page, LineLinkOptions& options) {
    options.ended = [&page, rank = options.rank] { return page.ended(rank); };
    options.onStop = [&page] { page.stop(); };
    options.onHold = [&page] { return static_cast<std::int64_t>(page.hold()); };
    options.onStopBehind = [&page](std::int64_t step) {
        page.stopBehind(static_cast<std::uint64_t>(step));
    };
}

/// Asks whether the rank may begin `step`, and records that it ended the previous one. Returns the
/// page's answer within 100 ms.
inline StepPage::Answer beginStep(StepPage& page, std::int64_t rank, std::int64_t step) {
    constexpr std::int64_t kHeldNs = 100'000'000;
    page.end(rank, static_cast<std::uint64_t>(step - 1));
    return page.beginWithin(static_cast<std::uint64_t>(step), kHeldNs);
}

/// Whether the run stops before `step`, for which the rank waits: it has ended the previous one.
inline bool isOverBefore(const StepPage& page, std::int64_t rank, std::int64_t step) {
    page.end(rank, static_cast<std::uint64_t>(step - 1));
    return page.isOver(static_cast<std::uint64_t>(step));
}

}  // namespace millrace::ring
