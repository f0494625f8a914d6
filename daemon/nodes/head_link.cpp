#include "daemon/nodes/head_link.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "daemon/transport/transport.h"

namespace millrace::nodes {
namespace {

constexpr std::int64_t kFirstBackoffNs = 100'000'000, kMostBackoffNs = 2'000'000'000;
// Reports that have not gone out; more would only be older ones.
constexpr std::size_t kWaitingMost = 4;
// A refusal that stays for so long: a head that is just being started has written its file by then,
// and one that is gone has let go of the node's name.
constexpr std::int64_t kRefusedNs = 10'000'000'000;

}  // namespace

bool isRefusal(const Status& why) {
    return absl::IsUnauthenticated(why) || absl::IsAlreadyExists(why) ||
           absl::IsFailedPrecondition(why) || absl::IsPermissionDenied(why) ||
           absl::IsInvalidArgument(why);
}

HeadLink::HeadLink(std::string joinPath, std::string buildId, std::string tunnelKey,
                   const Clock& clock, std::function<void()> onNews)
    : joinPath_(std::move(joinPath)),
      buildId_(std::move(buildId)),
      tunnelKey_(std::move(tunnelKey)),
      clock_(clock),
      onNews_(std::move(onNews)) {}

HeadLink::~HeadLink() {
    close();
}

void HeadLink::close() {
    if (stream_ != nullptr) {
        stream_->close();
        stream_->waitDone();
        stream_.reset();
    }
}

// Sooner after a connection that was good.
void HeadLink::failed(const Status& why) {
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
    backoffNs_ = std::clamp(2 * backoffNs_, kFirstBackoffNs, kMostBackoffNs);
    nextNs_ = clock_.steadyNs() + backoffNs_;
}

Status HeadLink::refusal() const {
    return clock_.steadyNs() - refusedNs_ >= kRefusedNs ? refused_ : okStatus();
}

void HeadLink::open(v1::AgentReport first) {
    const auto file = transport::JoinFile::read(joinPath_);
    if (!file.ok()) {
        return failed(file.status());
    }
    const auto channel = transport::openChannel(*file);
    if (!channel.ok()) {
        return failed(channel.status());
    }
    first.mutable_attachment()->set_token(file->token);
    first.mutable_attachment()->set_build_id(buildId_);
    first.mutable_attachment()->set_tunnel_key(tunnelKey_);
    stub_ = v1::Agents::NewStub(*channel);
    inbox_ = std::make_shared<Inbox>();
    const auto place = std::make_shared<std::weak_ptr<Stream>>();
    stream_ = Stream::make({[inbox = inbox_, place, news = onNews_](v1::HeadOrders& orders) {
                                {
                                    MutexLock lock(inbox->mutex);
                                    inbox->orders.push_back(orders);
                                }
                                if (const auto self = place->lock()) {
                                    self->readNext();
                                }
                                news();
                            },
                            [inbox = inbox_, news = onNews_] {
                                {
                                    MutexLock lock(inbox->mutex);
                                    inbox->isOver = true;
                                }
                                news();
                            }});
    *place = stream_;
    stream_->start([this](grpc::ClientContext* context, auto* reactor) {
        stub_->async()->Attach(context, reactor);
    });
    stream_->send(std::move(first));
    stream_->readNext();
}

bool HeadLink::isReady() const {
    return stream_ != nullptr && stream_->numWaiting() < kWaitingMost;
}

void HeadLink::send(v1::AgentReport report) {
    if (stream_ != nullptr) {
        stream_->send(std::move(report));
    }
}

std::vector<v1::HeadOrders> HeadLink::take() {
    std::vector<v1::HeadOrders> orders;
    bool isOver = false;
    if (stream_ == nullptr) {
        return orders;
    }
    {
        MutexLock lock(inbox_->mutex);
        orders.swap(inbox_->orders);
        isOver = inbox_->isOver;
    }
    if (!orders.empty()) {
        backoffNs_ = 0;
        told_.clear();
        refused_ = okStatus();
    }
    if (isOver) {
        stream_->close();
        stream_->waitDone();
        const Status why = transport::toStatus(stream_->status());
        stream_.reset();
        failed(why.ok() ? unavailable("the head ended the connection") : why);
    }
    return orders;
}

}  // namespace millrace::nodes
