#include "tests/unit/stream/simulated_relays.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace millrace::stream::simulated {

std::int64_t Relays::between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
}

void Relays::after(std::int64_t least, std::int64_t most, std::function<void()> happens) {
    events_.push({now_ + between(least * kMs, most * kMs), order_++, std::move(happens)});
}

void Relays::send(std::int64_t least, std::int64_t most, std::function<void()> happens) {
    after(least, most, [this, attempt = attempt_, happens = std::move(happens)] {
        if (attempt == attempt_) {
            happens();
        }
    });
}

// A message of a call, which keeps their order.
void Relays::inOrder(std::int64_t& last, std::int64_t most, std::function<void()> happens) {
    last = std::max(now_ + between(1, most) * kMs, last + 1);
    events_.push({last, order_++, [this, attempt = attempt_, happens = std::move(happens)] {
                      if (attempt == attempt_) {
                          happens();
                      }
                  }});
}

void Relays::step() {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.happens();
}

void Relays::reset() {
    ++attempt_;
    moves_.clear();
    for (Reader& reader : readers_) {
        reader.slots.clear();
        reader.transfer.clear();
        reader.numWritten = reader.numOwed = 0;
        reader.isTaking = false;
    }
}

void Relays::forAwaited(std::uint64_t relay, const std::function<void(std::size_t, Entry&)>& use) {
    for (std::size_t r = 0; r < readers_.size(); ++r) {
        for (Entry& entry : readers_[r].slots) {
            if (readers_[r].relay == relay && !entry.isHere) {
                use(r, entry);
            }
        }
    }
}

void Relays::tell(std::uint64_t relay, const FrameBook::Moved& moved) {
    inOrder(lastTold_[relay], 30, [this, relay, moved] {
        Move& move = moves_[{relay, moved.worker, moved.name.segment, moved.generation}];
        move.toWorker = moved.toWorker;
        move.toGeneration = moved.toGeneration;
        for (const auto& [frame, bytes] : moved.codedBytes) {
            move.frames.insert(frame);
        }
        forAwaited(relay, [this, relay](std::size_t r, Entry& entry) {
            const FramePart before = entry.part;
            follow(relay, entry.part);
            if (!(entry.part == before)) {
                fetch(r, entry);
            }
        });
    });
}

void Relays::follow(std::uint64_t relay, FramePart& part) const {
    for (;;) {
        const auto move = moves_.find({relay, part.worker, part.name.segment, part.generation});
        if (move == moves_.end() || !move->second.frames.contains(part.frame)) {
            return;
        }
        part.worker = move->second.toWorker;
        part.generation = move->second.toGeneration;
    }
}

void Relays::put(std::size_t r, const Entry& entry) {
    readers_[r].transfer.push_back(entry);
    send(1, 10, [this, r] { accept(r); });
}

// Takes entries that have arrived while the ring has slots.
void Relays::accept(std::size_t r) {
    Reader& reader = readers_[r];
    while (!reader.transfer.empty() && reader.slots.size() < kSlots) {
        reader.slots.push_back(reader.transfer.front());
        reader.transfer.pop_front();
        Entry& entry = reader.slots.back();
        entry.isHere = entry.isInline;
        if (!entry.isHere) {
            follow(reader.relay, entry.part);
            fetch(r, entry);
        }
    }
    take(r);
    send(0, 0, [this] { hasRoom(); });
}

void Relays::fetch(std::size_t r, const Entry& entry) {
    const std::uint64_t number = entry.part.worker, relay = readers_[r].relay;
    if (!workers_.at(number).reached.contains(relay)) {
        send(1, 20, [this, r, number, connection = seen_[{relay, number}]] {
            lostWorker(r, number, connection);
        });
        return;
    }
    const std::uint32_t connection = workers_.at(number).connections.at(relay);
    send(1, 40, [this, r, part = entry.part, relay, connection] {
        const Worker& worker = workers_.at(part.worker);
        if (!worker.isAlive || worker.isSilent || !worker.reached.contains(relay) ||
            worker.connections.at(relay) != connection) {
            return;  // broken() and requestAgain() see to it
        }
        for (Entry& slot : readers_[r].slots) {
            if (slot.part == part && !slot.isHere && !slot.isInline) {
                EXPECT_TRUE(worker.held.contains({part.name.segment, part.generation}))
                    << "segment " << part.name.segment << ": its worker has dropped it";
                slot.isHere = true;
            }
        }
        take(r);
    });
}

// The rank takes the front of its ring.
void Relays::take(std::size_t r) {
    Reader& reader = readers_[r];
    if (reader.isTaking || reader.slots.empty() || !reader.slots.front().isHere) {
        return;
    }
    reader.isTaking = true;
    send(0, between(0, 20) == 0 ? 400 : 10, [this, r] {
        Reader& of = readers_[r];
        of.isTaking = false;
        const Entry entry = of.slots.front();
        of.slots.pop_front();
        of.taken.emplace_back(entry.segment, entry.frame);
        if (!entry.isInline) {
            inOrder(lastWritten_[r], 20, [this, r, count = ++of.numWritten] { written(r, count); });
        }
        accept(r);
    });
}

void Relays::broken(std::uint64_t worker, std::uint64_t relay) {
    if (workers_.at(worker).reached.erase(relay) > 0) {
        requestAgain(worker, relay);  // and reports that the worker is lost
    }
}

void Relays::requestAgain(std::uint64_t worker, std::uint64_t relay) {
    forAwaited(relay, [this, worker](std::size_t r, const Entry& entry) {
        if (entry.part.worker == worker) {
            fetch(r, entry);
        }
    });
}

}  // namespace millrace::stream::simulated
