#include "backend/ring/frame_ledger.h"

namespace millrace::ring {

FrameLedger::Debt::~Debt() {
    if (ledger_ != nullptr) {
        ledger_->cancel(ring_, id_);
    }
}

FrameLedger::RingId FrameLedger::open(std::uint64_t relay, RingEvents events) {
    MutexLock lock(mutex_);
    const RingId ring = book_.open(relay);
    events_.emplace(ring, std::move(events));
    return ring;
}

void FrameLedger::close(RingId ring) {
    std::vector<stream::FrameBook::Owner> owners;
    MutexLock lock(mutex_);
    owners = book_.close(ring);
    events_.erase(ring);
    changed_.notifyAll();
}

bool FrameLedger::isOpen(RingId ring) const {
    MutexLock lock(mutex_);
    return book_.isOpen(ring);
}

void FrameLedger::setReached(std::uint64_t worker,
                             const std::vector<stream::FrameBook::Reach>& reached) {
    MutexLock lock(mutex_);
    if (book_.setReached(worker, reached)) {
        isChanged_ = true;
    }
}

void FrameLedger::block(std::uint64_t worker, RingId ring, std::uint32_t connection,
                        std::int64_t nowNs) {
    MutexLock lock(mutex_);
    book_.block(worker, ring, connection, nowNs);
    isChanged_ = true;
}

template <typename Rings>
void FrameLedger::endAll(const Rings& rings) {
    std::vector<std::function<void()>> tell;
    {
        MutexLock lock(mutex_);
        for (const RingId ring : rings) {
            const auto events = events_.find(ring);
            if (events != events_.end()) {
                tell.push_back(events->second.onLost);
            }
        }
    }
    for (const auto& lost : tell) {
        lost();
    }
}

void FrameLedger::endOverdue(std::int64_t nowNs) {
    std::vector<RingId> rings;
    {
        MutexLock lock(mutex_);
        rings = book_.overdue(nowNs);
    }
    endAll(rings);
}

bool FrameLedger::mayRefer(RingId ring, std::uint64_t worker) const {
    MutexLock lock(mutex_);
    return book_.mayRefer(ring, worker);
}

Result<std::optional<FrameLedger::Debt>> FrameLedger::owe(RingId ring,
                                                          const stream::FramePart& part,
                                                          stream::FrameBook::Owner owner,
                                                          std::size_t kept,
                                                          const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        MutexLock lock(mutex_);
        changed_.notifyAll();
    });
    MutexLock lock(mutex_);
    while (!book_.hasRoom(ring, part.bytes, kept) && !stop.stop_requested()) {
        changed_.wait(mutex_);
    }
    if (stop.stop_requested()) {
        return cancelled("ring: stopped");
    }
    if (!book_.isOpen(ring)) {
        return unavailable("ring: the reader is gone");
    }
    const stream::FrameBook::DebtId debt = book_.owe(ring, part, std::move(owner));
    std::optional<Debt> owed;
    if (debt != 0) {
        owed.emplace(this, ring, debt);
    }
    return owed;
}

void FrameLedger::cancel(RingId ring, stream::FrameBook::DebtId debt) {
    stream::FrameBook::Owner owner;
    MutexLock lock(mutex_);
    owner = book_.cancel(ring, debt);
    changed_.notifyAll();
}

Status FrameLedger::acknowledged(RingId ring, std::uint64_t count) {
    std::vector<stream::FrameBook::Owner> owners;
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(owners, book_.acknowledged(ring, count));
    changed_.notifyAll();
    return okStatus();
}

void FrameLedger::lose(std::uint64_t worker) {
    std::vector<stream::FrameBook::Owner> owners;
    MutexLock lock(mutex_);
    isChanged_ = true;
    owners = book_.lose(worker);
}

void FrameLedger::drop(std::uint64_t worker, const stream::SegmentName& name) {
    std::vector<stream::FrameBook::Owner> owners;
    MutexLock lock(mutex_);
    owners = book_.drop(worker, name);
}

std::set<stream::SegmentName> FrameLedger::orphans() const {
    MutexLock lock(mutex_);
    return book_.orphans();
}

bool FrameLedger::replace(const stream::SegmentName& name, const stream::FrameBook::PartOf& partOf,
                          const stream::FrameBook::Owner& owner) {
    stream::FrameBook::Replaced replaced;
    std::vector<std::pair<std::function<void(const Moved&)>, const Moved*>> tell;
    {
        MutexLock lock(mutex_);
        replaced = book_.replace(name, partOf, owner);
        for (const auto& [ring, moved] : replaced.moved) {
            tell.emplace_back(events_.at(ring).onMoved, &moved);
        }
    }
    for (const auto& [onMoved, moved] : tell) {
        onMoved(*moved);
    }
    endAll(replaced.ended);
    return !replaced.moved.empty();
}

void FrameLedger::giveUp(const stream::SegmentName& name) {
    std::vector<RingId> rings;
    {
        MutexLock lock(mutex_);
        rings = book_.giveUp(name);
    }
    endAll(rings);
}

void FrameLedger::carried(RingId ring, std::uint64_t bytes) {
    MutexLock lock(mutex_);
    book_.carried(ring, bytes);
}

std::map<stream::FrameBook::Pair, stream::FrameBook::Totals> FrameLedger::takeTraffic() {
    MutexLock lock(mutex_);
    return book_.takeTraffic();
}

stream::FrameBook::Totals FrameLedger::totals() const {
    MutexLock lock(mutex_);
    return book_.totals();
}

}  // namespace millrace::ring
