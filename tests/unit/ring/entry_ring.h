#pragma once
// A feed and its ranks without shared memory: rings are lists of entries.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/feed/ring_layout.h"
#include "tests/unit/ring/random_stream.h"

namespace millrace::ring {

/// A ring without memory: entries in the order of their requests.
class EntryRing final : public StepSink {
 public:
    struct Entry {
        EntryKind kind{};
        std::uint32_t epoch = 0;
        std::int64_t number = 0;
        frame::FrameBuffer frame{0};
        SegmentRecord record;
        StepMark mark;
        FrameNumbers numbers;
        std::uint64_t bytes = 0;
        bool isCommitted = false, isParked = false;
    };

    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                              std::stop_token) override {
        Entry& entry = add(EntryKind::kFrame);
        entry.frame = frame::FrameBuffer(bytes);
        entry.bytes = bytes;
        return FrameSlot{entry.frame.bytes().first(bytes), entries.size() - 1};
    }
    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override {
        Entry& entry = entries[slot.ticket];
        entry.epoch = epoch;
        entry.number = number;
        entry.numbers = {epoch, number};
        entry.isCommitted = true;
        return okStatus();
    }
    Result<FrameSlot> reserveStep(std::stop_token) override {
        add(EntryKind::kStep);
        return FrameSlot{{}, entries.size() - 1};
    }
    Status commitStep(const FrameSlot& slot, const StepMark& mark) override {
        entries[slot.ticket].mark = mark;
        entries[slot.ticket].isCommitted = true;
        return okStatus();
    }
    Status segment(const SegmentRecord& record, std::stop_token) override {
        Entry& entry = add(EntryKind::kSegment);
        entry.record = record;
        entry.isCommitted = true;
        return okStatus();
    }
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token) override {
        Entry& entry = add(EntryKind::kEndOfEpoch);
        entry.epoch = epoch;
        entry.number = total;
        entry.isCommitted = true;
        return okStatus();
    }
    Status endOfStream(std::stop_token) override { return okStatus(); }
    Status error(const Status&, std::stop_token) override { return okStatus(); }
    Status columns(std::span<const std::byte>, std::stop_token) override {
        add(EntryKind::kColumns).isCommitted = true;
        return okStatus();
    }
    Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                        std::uint64_t bytes) override {
        Entry& entry = entries[slot.ticket];
        EXPECT_LE(bytes, slot.bytes.size());
        const Status done = commit(slot, of.epoch, of.first);
        entry.bytes = bytes;
        entry.numbers = of;
        return done;
    }
    Status commitNothing(const FrameSlot& slot) override {
        entries[slot.ticket].kind = EntryKind::kNothing;
        entries[slot.ticket].isCommitted = true;
        return okStatus();
    }
    Status park(const FrameSlot& slot) override {
        entries[slot.ticket].isParked = true;
        return okStatus();
    }

    std::deque<Entry> entries;

 private:
    Entry& add(EntryKind kind) {
        entries.emplace_back().kind = kind;
        return entries.back();
    }
};

/// Number of values in the list of makeFrame().
inline std::uint64_t valuesOf(std::int64_t number) {
    return static_cast<std::uint64_t>(number % 7);
}

/// A feed that serves some of the ranks. Frames are committed in any order.
class TestFeed {
 public:
    struct Reader {
        int rank;
        std::optional<FeedPosition> next;
    };
    TestFeed(const Plan& plan, const StreamState& start, const std::vector<Reader>& readers) {
        RingSink::Options options{plan.worldSize, plan.perStep};
        options.beginAt(start);
        options.last = plan.last;
        options.microRows = plan.microRows;
        options.layout = &testLayout();
        std::vector<RingSink::Rank> ranks;
        for (const Reader& reader : readers) {
            rings[reader.rank] = std::make_shared<EntryRing>();
            ranks.push_back(
                {reader.rank, rings[reader.rank], reader.next, plan.joined.count(reader.rank) > 0});
        }
        sink_ = std::make_unique<RingSink>(std::move(ranks), options);
    }

    /// False: the sink refused something.
    bool give(const std::vector<Piece>& pieces, std::size_t most, std::mt19937_64& random) {
        bool isFine = true;
        for (std::size_t i = 0; i < std::min(most, pieces.size()); ++i) {
            const Piece& p = pieces[i];
            if (p.kind == Piece::Kind::kSegment) {
                isFine = isFine && sink_->segment(p.record, {}).ok();
            } else if (p.kind == Piece::Kind::kEpochEnd) {
                isFine = isFine && sink_->endOfEpoch(p.epoch, p.number, {}).ok();
            } else if (sink_->wants(p.epoch, p.number)) {
                isFine = isFine && reserve(p);
            } else {
                const auto number = static_cast<std::uint64_t>(p.number);
                const Sum128 ids = idsOf(p.epoch, number, static_cast<std::uint32_t>(p.rows));
                isFine = isFine && sink_->leftOut(p.epoch, p.number, p.rows, ids, {}).ok();
            }
            while (!open_.empty() && random() % 3 != 0) {
                isFine = isFine && commit(random() % open_.size());
            }
        }
        while (!open_.empty()) {
            isFine = isFine && commit(random() % open_.size());
        }
        return isFine;
    }

    std::map<int, std::shared_ptr<EntryRing>> rings;

 private:
    struct Open {
        FrameSlot slot;
        std::uint32_t epoch;
        std::int64_t number;
    };
    bool reserve(const Piece& p) {
        const frame::FrameBuffer frame =
            makeFrame(p.epoch, static_cast<std::uint64_t>(p.number),
                      static_cast<std::uint32_t>(p.rows), valuesOf(p.number));
        auto slot = sink_->reserve(frame.size(), p.epoch, p.number, {});
        if (!slot.ok()) {
            return false;
        }
        std::memcpy(slot->bytes.data(), frame.bytes().data(), frame.size());
        open_.push_back({*slot, p.epoch, p.number});
        return true;
    }
    bool commit(std::size_t i) {
        const Open open = open_[i];
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        return sink_->commit(open.slot, open.epoch, open.number).ok();
    }

    std::unique_ptr<RingSink> sink_;
    std::vector<Open> open_;
};

}  // namespace millrace::ring
