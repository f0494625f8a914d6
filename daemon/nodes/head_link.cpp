#include "daemon/nodes/head_link.h"

#include <utility>

#include "daemon/transport/transport.h"

namespace millrace::nodes {
namespace {

// Reports that have not gone out; more would only be older ones.
constexpr std::size_t kWaitingMost = 4;

}  // namespace

HeadLink::HeadLink(std::string joinPath, std::string buildId, std::string tunnelKey,
                   const Clock& clock, std::function<void()> onNews)
    : joinPath_(std::move(joinPath)),
      buildId_(std::move(buildId)),
      tunnelKey_(std::move(tunnelKey)),
      onNews_(std::move(onNews)),
      retry_(clock) {}

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

void HeadLink::open(v1::AgentReport first) {
    const auto file = transport::JoinFile::read(joinPath_);
    if (!file.ok()) {
        return retry_.failed(file.status());
    }
    const auto channel = transport::openChannel(*file);
    if (!channel.ok()) {
        return retry_.failed(channel.status());
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
        retry_.heard();
    }
    if (isOver) {
        stream_->close();
        stream_->waitDone();
        const Status why = transport::toStatus(stream_->status());
        stream_.reset();
        retry_.failed(why.ok() ? unavailable("the head ended the connection") : why);
    }
    return orders;
}

}  // namespace millrace::nodes
