#pragma once
// Producer: one stream that is being delivered into rings: a sequencer on a thread of its own. Used
// by the feed.
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backend/ring/ring_sink.h"
#include "backend/segment/sequence/sequencer.h"
#include "daemon/worker/loader/feed/late_sink.h"

namespace millrace::loader {

/// Threads: one owner; the destructor stops the stream and joins. `onEnd` is called once, on the
/// producer's thread, with what the sequencer returned and whether a reader's end was the reason
/// (data that cannot be read is kUnavailable too).
class Producer {
 public:
    struct Request {
        std::shared_ptr<const segment::StreamInput> input;
        segment::SequencerOptions sequencer;
        std::vector<ring::RingSink::Rank> ranks;  ///< empty: they come later, with deliverTo()
        ring::RingSink::Options dealing;

        /// Lets others compute its segments: limits how far ahead, and how much of the segments'
        /// memory their frames may take.
        void shareWithElsewhere(std::int64_t limitBytes);
    };
    using OnEnd = std::function<void(const Status&, bool isReaderGone)>;

    static Result<std::unique_ptr<Producer>> start(Request request, segment::BufferPool& pool,
                                                   segment::StageCounters& counters, OnEnd onEnd);
    ~Producer();

    /// For a producer that was started without ranks, once. The ranks have read nothing yet.
    void deliverTo(std::vector<ring::RingSink::Rank> ranks,
                   const ring::RingSink::Options& dealing) {
        sink_.deliverTo(std::move(ranks), dealing);
    }
    bool hasRanks() const { return sink_.hasRanks(); }

    segment::SequencerTotals totals() const { return sequencer_->totals(); }
    stream::Cursor position() const { return sequencer_->position(); }
    segment::RemoteSegmentQueue& queue() { return sequencer_->queue(); }

 private:
    explicit Producer(const ring::FrameLedger* ledger) : sink_(ledger) {}
    LateSink sink_;
    std::unique_ptr<segment::Sequencer> sequencer_;
    std::jthread thread_;
};

}  // namespace millrace::loader
