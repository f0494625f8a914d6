#pragma once
// A rank's link whose stops go through the page of its attempt (decision 0031).
//
// Threads, failure: as LineLink and StepPage.
#include <cstdint>

#include "backend/ring/link/line_link.h"
#include "backend/ring/link/step_page.h"

namespace millrace::ring {

/// What the daemon says of a stop goes into `page`, and the last step that the rank has ended goes
/// with its lines. `page` outlives the link; options.rank is set.
inline void agreeThrough(StepPage& page, LineLinkOptions& options) {
    options.ended = [&page, rank = options.rank] { return page.ended(rank); };
    options.onStop = [&page] { page.stop(); };
    options.onHold = [&page] { return static_cast<std::int64_t>(page.hold()); };
    options.onStopBehind = [&page](std::int64_t step) {
        page.stopBehind(static_cast<std::uint64_t>(step));
    };
}

/// The rank may begin `step`, and has ended the one before: what the page says within 100 ms.
inline StepPage::Answer beginStep(StepPage& page, std::int64_t rank, std::int64_t step) {
    constexpr std::int64_t kHeldNs = 100'000'000;
    page.end(rank, static_cast<std::uint64_t>(step - 1));
    return page.beginWithin(static_cast<std::uint64_t>(step), kHeldNs);
}

/// Whether the run stops before `step`, which the rank waits for: it has ended the one before.
inline bool isOverBefore(const StepPage& page, std::int64_t rank, std::int64_t step) {
    page.end(rank, static_cast<std::uint64_t>(step - 1));
    return page.isOver(static_cast<std::uint64_t>(step));
}

}  // namespace millrace::ring
