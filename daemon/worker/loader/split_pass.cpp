#include "daemon/worker/loader/split_pass.h"

#include <thread>
#include <utility>

#include "backend/core/thread.h"
#include "backend/text/text.h"

namespace millrace::loader {

Status SplitPass::run(std::uint32_t epoch, const std::stop_token& stop) {
    next_ = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < threads_; ++t) {
            threads.push_back(startThread(strCat("count-", t),
                                          [&](const std::stop_token&) { work(epoch, stop); }));
        }
    }
    MutexLock lock(mutex_);
    for (const std::int64_t s : std::exchange(tooLarge_, {})) {
        segment::SegmentRunner alone(input_, pool_, counters_);
        const Status status = runOne(alone, epoch, s, stop);
        if (!status.ok()) {
            failed_.emplace(s, status);
        }
    }
    if (!failed_.empty()) {
        return failed_.begin()->second;  // the first one in the plan's order
    }
    return input_->dataset()->verifyFiles();
}

void SplitPass::work(std::uint32_t epoch, const std::stop_token& stop) {
    segment::SegmentRunner runner(input_, pool_, counters_);
    for (std::int64_t s = next_++; s < input_->numSegments(); s = next_++) {
        const Status status = runOne(runner, epoch, s, stop);
        if (status.ok()) {
            continue;
        }
        MutexLock lock(mutex_);
        if (status.code() == absl::StatusCode::kResourceExhausted) {
            tooLarge_.push_back(s);  // not beside the others: computed when they are done
            continue;
        }
        failed_.emplace(s, status);
        next_ = input_->numSegments();
    }
}

Status SplitPass::runOne(segment::SegmentRunner& runner, std::uint32_t epoch, std::int64_t segment,
                         const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const segment::SegmentOutput output,
                     stop.stop_requested() ? cancelled("stopped") : runner.run(epoch, segment));
    scanned_ += output.counts.rowsScanned;
    take_(output);
    return okStatus();
}

}  // namespace millrace::loader
