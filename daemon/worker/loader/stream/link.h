#pragma once
// LinkSink (--link): sends frames as if to another machine. The first frames choose each column's
// codec for the link's speed, or the codecs are read from an earlier stream's report (--codecs).
// From then on every frame is coded, and decoded to where the sink reads it, so that sums and order
// hash are those of the decoded frames.
//
// Threads: as for FrameSink. The sink behind it outlives it. Memory: one coder with a coded frame
// for each working thread. Failure: kDataLoss if a decoded frame differs from the original.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/mutex.h"
#include "backend/frame/codec.h"
#include "daemon/worker/loader/sinks.h"

namespace millrace::loader {

/// What a link did, for a report.
struct LinkReport {
    struct Column {
        std::string name, codec;
        std::uint64_t bytes = 0, codedBytes = 0;  ///< of the frames used for the choice
    };
    double megabytesPerSecond = 0;  ///< 10^6 bytes; 0: without a link
    bool isPinned = false;          ///< the codecs were given: no choice, and columns have no bytes
    std::int64_t frames = 0;        ///< coded
    std::uint64_t bytes = 0, codedBytes = 0;
    double encodeSeconds = 0, decodeSeconds = 0;  ///< of all threads
    std::vector<Column> columns;

    Json toJson() const;
    std::string toText() const;
};

/// Returns the codecs in the report of `stream --link --json` in file `path`, by column of
/// `layout`. kInvalidArgument for a file that is not such a report, or of a stream with other
/// columns.
Result<frame::CodecPlan> readCodecs(const std::string& path, const frame::FrameLayout& layout);

class LinkSink final : public ForwardingSink {
 public:
    /// `pinned`: one codec per column; empty: the first frames choose.
    LinkSink(ring::FrameSink& sink, const frame::FrameLayout& layout, double megabytesPerSecond,
             frame::CodecPlan pinned = {});
    ~LinkSink() override;

    Status commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;

    /// After the stream's end.
    LinkReport report() const;

 private:
    static constexpr int kProbeFrames = 4;
    struct Coder;
    bool chose(const frame::FrameView& frame, Status& status);
    std::unique_ptr<Coder> takeCoder();

    const frame::FrameLayout& layout_;
    const double megabytesPerSecond_;
    mutable Mutex mutex_;
    frame::CodecChooser chooser_ MR_GUARDED_BY(mutex_);
    int probed_ MR_GUARDED_BY(mutex_) = 0;
    frame::CodecPlan plan_ MR_GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<Coder>> coders_ MR_GUARDED_BY(mutex_);
    LinkReport report_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::loader
