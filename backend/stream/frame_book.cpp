#include "backend/stream/frame_book.h"

#include <algorithm>
#include <utility>

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
            numOrphans_ -= debt.isOrphan ? 1 : 0;
            owners.push_back(std::move(debt.owner));
        }
        rings_.erase(place);
    }
    std::erase_if(waits_, [ring](const auto& wait) { return wait.first.first == ring; });
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

void FrameBook::block(std::uint64_t worker, RingId ring, std::uint32_t connection,
                      std::int64_t nowNs) {
    const auto place = rings_.find(ring);
    if (place == rings_.end()) {
        return;
    }
    const bool isOwed = std::ranges::any_of(place->second.debts, [worker](const Debt& debt) {
        return debt.part.worker == worker && !debt.isOrphan;
    });
    if (!isOwed) {
        return;  // the worker is gone
    }
    waits_.try_emplace({ring, worker}, nowNs);
    const Pair pair(worker, place->second.relay);
    std::uint32_t& blocked = blocked_[pair];
    blocked = std::max(blocked, connection);
    const auto reached = reached_.find(pair);
    if (reached != reached_.end() && reached->second <= blocked) {
        reached_.erase(reached);
    }
}

std::vector<FrameBook::RingId> FrameBook::overdue(std::int64_t nowNs) {
    std::vector<RingId> rings;
    std::erase_if(waits_, [&](const auto& wait) {
        const auto [ring, worker] = wait.first;
        const bool isOwed = std::ranges::any_of(rings_.at(ring).debts, [worker](const Debt& debt) {
            return debt.part.worker == worker && !debt.isOrphan;
        });
        if (!isOwed || mayRefer(ring, worker)) {
            return true;  // the worker is gone, or has connected again
        }
        const bool isOverdue = nowNs - wait.second >= kOutOfReachNs;
        if (isOverdue) {
            rings.push_back(ring);
        }
        return isOverdue;
    });
    return rings;
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
    if (!mayRefer(ring, part.worker)) {
        return 0;
    }
    Ring& to = rings_.at(ring);
    to.debts.push_back({nextDebt_, part, std::move(owner), false});
    to.bytes += part.bytes;
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
    place->second.bytes -= at->part.bytes;
    numOrphans_ -= at->isOrphan ? 1 : 0;
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
        of.bytes -= debt.part.bytes;
        totals_.bytes += debt.part.bytes;
        totals_.codedBytes += debt.part.codedBytes;
        ++totals_.frames;
        numOrphans_ -= debt.isOrphan ? 1 : 0;
        addTraffic({debt.part.worker, of.relay}, debt.part.bytes, debt.part.codedBytes);
        owners.push_back(std::move(debt.owner));
        of.debts.pop_front();
    }
    return owners;
}

void FrameBook::carried(RingId ring, std::uint64_t bytes) {
    totals_.carriedBytes += bytes;
    const auto place = rings_.find(ring);
    if (place != rings_.end()) {
        addTraffic({kFeed, place->second.relay}, bytes, bytes);
    }
}

void FrameBook::addTraffic(const Pair& pair, std::uint64_t bytes, std::uint64_t codedBytes) {
    Totals& totals = traffic_[pair];
    ++totals.frames;
    totals.bytes += bytes;
    totals.codedBytes += codedBytes;
}

template <typename Of>
std::vector<FrameBook::Owner> FrameBook::orphan(const Of& isOf) {
    std::vector<Owner> owners;
    for (auto& [id, ring] : rings_) {
        for (Debt& debt : ring.debts) {
            if (!debt.isOrphan && isOf(debt.part)) {
                owners.push_back(std::exchange(debt.owner, nullptr));
                debt.isOrphan = true;
                ++numOrphans_;
            }
        }
    }
    return owners;
}

std::vector<FrameBook::Owner> FrameBook::drop(std::uint64_t worker, const SegmentName& name) {
    return orphan(
        [&](const FramePart& part) { return part.worker == worker && part.name == name; });
}

std::vector<FrameBook::Owner> FrameBook::lose(std::uint64_t worker) {
    const auto isOf = [worker](const auto& entry) { return entry.first.first == worker; };
    std::erase_if(reached_, isOf);
    std::erase_if(blocked_, isOf);
    return orphan([worker](const FramePart& part) { return part.worker == worker; });
}

std::set<SegmentName> FrameBook::orphans() const {
    std::set<SegmentName> names;
    if (numOrphans_ > 0) {
        for (const auto& [id, ring] : rings_) {
            for (const Debt& debt : ring.debts) {
                if (debt.isOrphan) {
                    names.insert(debt.part.name);
                }
            }
        }
    }
    return names;
}

FrameBook::Replaced FrameBook::replace(const SegmentName& name, const PartOf& partOf,
                                       const Owner& owner) {
    Replaced replaced;
    if (numOrphans_ == 0) {
        return replaced;
    }
    for (auto& [id, ring] : rings_) {
        for (Debt& debt : ring.debts) {
            if (!debt.isOrphan || debt.part.name != name) {
                continue;
            }
            FramePart& old = debt.part;
            const std::optional<FramePart> part = partOf(old.frame);
            if (!part || part->rowIds != old.rowIds || part->bytes != old.bytes) {
                replaced.ended.insert(id);
                break;
            }
            if (replaced.moved.empty() || replaced.moved.back().first != id ||
                replaced.moved.back().second.worker != old.worker ||
                replaced.moved.back().second.generation != old.generation) {
                replaced.moved.push_back(
                    {id, {old.worker, name, old.generation, part->worker, part->generation, {}}});
            }
            replaced.moved.back().second.codedBytes[old.frame] = part->codedBytes;
            old.worker = part->worker;
            old.generation = part->generation;
            old.codedBytes = part->codedBytes;
            debt.owner = owner;
            debt.isOrphan = false;
            --numOrphans_;
        }
    }
    return replaced;
}

std::vector<FrameBook::RingId> FrameBook::giveUp(const SegmentName& name) const {
    std::vector<RingId> rings;
    for (const auto& [id, ring] : rings_) {
        if (std::ranges::any_of(ring.debts, [&](const Debt& debt) {
                return debt.isOrphan && debt.part.name == name;
            })) {
            rings.push_back(id);
        }
    }
    return rings;
}

}  // namespace millrace::stream
