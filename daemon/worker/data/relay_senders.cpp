#include "daemon/worker/data/relay_senders.h"

#include <chrono>
#include <utility>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/wire/order_name.h"

namespace millrace::data {
namespace {

// Between two attempts to connect to a relay.
constexpr std::chrono::milliseconds kTryAgain{500};

}  // namespace

RelaySenders::RelaySenders(FrameSender::FrameOf frameOf, std::uint64_t worker,
                           std::function<void()> onChange)
    : frameOf_(std::move(frameOf)), worker_(worker), onChange_(std::move(onChange)) {
    thread_ = startThread("data-relays", [this](const std::stop_token& stop) { run(stop); });
}

void RelaySenders::close() {
    thread_ = {};  // stops and joins it
    std::map<Number, Link> links;
    std::vector<std::shared_ptr<FrameSender>> over;
    {
        MutexLock lock(mutex_);
        links.swap(links_);
        over.swap(over_);
    }
}

void RelaySenders::set(const v1::Relays& relays) {
    MutexLock lock(mutex_);
    std::map<Number, Link> wanted;
    for (const v1::RelayPlace& place : relays.relays()) {
        const auto known = links_.find(place.number());
        Link& link = wanted[place.number()];
        if (known != links_.end()) {
            link = std::move(known->second);
            links_.erase(known);
        }
        link.join = place.join();
    }
    for (auto& [number, link] : links_) {
        over_.push_back(std::move(link.sender));
    }
    links_.swap(wanted);
    hasNews_ = true;
    changed_.notifyAll();
}

void RelaySenders::forget(const stream::SegmentOrder& order) {
    MutexLock lock(mutex_);
    for (const auto& [number, link] : links_) {
        if (link.sender != nullptr) {
            link.sender->forget(order);
        }
    }
}

void RelaySenders::report(v1::WorkerReport& report) const {
    MutexLock lock(mutex_);
    for (const auto& [number, link] : links_) {
        if (link.isOpen) {
            v1::RelayReach& reach = *report.add_reached();
            reach.set_relay(number);
            reach.set_connection(link.connection);
        }
    }
}

// Senders are made and destroyed here only: their destructor waits for gRPC.
void RelaySenders::run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        MutexLock lock(mutex_);
        hasNews_ = true;
        changed_.notifyAll();
    });
    while (!stop.stop_requested()) {
        std::vector<std::shared_ptr<FrameSender>> over;
        std::map<Number, std::string> closed;
        {
            MutexLock lock(mutex_);
            if (!hasNews_) {
                changed_.waitFor(mutex_, kTryAgain);
            }
            hasNews_ = false;
            over.swap(over_);
            for (auto& [number, link] : links_) {
                if (link.isClosed) {
                    over.push_back(std::move(link.sender));
                    closed.emplace(number, link.join);
                }
            }
        }
        over.clear();
        for (const auto& [number, join] : closed) {
            connect(number, join);
        }
    }
}

void RelaySenders::connect(Number relay, const std::string& join) {
    const auto file = transport::JoinFile::fromText(join, "a relay's join file");
    const auto channel = file.ok() ? transport::openChannel(*file) : file.status();
    if (!channel.ok()) {
        logWarn("data: no connection to a relay", {{"why", messageOf(channel.status())}});
        return;
    }
    std::shared_ptr<FrameSender> sender;
    std::uint32_t connection = 0;
    {
        MutexLock lock(mutex_);
        const auto link = links_.find(relay);
        if (link == links_.end()) {
            return;
        }
        connection = ++link->second.connection;
        sender = std::make_shared<FrameSender>(
            frameOf_, [this, relay, connection] { told(relay, connection, false); },
            [this, relay, connection] { told(relay, connection, true); });
        link->second.sender = sender;
        link->second.isClosed = false;
    }
    sender->start(*channel, wire::WorkerConnection{worker_, connection}.text());
}

void RelaySenders::told(Number relay, std::uint32_t connection, bool isOpen) {
    {
        MutexLock lock(mutex_);
        const auto link = links_.find(relay);
        if (link == links_.end() || link->second.connection != connection) {
            return;
        }
        link->second.isOpen = isOpen;
        link->second.isClosed = !isOpen;
    }
    onChange_();
}

}  // namespace millrace::data
