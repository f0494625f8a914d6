#include "daemon/nodes/head_link.h"

#include <utility>

#include "backend/core/stop_wait.h"
#include "backend/core/thread.h"
#include "daemon/transport/transport.h"

namespace millrace::nodes {
namespace {

// Most reports that wait to be sent; more would only be older ones.
constexpr std::size_t kWaitingMost = 4;
// The head counts a node as away after three of these.
constexpr std::chrono::milliseconds kBetweenSigns{1'000};
// After this time without a call the owner counts as hung.
constexpr std::int64_t kHungNs = 300'000'000'000;

// Refuses a feed's file, which has an attempt or the token of relays.
Result<transport::JoinFile> readJoinFile(const std::string& path) {
    ASSIGN_OR_RETURN(transport::JoinFile file, transport::JoinFile::read(path));
    if (file.attempt != 0 || !file.relayToken.empty()) {
        return invalidArgument(path,
                               ": is a feed's join file, for its data workers and relays; an agent "
                               "needs one that 'millrace nodes invite NAME' wrote, or its head's "
                               "nodes.join");
    }
    return file;
}

}  // namespace

Status checkJoinFile(const std::string& path) {
    return readJoinFile(path).status();
}

HeadLink::HeadLink(std::string joinPath, std::string buildId, std::string tunnelKey,
                   const Clock& clock, std::function<void()> onNews)
    : joinPath_(std::move(joinPath)),
      buildId_(std::move(buildId)),
      tunnelKey_(std::move(tunnelKey)),
      onNews_(std::move(onNews)),
      retry_(clock),
      clock_(clock),
      thread_(startThread("head-link", [this](std::stop_token stop) { giveSigns(stop); })) {}

HeadLink::~HeadLink() {
    thread_.request_stop();
    thread_.join();
    close();
}

// A report without news is a sign of life.
void HeadLink::giveSigns(const std::stop_token& stop) {
    do {
        std::shared_ptr<Stream> stream;
        {
            MutexLock lock(mutex_);
            stream = clock_.steadyNs() - askedNs_ < kHungNs ? alive_ : nullptr;
        }
        if (stream != nullptr && stream->numWaiting() == 0) {
            stream->send({});
        }
    } while (!waitForStop(stop, kBetweenSigns));
}

void HeadLink::close() {
    if (stream_ != nullptr) {
        {
            MutexLock lock(mutex_);
            alive_.reset();
        }
        stream_->close();
        stream_->waitDone();
        stream_.reset();
    }
}

void HeadLink::open(v1::AgentReport first) {
    const auto file = readJoinFile(joinPath_);
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
    MutexLock lock(mutex_);
    alive_ = stream_;
    askedNs_ = clock_.steadyNs();
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
        MutexLock lock(mutex_);
        askedNs_ = clock_.steadyNs();
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
        const std::shared_ptr<Stream> ended = stream_;
        close();
        const Status why = transport::toStatus(ended->status());
        retry_.failed(why.ok() ? unavailable("the head ended the connection") : why);
    }
    return orders;
}

}  // namespace millrace::nodes
