#include "daemon/nodes/link_retry.h"

#include <algorithm>

#include "backend/core/log.h"

namespace millrace::nodes {
namespace {

constexpr std::int64_t kFirstBackoffNs = 100'000'000, kMostBackoffNs = 2'000'000'000;
// Refusals must last this long: a head that is just starting has written its file by then, and one
// that has ended has released the node's name.
constexpr std::int64_t kRefusedNs = 10'000'000'000;

}  // namespace

bool isRefusal(const Status& why) {
    return absl::IsUnauthenticated(why) || absl::IsAlreadyExists(why) ||
           absl::IsFailedPrecondition(why) || absl::IsPermissionDenied(why) ||
           absl::IsInvalidArgument(why);
}

void LinkRetry::failed(const Status& why) {
    const std::string sentence(messageOf(why));
    if (sentence != told_) {
        logWarn("slot: the head is away, trying again", {{"why", sentence}});
        told_ = sentence;
    }
    if (!isRefusal(why)) {
        refused_ = okStatus();
    } else if (refused_.ok()) {
        refusedNs_ = clock_.steadyNs();
        refused_ = why;
    }
    // Only the time between refusals counts, not time in which the head does not answer.
    isFinal_ = !refused_.ok() && clock_.steadyNs() - refusedNs_ >= kRefusedNs;
    backoffNs_ = std::clamp(2 * backoffNs_, kFirstBackoffNs, kMostBackoffNs);
    nextNs_ = clock_.steadyNs() + backoffNs_;
}

// After a working connection the next call is due sooner.
void LinkRetry::heard() {
    backoffNs_ = 0;
    told_.clear();
    refused_ = okStatus();
    isFinal_ = false;
}

}  // namespace millrace::nodes
