#include "daemon/worker/relay/followers.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/wire/order_name.h"

namespace millrace::relay {

Result<std::unique_ptr<Followers>> Followers::open(FollowersOptions options) {
    std::unique_ptr<Followers> followers(new Followers(std::move(options)));
    if (!followers->options_.groupSocket.empty()) {
        ASSIGN_OR_RETURN(followers->group_, GroupExit::open(followers->options_.groupSocket,
                                                            followers->options_.admits));
    }
    return followers;
}

void Followers::end() {
    std::list<Relay> relays;
    std::list<std::shared_ptr<RingPump>> rings;
    {
        MutexLock lock(mutex_);
        isEnded_ = true;
        relays.swap(relays_);
        rings.swap(rings_);
    }
    for (const auto& ring : rings) {
        ring->finish();
    }
    for (const Relay& relay : relays) {
        relay.call->close(grpc::Status::OK);
    }
}

v1::Relays Followers::places() {
    v1::Relays places;
    MutexLock lock(mutex_);
    for (const Relay& relay : relays_) {
        if (relay.number != 0) {
            v1::RelayPlace& place = *places.add_relays();
            place.set_number(relay.number);
            place.set_join(relay.join);
        }
    }
    return places;
}

/// Nothing: no such relay follows.
std::optional<std::uint64_t> Followers::numberOf(const std::string& session) {
    MutexLock lock(mutex_);
    for (const Relay& relay : relays_) {
        if (!session.empty() && relay.session == session) {
            return relay.number;
        }
    }
    return std::nullopt;
}

wire::Traffic Followers::traffic() {
    wire::Traffic all;
    MutexLock lock(mutex_);
    for (const Relay& relay : relays_) {
        all.add(relay.traffic);
    }
    return all;
}

void Followers::reported(const std::shared_ptr<FollowCall>& call, const v1::FollowWord& word) {
    wire::Traffic traffic;
    for (const v1::FetchTraffic& link : word.links()) {
        traffic.add({link.bytes(), static_cast<std::int64_t>(1000 * link.wait_us())});
    }
    {
        MutexLock lock(mutex_);
        for (Relay& relay : relays_) {
            if (relay.call == call) {
                relay.traffic = traffic;
                countWaitsLocked(relay, word);
            }
        }
    }
    call->readNext();
}

void Followers::countWaitsLocked(Relay& relay, const v1::FollowWord& word) {
    const auto advance = [](std::int64_t& last, std::int64_t now) {
        return now - std::exchange(last, now);
    };
    const std::int64_t elapsed = advance(relay.reportNs, SystemClock().steadyNs());
    // Messages that are on their way while the relay's rings are full are awaited by nobody.
    const std::int64_t sent = advance(relay.sentNs, relay.sending->ns());
    const std::int64_t busy =
        advance(relay.busyNs, static_cast<std::int64_t>(1000 * word.busy_us()));
    if (relay.number == 0) {
        return;
    }
    waits_[{stream::FrameBook::kFeed, relay.number}] +=
        std::clamp<std::int64_t>(sent - busy, 0, elapsed);
    std::map<std::uint64_t, std::int64_t> now;
    for (const v1::FetchTraffic& link : word.links()) {
        const auto waitNs = static_cast<std::int64_t>(1000 * link.wait_us());
        const std::int64_t before = relay.waitNs[link.worker()];
        // A worker that has connected again is counted from 0.
        waits_[{link.worker(), relay.number}] += waitNs < before ? waitNs : waitNs - before;
        now[link.worker()] = waitNs;
    }
    relay.waitNs = std::move(now);
}

std::map<stream::FrameBook::Pair, std::int64_t> Followers::takeWaits() {
    MutexLock lock(mutex_);
    return std::exchange(waits_, {});
}

std::optional<wire::Sender> Followers::nameOf(std::uint64_t relay) {
    MutexLock lock(mutex_);
    const auto name = names_.find(relay);
    return name == names_.end() ? std::nullopt : std::optional(name->second);
}

std::shared_ptr<wire::BusyClock> Followers::sendingOf(const std::string& session) {
    MutexLock lock(mutex_);
    const auto relay = std::ranges::find(relays_, session, &Relay::session);
    return session.empty() || relay == relays_.end() ? nullptr : relay->sending;
}

void Followers::tellMoved(std::uint64_t number, const ring::FrameLedger::Moved& moved) {
    v1::FollowAnswer answer;
    v1::MovedFrames& frames = *answer.mutable_moved();
    frames.set_worker(moved.worker);
    stream::SegmentOrder order;
    order.name = moved.name;
    order.generation = moved.generation;
    wire::toMessage(order, *frames.mutable_name());
    frames.set_to_worker(moved.toWorker);
    frames.set_to_generation(moved.toGeneration);
    for (const auto& [frame, codedBytes] : moved.codedBytes) {
        v1::MovedFrame& one = *frames.add_frames();
        one.set_frame(static_cast<std::uint64_t>(frame));
        one.set_coded_bytes(codedBytes);
    }
    std::shared_ptr<FollowCall> call;
    {
        MutexLock lock(mutex_);
        for (const Relay& relay : relays_) {
            call = relay.number == number ? relay.call : call;
        }
    }
    if (call != nullptr) {
        call->send(std::move(answer));
    }
}

// A relay's call has ended. Its rings end, too: it would not learn where frames have moved.
void Followers::went() {
    std::size_t fetching = 0;
    std::vector<std::shared_ptr<RingPump>> cut;
    {
        MutexLock lock(mutex_);
        std::set<std::uint64_t> gone;
        for (const Relay& relay : relays_) {
            if (relay.call->isOver() && relay.number != 0) {
                gone.insert(relay.number);
            }
        }
        std::ranges::copy_if(rings_, std::back_inserter(cut),
                             [&gone](const auto& ring) { return gone.contains(ring->relay()); });
        relays_.remove_if([](const Relay& relay) { return relay.call->isOver(); });
        fetching = static_cast<std::size_t>(
            std::ranges::count_if(relays_, [](const Relay& relay) { return relay.number != 0; }));
    }
    for (const auto& ring : cut) {
        ring->close({grpc::StatusCode::UNAVAILABLE, "the relay has stopped following the feed"});
    }
    if (options_.ledger != nullptr) {
        options_.ledger->setRelays(fetching);
        options_.relaysChanged();
    }
}

Followers::GroupReactor* Followers::group() {
    if (group_ != nullptr) {
        return group_->call().get();
    }
    const auto refused = GroupExit::Call::start({[](v1::GroupBytes&) {}, [] {}});
    refused->close({grpc::StatusCode::FAILED_PRECONDITION,
                    "this feed carries no group; start it with --group-socket"});
    return refused.get();
}

Followers::FollowReactor* Followers::follow() {
    const auto place = std::make_shared<std::weak_ptr<FollowCall>>();
    const std::shared_ptr<FollowCall> call =
        FollowCall::start({[this, place](const v1::FollowWord& word) {
                               const auto self = place->lock();
                               if (self != nullptr && word.has_join()) {
                                   came(self, word.join());
                               } else if (self != nullptr) {
                                   reported(self, word);
                               }
                           },
                           [this] { went(); }});
    *place = call;
    call->readNext();
    return call.get();
}

void Followers::came(const std::shared_ptr<FollowCall>& call, const v1::JoinRequest& request) {
    const Status admitted = options_.admits(request);
    if (!admitted.ok()) {
        logWarn("data: refused a relay", {{"relay", request.name()}, {"why", messageOf(admitted)}});
        call->close(transport::toGrpc(admitted));
        return;
    }
    bool isEnded = false;
    {
        MutexLock lock(mutex_);
        isEnded = isEnded_;
        const bool isFetching = options_.ledger != nullptr && !request.relay_join().empty();
        Relay& relay = relays_.emplace_back(
            Relay{call, isFetching ? nextNumber_++ : 0, request.relay(), request.relay_join(), {}});
        relay.reportNs = SystemClock().steadyNs();
        names_[relay.number] = wire::senderOf(request);
        if (names_.size() > kNamesMost) {
            names_.erase(names_.begin());
        }
    }
    went();  // forgets those that have ended, and counts this one
    if (isEnded) {
        call->close(grpc::Status::OK);
        return;
    }
    logDebug("data: relay follows", {{"relay", request.name()}});
    v1::FollowAnswer answer;
    answer.set_spec(options_.spec);
    answer.set_stream_hash(options_.streamHash);
    answer.set_plan_hash(options_.planHash);
    call->send(std::move(answer));
    call->readNext();
}

Followers::RingReactor* Followers::ring() {
    const std::shared_ptr<RingPump> pump = RingPump::start(
        {options_.feedSocket, options_.isNetwork, options_.admits, options_.ledger,
         [this](const std::string& session) { return numberOf(session); }, options_.badFrame,
         [this](std::uint64_t relay, const ring::FrameLedger::Moved& moved) {
             tellMoved(relay, moved);
         },
         [this](const std::string& session) { return sendingOf(session); }});
    std::list<std::shared_ptr<RingPump>> over;  // their threads end outside of the lock
    const char* refused = nullptr;
    {
        MutexLock lock(mutex_);
        for (auto ring = rings_.begin(); ring != rings_.end();) {
            const auto next = std::next(ring);
            if ((*ring)->isOver()) {
                over.splice(over.end(), rings_, ring);
            }
            ring = next;
        }
        const bool isFull = rings_.size() >= kRingsMost;
        refused = isEnded_ ? "the feed is over"
                  : isFull ? "the feed serves too many rings"
                           : nullptr;
        if (refused == nullptr) {
            rings_.push_back(pump);
        }
    }
    if (refused != nullptr) {
        pump->close({grpc::StatusCode::RESOURCE_EXHAUSTED, refused});
    }
    return &pump->call();
}

}  // namespace millrace::relay
