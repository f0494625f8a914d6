#include "tests/sim/world.h"

#include <cstdio>

#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sim/wire.h"

namespace millrace::sim {
namespace {

World* present = nullptr;

}  // namespace

World::World(std::uint64_t seed) : random_(seed), ids_(~seed) {
    present = this;
}

World::~World() {
    present = nullptr;
}

void World::tell(const std::string& what) {
    char time[32];
    std::snprintf(time, sizeof time, "%10.3f  ", static_cast<double>(nowNs_) / kSecond);
    trace_.push_back(time + what);
}

void Cable::cut(To to, std::int64_t ns) {
    std::int64_t& until = cutUntilNs_[static_cast<std::size_t>(to)];
    until = std::max(until, world_.nowNs() + ns);
    std::erase_if(wires_, [](const auto& wire) { return wire.expired(); });
    for (const auto& one : wires_) {
        if (const auto wire = one.lock()) {
            wire->watch();
            world_.at(until, [wire, to] { wire->flush(to); });
        }
    }
}

std::shared_ptr<Wire> Wire::make(Cable& cable) {
    std::shared_ptr<Wire> wire(new Wire(cable));
    cable.wires_.push_back(wire);
    for (const To to : {To::kHead, To::kNode}) {
        if (cable.isCut(to)) {
            wire->watch();
            cable.world_.at(cable.cutUntilNs_[static_cast<std::size_t>(to)],
                            [wire, to] { wire->flush(to); });
        }
    }
    return wire;
}

// Each end finds out separately that it receives nothing any more, one long before the other.
void Wire::watch() {
    if (quietSinceNs_ >= 0) {
        return;
    }
    quietSinceNs_ = cable_.world().nowNs();
    const std::int64_t first = kKeepAliveNs + cable_.world().draw(2 * kSecond);
    const std::int64_t second = first + cable_.world().draw(kLateNs);
    const To early = cable_.world().chance(50) ? To::kHead : To::kNode;
    cable_.world().after(first, [self = shared_from_this(), early] {
        self->quietSinceNs_ = -1;
        self->giveUp(early);
    });
    cable_.world().after(
        second, [self = shared_from_this(), late = early == To::kHead ? To::kNode : To::kHead] {
            self->giveUp(late);
        });
}

void Wire::giveUp(To end) {
    if (!cable_.isWhole() && isOpen(end)) {
        closed(end);
        close(end == To::kHead ? To::kNode : To::kHead);
    }
}

void Wire::send(To to, std::function<void()> message) {
    if (!isOpen(To::kHead) || !isOpen(To::kNode)) {
        return;  // the connection is over, known or not
    }
    queues_[static_cast<std::size_t>(to)].push_back(std::move(message));
    flush(to);
}

// Keeps the order: a message leaves when the one before has arrived.
void Wire::flush(To to) {
    const auto i = static_cast<std::size_t>(to);
    if (isFlushing_[i] || queues_[i].empty() || cable_.isCut(to)) {
        return;
    }
    isFlushing_[i] = true;
    cable_.world().after(cable_.delayNs(), [self = shared_from_this(), to, i] {
        self->isFlushing_[i] = false;
        if (self->cable_.isCut(to)) {
            return;  // lost in transit; sent again once the cable is whole
        }
        if (self->queues_[i].empty() || !self->isOpen(to)) {
            return;
        }
        const auto message = std::move(self->queues_[i].front());
        self->queues_[i].pop_front();
        message();
        self->flush(to);
    });
}

void Wire::close(To other) {
    const To own = other == To::kHead ? To::kNode : To::kHead;
    isOpen_[static_cast<std::size_t>(own)] = false;
    queues_[static_cast<std::size_t>(other)].push_back(
        [self = shared_from_this(), other] { self->closed(other); });
    flush(other);
}

void Wire::closed(To end) {
    bool& isOpen = isOpen_[static_cast<std::size_t>(end)];
    if (!std::exchange(isOpen, false)) {
        return;
    }
    queues_[0].clear();
    queues_[1].clear();
    const auto& tell = end == To::kHead ? onHeadClosed : onNodeClosed;
    if (tell) {
        tell();
    }
}

}  // namespace millrace::sim

// Replaces the call of the product; without a world it asks the kernel.
extern "C" ssize_t getrandom(void* bytes, std::size_t count, unsigned flags) {
    if (millrace::sim::present == nullptr) {
        return ::syscall(SYS_getrandom, bytes, count, flags);
    }
    millrace::sim::present->fillRandom(static_cast<unsigned char*>(bytes), count);
    return static_cast<ssize_t>(count);
}
