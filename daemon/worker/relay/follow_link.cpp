#include "daemon/worker/relay/follow_link.h"

#include "daemon/transport/transport.h"
#include "daemon/worker/wire/sender.h"

namespace millrace::relay {

// gRPC reports a connection that breaks in the middle of a message as an internal error.
bool isPassing(const Status& status) {
    return status.code() == absl::StatusCode::kInternal ||
           status.code() == absl::StatusCode::kUnavailable ||
           status.code() == absl::StatusCode::kDeadlineExceeded ||
           status.code() == absl::StatusCode::kNotFound ||
           status.code() == absl::StatusCode::kCancelled;
}

v1::JoinRequest requestOf(const transport::JoinFile& file, const std::string& buildId) {
    v1::JoinRequest request;
    request.set_build_id(buildId);
    request.set_token(file.relayToken);
    request.set_attempt(file.attempt);
    wire::nameSender(request);
    return request;
}

Result<std::unique_ptr<FollowLink>> FollowLink::open(const transport::JoinFile& file,
                                                     const v1::JoinRequest& request,
                                                     std::function<void()> onChange,
                                                     OnMoved onMoved) {
    ASSIGN_OR_RETURN(const auto channel, transport::openChannel(file));
    std::unique_ptr<FollowLink> link(new FollowLink());
    link->call_ = Call::make(
        {[self = link.get(), onChange, onMoved = std::move(onMoved)](v1::FollowAnswer& answer) {
             if (answer.has_moved()) {
                 onMoved(answer.moved());
             } else {
                 MutexLock lock(self->mutex_);
                 self->answer_ = std::move(answer);
             }
             onChange();
             self->call_->readNext();
         },
         onChange});
    const auto stub = v1::Data::NewStub(channel);
    link->call_->start([&stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->Follow(context, reactor);
    });
    v1::FollowWord first;
    *first.mutable_join() = request;
    link->call_->send(first);
    link->call_->readNext();
    return link;
}

FollowLink::~FollowLink() {
    call_->close();
    call_->waitDone();
}

std::optional<v1::FollowAnswer> FollowLink::answer() const {
    MutexLock lock(mutex_);
    return answer_;
}

Status FollowLink::end() const {
    call_->waitDone();
    return transport::toStatus(call_->status());
}

}  // namespace millrace::relay
