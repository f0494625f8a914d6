#include "backend/stream/frame_book.h"

#include <algorithm>

namespace millrace::stream {

FrameBook::RingId FrameBook::open(std::uint64_t relay) {
    rings_[nextRing_].relay = relay;
    return nextRing_++;
}

std::vector<FrameBook::Owner> FrameBook::close(RingId ring) {
    std::vector<Owner> owners;
    const auto place = rings_.find(ring);
    if (place != rings_.end()) {
        for (Debt& debt : place->second.debts) {
            owners.push_back(std::move(debt.owner));
        }
        rings_.erase(place);
    }
    return owners;
}

bool FrameBook::setReached(std::uint64_t worker, const std::vector<Reach>& reached) {
    std::map<Pair, std::uint32_t> now;
    for (const Reach& one : reached) {
        const Pair pair(worker, one.relay);
        const auto blocked = blocked_.find(pair);
        if (blocked == blocked_.end() || one.connection > blocked->second) {
            now[pair] = one.connection;
        }
    }
    const auto first = reached_.lower_bound({worker, 0});
    const auto end = reached_.upper_bound({worker, UINT64_MAX});
    if (std::equal(first, end, now.begin(), now.end())) {
        return false;
    }
    reached_.erase(first, end);
    reached_.merge(now);
    return true;
}

void FrameBook::block(std::uint64_t worker, RingId ring) {
    const auto place = rings_.find(ring);
    if (place == rings_.end()) {
        return;
    }
    const auto reached = reached_.find({worker, place->second.relay});
    if (reached != reached_.end()) {
        blocked_[reached->first] = reached->second;
        reached_.erase(reached);
    }
}

bool FrameBook::mayRefer(RingId ring, std::uint64_t worker) const {
    const auto place = rings_.find(ring);
    return place != rings_.end() && reached_.contains({worker, place->second.relay});
}

bool FrameBook::hasRoom(RingId ring, std::uint64_t bytes, std::size_t kept) const {
    const auto place = rings_.find(ring);
    return place == rings_.end() || place->second.debts.size() <= kept ||
           place->second.bytes + bytes <= creditBytes_;
}

FrameBook::DebtId FrameBook::owe(RingId ring, const FramePart& part, Owner owner) {
    const auto place = rings_.find(ring);
    if (place == rings_.end()) {
        return 0;
    }
    place->second.debts.push_back(
        {nextDebt_, part.worker, part.bytes, part.codedBytes, std::move(owner)});
    place->second.bytes += part.bytes;
    return nextDebt_++;
}

FrameBook::Owner FrameBook::cancel(RingId ring, DebtId debt) {
    const auto place = rings_.find(ring);
    if (place == rings_.end()) {
        return nullptr;
    }
    std::deque<Debt>& debts = place->second.debts;
    const auto at = std::ranges::find_if(debts, [debt](const Debt& d) { return d.id == debt; });
    if (at == debts.end()) {
        return nullptr;
    }
    place->second.bytes -= at->bytes;
    Owner owner = std::move(at->owner);
    debts.erase(at);
    return owner;
}

Result<std::vector<FrameBook::Owner>> FrameBook::acknowledged(RingId ring, std::uint64_t count) {
    std::vector<Owner> owners;
    const auto place = rings_.find(ring);
    if (place == rings_.end()) {
        return owners;
    }
    Ring& of = place->second;
    if (count < of.acknowledged || count - of.acknowledged > of.debts.size()) {
        return dataLoss("ring: ", count, " frames are acknowledged; ", of.acknowledged,
                        " were before, and ", of.debts.size(), " are owed");
    }
    for (; of.acknowledged < count; ++of.acknowledged) {
        Debt& debt = of.debts.front();
        of.bytes -= debt.bytes;
        totals_.bytes += debt.bytes;
        totals_.codedBytes += debt.codedBytes;
        ++totals_.frames;
        owners.push_back(std::move(debt.owner));
        of.debts.pop_front();
    }
    return owners;
}

std::vector<FrameBook::RingId> FrameBook::lose(std::uint64_t worker) {
    const auto isOf = [worker](const auto& entry) { return entry.first.first == worker; };
    std::erase_if(reached_, isOf);
    std::erase_if(blocked_, isOf);
    std::vector<RingId> rings;
    for (const auto& [id, ring] : rings_) {
        if (std::ranges::any_of(ring.debts,
                                [worker](const Debt& debt) { return debt.worker == worker; })) {
            rings.push_back(id);
        }
    }
    return rings;
}

}  // namespace millrace::stream
