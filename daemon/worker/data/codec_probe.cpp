#include "daemon/worker/data/codec_probe.h"

namespace millrace::data {

// One frame at a time: concurrent measurements would disturb each other.
void CodecProbe::add(const frame::FrameView& frame) {
    if (!isWanted_) {
        return;
    }
    MutexLock lock(mutex_);
    if (numFrames_ < kFrames && chooser_.add(frame).ok()) {
        ++numFrames_;
    }
}

std::optional<frame::CodecMeasures> CodecProbe::take() {
    if (!isWanted_) {
        return std::nullopt;
    }
    MutexLock lock(mutex_);
    if (numFrames_ < kFrames || isTaken_) {
        return std::nullopt;
    }
    isTaken_ = true;
    isWanted_ = false;
    return chooser_.measures();
}

}  // namespace millrace::data
