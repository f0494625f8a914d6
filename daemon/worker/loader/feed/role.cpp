#include <unistd.h>

#include "backend/core/thread.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/feed.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/owner.h"

namespace millrace::loader {
namespace {

// The first pass over large files takes long and cannot be cancelled: an end that is wanted
// meanwhile ends the process.
Result<FeedJob> resolveWatched(const FeedRequest& request, FeedEvents& events, FeedOwner& owner) {
    const std::jthread watch = startThread("feed-end", [&](const std::stop_token& stop) {
        const std::stop_callback wake(stop, [&] { events.push({FeedEvent::Kind::kWake}); });
        while (!stop.stop_requested()) {
            events.wait(-1, owner.fd());
            const bool isUnwanted = owner.wantsEnd();
            if (isUnwanted || events.isSignalled()) {
                owner.finish();
                ::_exit(isUnwanted ? kExitDone : kExitStopped);
            }
        }
    });
    return FeedJob::resolve(request);
}

// The other program reads the job again: only the job shows whether it has data workers or relays,
// or is a relay.
bool isForNetwork(const FeedJob& job, const DataPlane& plane) {
    return (!job.joinFile.empty() || !job.follow.empty()) && plane.lead == nullptr;
}

int serve(FeedJob job, const DataPlane& plane, FeedEvents& events, FeedOwner& owner) {
    return job.follow.empty() ? serveFeed(std::move(job), plane, events, owner)
                              : plane.follow(job, events, owner);
}

}  // namespace

int runFeed(const std::string& jobPath, const DataPlane& plane) {
    Result<FeedJob> job = FeedJob::read(jobPath);
    if (!job.ok()) {
        return fail(job.status());
    }
    if (isForNetwork(*job, plane)) {
        return plane.handOver();
    }
    FeedEvents events;
    auto owner = DaemonOwner::connect(*job);
    return owner.ok() ? serve(std::move(*job), plane, events, **owner) : fail(owner.status());
}

int runFeed(const FeedRequest& request, const DataPlane& plane) {
    FeedEvents events;
    auto owner = ProcessOwner::open(request.lifeFd, request.socketPath);
    if (!owner.ok()) {
        fail(owner.status());
        return kExitUsage;
    }
    Result<FeedJob> job = resolveWatched(request, events, **owner);
    if (!job.ok()) {
        (*owner)->finish();
        return fail(job.status());
    }
    if (isForNetwork(*job, plane)) {
        return plane.handOver();
    }
    return serve(std::move(*job), plane, events, **owner);
}

}  // namespace millrace::loader
