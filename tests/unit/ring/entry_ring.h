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
    /// Joins the parts as a relay does, which has fetched the references.
    Status commitParts(const FrameSlot& slot, const FrameNumbers& of,
                       std::uint64_t bytes) override {
        ASSIGN_OR_RETURN(const std::vector<RingPart> parts, readParts(slot.bytes.first(bytes)));
        std::vector<frame::FrameBuffer> memory;
        std::vector<frame::FrameView> views;
        std::vector<frame::RowRange> ranges;
        views.reserve(parts.size());
        std::uint64_t all = 0;
        for (const RingPart& part : parts) {
            std::span<const std::byte> frame = part.frame;
            if (!part.isInline()) {
                const auto number = static_cast<std::uint64_t>(part.reference.frame);
                frame = memory
                            .emplace_back(makeFrame(part.reference.name.epoch, number,
                                                    part.reference.rows, number % 7))
                            .bytes();
                ++numReferences;
            }
            ASSIGN_OR_RETURN(const frame::FrameView view, frame::FrameView::open(frame));
            views.push_back(view);
            ranges.push_back({&views.back(), 0, view.rows()});
            all += frame.size();
        }
        Entry& entry = entries[slot.ticket];
        const frame::FrameBuffer listed = std::exchange(entry.frame, frame::FrameBuffer(all));
        ASSIGN_OR_RETURN(entry.bytes, joinFrames(testLayout(), ranges, entry.frame.bytes()));
        entry.epoch = of.epoch;
        entry.number = of.first;
        entry.numbers = of;
        entry.isCommitted = true;
        return okStatus();
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
    std::size_t numReferences = 0;

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
        options.ledger = &ledger_;
        ledger_.setReached(kWorker, {{kRelay, 1}});
        options.beginAt(start);
        options.last = plan.last;
        options.microRows = plan.microRows;
        options.layout = &testLayout();
        std::vector<RingSink::Rank> ranks;
        for (const Reader& reader : readers) {
            rings[reader.rank] = std::make_shared<EntryRing>();
            ranks.push_back(
                {reader.rank, rings[reader.rank], reader.next, plan.joined.count(reader.rank) > 0});
            if (plan.fetching.contains(reader.rank)) {
                ranks.back().ledgerRing =
                    ledger_.open(kRelay, {[] {}, [](const FrameLedger::Moved&) {}});
            }
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
                const bool isPart =
                    sink_->takesPart(kWorker, p.epoch, p.number) && random() % 4 != 0;
                isFine = isFine && (isPart ? refer(p) : reserve(p));
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
    const FrameLedger& ledger() const { return ledger_; }
    /// References that were given, of which some may be in a step that was left out.
    std::size_t numGiven = 0;
    /// Frames that are still kept at their worker.
    std::size_t numKept() const { return owners_.use_count() - 1; }

 private:
    static constexpr std::uint64_t kWorker = 7, kRelay = 3;
    struct Open {
        FrameSlot slot;
        std::uint32_t epoch;
        std::int64_t number;
    };
    /// The frame's number is its index at the worker.
    bool refer(const Piece& p) {
        const auto rows = static_cast<std::uint32_t>(p.rows);
        const auto number = static_cast<std::uint64_t>(p.number);
        stream::FramePart part;
        part.worker = kWorker;
        part.name = {p.epoch, p.number / 3};
        part.frame = p.number;
        part.rows = part.to = rows;
        part.bytes = makeFrame(p.epoch, number, rows, valuesOf(p.number)).size();
        part.rowIds = idsOf(p.epoch, number, rows);
        ++numGiven;
        return sink_->part(part, owners_, p.epoch, p.number, {}).value_or(false);
    }
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

    const std::shared_ptr<int> owners_ = std::make_shared<int>();
    FrameLedger ledger_{std::uint64_t{1} << 40};
    std::unique_ptr<RingSink> sink_;
    std::vector<Open> open_;
};

}  // namespace millrace::ring
