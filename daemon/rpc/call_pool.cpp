#include "daemon/rpc/call_pool.h"

#include "backend/core/thread.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {

CallPool::CallPool(const std::string& name, int numThreads, std::size_t capacity)
    : queue_(capacity) {
    for (int i = 0; i < numThreads; ++i) {
        threads_.push_back(startThread(name, [this](std::stop_token) {
            while (auto work = queue_.pop()) {
                (*work)(isEnding_);
            }
        }));
    }
}

CallPool::~CallPool() {
    end();
    threads_.clear();
}

void CallPool::end() {
    isEnding_ = true;
    queue_.close();
}

bool CallPool::tryRun(Work work) {
    return queue_.tryPush(std::move(work));
}

grpc::Status toGrpc(const Status& status) {
    if (status.ok()) {
        return grpc::Status::OK;
    }
    return {static_cast<grpc::StatusCode>(status.code()), std::string(messageOf(status)),
            std::string(kDaemonsWord)};
}

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, const Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(toGrpc(status));
    return reactor;
}

}  // namespace millrace::rpc
