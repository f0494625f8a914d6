#pragma once
// A rank that handles entries as the C library does, without a ring.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/feed/feed_progress.h"
#include "tests/unit/ring/entry_ring.h"

namespace millrace::ring {

/// Handles a ring's entries as the C library does, and records states and marks.
struct TestRank {
    FeedProgress progress;
    std::int64_t microRows = 1;
    std::map<FeedProgress::Place, std::string> states;  ///< at each mark, as of that moment
    std::vector<StepMark> marks;
    std::vector<int> frames;  ///< frame entries before each mark
    StepMark lastMark;        ///< of this ring
    SegmentRecord lastRecord;
    int framesOfStep = 0, lastFrames = 0;  ///< of this ring, behind the last mark and before it

    void begin(const Plan& plan) {
        microRows = plan.microRows;
        progress.begin(startState(), plan.microRows);
    }
    /// Reads at most `most` entries; returns what is wrong, or "". A feed that was cut off
    /// (`isCut`) leaves places without content; the rank reads up to the first of them.
    std::string read(EntryRing& ring, std::size_t most, bool isCut = false) {
        lastMark = {};
        lastRecord = {};
        framesOfStep = 0;
        for (std::size_t i = 0; i < std::min(most, ring.entries.size()); ++i) {
            const EntryRing::Entry& entry = ring.entries[i];
            if (!entry.isCommitted) {
                return isCut ? "" : "an entry was left without content";
            }
            if (const char* wrong = take(entry)) {
                return wrong;
            }
        }
        return "";
    }
    const char* take(const EntryRing::Entry& entry) {
        switch (entry.kind) {
            case EntryKind::kFrame:
                ++framesOfStep;
                return takeFrame(entry);
            case EntryKind::kSegment:
                return takeRecord(entry.record);
            case EntryKind::kStep:
                return takeMark(entry.mark);
            case EntryKind::kNothing:
            case EntryKind::kColumns:
                return nullptr;
            default:
                return progress.endEpoch(entry.epoch, entry.number);
        }
    }
    /// Checks the rows of the frame's micro-batches, which follow one another, and adds their
    /// hashes.
    const char* takeFrame(const EntryRing::Entry& entry) {
        const auto view = frame::FrameView::open(entry.frame.bytes().first(entry.bytes));
        if (!view.ok()) {
            return "not a frame";
        }
        for (std::int64_t i = 0, from = 0; i < entry.numbers.count; ++i, from += microRows) {
            const std::int64_t number = entry.numbers.first + i * entry.numbers.stride;
            const std::int64_t rows = std::min<std::int64_t>(microRows, view->rows() - from);
            const auto at = static_cast<std::size_t>(from), size = static_cast<std::size_t>(rows);
            if (rows < 1 || !areRowsOf(*view, at, size, number)) {
                return "a frame has other rows than its micro-batches";
            }
            const Sum128 ids = stream::rowIdsHash(view->rowFiles().subspan(at, size),
                                                  view->rowNumbers().subspan(at, size));
            const auto wrong = progress.addBatch(
                {entry.epoch, number},
                stream::batchHash(entry.epoch, static_cast<std::uint64_t>(number), ids), rows);
            if (wrong != nullptr) {
                return wrong;
            }
        }
        return nullptr;
    }
    /// Whether the rows are those of makeFrame() for this number.
    static bool areRowsOf(const frame::FrameView& view, std::size_t from, std::size_t rows,
                          std::int64_t number) {
        const auto n = static_cast<std::uint64_t>(number);
        const std::uint64_t values = valuesOf(number);
        for (std::size_t i = 0; i < rows; ++i) {
            const auto begin = view.offsets(3)[from + i], end = view.offsets(3)[from + i + 1];
            const auto length = static_cast<std::int64_t>(values * (i + 1) / rows) -
                                static_cast<std::int64_t>(values * i / rows);
            bool isRight = view.rowNumbers()[from + i] == n * 1000 + i && end - begin == length &&
                           view.values<std::int64_t>(2)[from + i] == number &&
                           view.values<float>(4)[from + i] == static_cast<float>(i);
            for (std::int64_t v = begin; isRight && v < end; ++v) {
                isRight = view.values<std::int64_t>(3)[static_cast<std::size_t>(v)] == number;
            }
            if (!isRight) {
                return false;
            }
        }
        return true;
    }
    /// Checks the order of marks and records; the first segment's record may follow some of its
    /// frames.
    const char* takeRecord(const SegmentRecord& record) {
        if (record.count > 0) {
            if (record.segment > 0 && record.epoch == lastMark.epoch &&
                record.first < lastMark.number) {
                return "a record is behind a mark that it belongs before";
            }
            lastRecord = record;
        }
        return progress.addRecord(record);
    }
    const char* takeMark(const StepMark& mark) {
        if (lastRecord.epoch == mark.epoch && lastRecord.first >= mark.number &&
            lastRecord.count > 0) {
            return "a mark is behind a record that it belongs before";
        }
        lastMark = mark;
        lastFrames = std::exchange(framesOfStep, 0);
        bool isNew = false;
        const char* wrong = progress.addMark(mark, isNew);
        if (wrong == nullptr && isNew) {
            StreamState state;
            const FeedProgress::Place place{mark.epoch, mark.number};
            wrong = progress.stateAt(place, state);
            states[place] = state.toText();
            marks.push_back(mark);
            frames.push_back(lastFrames);
        }
        return wrong;
    }
};

}  // namespace millrace::ring
