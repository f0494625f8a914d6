#pragma once
// CodecProbe: measures codecs on a worker's first frames, for the feed's choice. Used by
// WorkerSession.
//
// Threads: add() from the segment server's, the rest from any. Nothing is measured before wanted().
#include <atomic>
#include <optional>

#include "backend/core/mutex.h"
#include "backend/frame/codec.h"

namespace millrace::data {

class CodecProbe {
 public:
    /// `layout` outlives it.
    explicit CodecProbe(const frame::FrameLayout& layout) : chooser_(layout) {}

    /// The feed needs these measurements for its choice.
    void wanted() { isWanted_ = true; }
    /// The feed has chosen: further measurements are not needed.
    void unwanted() { isWanted_ = false; }
    void add(const frame::FrameView& frame);
    /// Returns the measurements once, when enough frames are measured.
    std::optional<frame::CodecMeasures> take();

 private:
    static constexpr int kFrames = 4;
    std::atomic<bool> isWanted_{false};
    Mutex mutex_;
    int numFrames_ MR_GUARDED_BY(mutex_) = 0;
    bool isTaken_ MR_GUARDED_BY(mutex_) = false;
    frame::CodecChooser chooser_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::data
