#pragma once
// CallPool: a few threads for calls that read the store or wait, so that these calls do not block
// gRPC's own threads. Used by the services.
//
// Threads: work may be added from any. Owns: its threads. Bounded: work that finds the queue full
// is refused, and so is work that is still queued when the pool ends.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "backend/core/bounded_queue.h"
#include "backend/core/status.h"

namespace millrace::rpc {

class CallPool {
 public:
    /// Called once. `isEnding`: the pool ends before this work has started; it must only report
    /// that.
    using Work = std::function<void(bool isEnding)>;

    CallPool(const std::string& name, int numThreads, std::size_t capacity);
    ~CallPool();  ///< ends, then joins
    /// False when there is no room.
    bool tryRun(Work work);
    /// Refuses queued and new work; running work continues. Does not wait.
    void end();
    bool isEnding() const { return isEnding_; }

 private:
    BoundedQueue<Work> queue_;
    std::atomic<bool> isEnding_{false};
    std::vector<std::jthread> threads_;
};

/// The same code and message, marked as the daemon's own (rpc_options.h, kDaemonsWord).
grpc::Status toGrpc(const Status& status);

/// Answers a unary call at once.
grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, const Status& status);

/// A unary call whose `work` (-> Status) fills the response on the pool.
template <class Work>
grpc::ServerUnaryReactor* answerOn(CallPool& pool, grpc::CallbackServerContext* context,
                                   Work work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const bool isTaken = pool.tryRun([reactor, work = std::move(work)](bool isEnding) {
        reactor->Finish(toGrpc(isEnding ? unavailable("the daemon is ending") : work()));
    });
    if (!isTaken) {
        reactor->Finish(toGrpc(unavailable("the daemon is busy; try again")));
    }
    return reactor;
}

}  // namespace millrace::rpc
