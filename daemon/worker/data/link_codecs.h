#pragma once
// LinkCodecs: the codec of each column on the way to a feed. The codecs are chosen once, from a
// worker's measurements on its first frames and the speed of the link. Used by Lead.
//
// Threads: one owner. Failure: none; returns false for measurements of another layout.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/frame/codec.h"
#include "daemon/worker/wire/owed_frames.h"

namespace millrace::data {

class LinkCodecs {
 public:
    /// The link's speed counts as known after this many bytes, or after the time below.
    static constexpr std::uint64_t kLeastBytes = 8 << 20;
    static constexpr std::int64_t kLeastNs = 500'000'000;

    /// Without `isMeasured`, nothing is measured or chosen.
    explicit LinkCodecs(bool isMeasured) : isMeasured_(isMeasured) {}

    bool wantsMeasures() const { return isMeasured_ && measures_.empty(); }
    /// `columns`: of the layout.
    bool measured(frame::CodecMeasures measures, std::size_t columns);
    /// Returns true if they are chosen now.
    bool choose(const wire::Traffic& traffic);

    /// Nothing: no column is coded, as far as is known.
    const std::optional<frame::CodecPlan>& plan() const { return plan_; }
    /// The link speed that they were chosen for; 0: they are not chosen yet.
    double linkBytesPerSecond() const { return bytesPerSecond_; }
    /// The number of columns per codec: "none 3, zstd:-5 12".
    std::string text() const;

 private:
    std::optional<frame::CodecPlan> plan_;
    const bool isMeasured_;
    frame::CodecMeasures measures_;
    double bytesPerSecond_ = 0;
};

}  // namespace millrace::data
