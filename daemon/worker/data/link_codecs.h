#pragma once
// LinkCodecs: the codec of each column on the way to a feed. The codecs are configured, or chosen
// once from a worker's measurements on its first frames and the speed of the link. Used by Lead.
//
// Threads: one owner. Failure: none; returns false for measurements of another layout.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/frame/codec.h"

namespace millrace::data {

class LinkCodecs {
 public:
    /// The link's speed counts as known after this many bytes, or after the time below.
    static constexpr std::uint64_t kLeastBytes = 8 << 20;
    static constexpr std::int64_t kLeastNs = 500'000'000;

    /// Bytes that arrived, and the time spent waiting for them.
    struct Traffic {
        std::uint64_t bytes = 0;
        std::int64_t waitNs = 0;
    };

    /// `given`: nothing is measured; nullopt: measures if frames arrive over a network.
    LinkCodecs(std::optional<frame::CodecPlan> given, bool isNetwork)
        : plan_(std::move(given)), isNetwork_(isNetwork) {}

    bool wantsMeasures() const { return isNetwork_ && !plan_ && measures_.empty(); }
    /// `columns`: of the layout.
    bool measured(frame::CodecMeasures measures, std::size_t columns);
    /// Returns true if they are chosen now.
    bool choose(const Traffic& traffic);

    /// Nothing: no column is coded, as far as is known.
    const std::optional<frame::CodecPlan>& plan() const { return plan_; }
    /// The link speed that they were chosen for; 0: they were configured, or are not chosen yet.
    double linkBytesPerSecond() const { return bytesPerSecond_; }
    /// The number of columns per codec: "none 3, zstd:-5 12".
    std::string text() const;

 private:
    std::optional<frame::CodecPlan> plan_;
    const bool isNetwork_;
    frame::CodecMeasures measures_;
    double bytesPerSecond_ = 0;
};

}  // namespace millrace::data
