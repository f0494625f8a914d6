#pragma once
// LinkCodecs: which codec each column has on the way to a feed. Given, or chosen once: by what a
// worker measured on its first frames and how fast these came.
//
// Threads: one owner. Failure: none; measures of another layout are refused with false.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/frame/codec.h"

namespace millrace::data {

class LinkCodecs {
 public:
    /// Before the link is known: bytes that have to come, or the time that they took.
    static constexpr std::uint64_t kLeastBytes = 8 << 20;
    static constexpr std::int64_t kLeastNs = 500'000'000;

    /// How much has come, and for how long something was waited for.
    struct Traffic {
        std::uint64_t bytes = 0;
        std::int64_t waitNs = 0;
    };

    /// `given`: no measure is wanted; none: what comes over a network is measured.
    LinkCodecs(std::optional<frame::CodecPlan> given, bool isNetwork)
        : plan_(std::move(given)), isNetwork_(isNetwork) {}

    bool wantsMeasures() const { return isNetwork_ && !plan_ && measures_.empty(); }
    /// `columns`: of the layout.
    bool measured(frame::CodecMeasures measures, std::size_t columns);
    /// True: they are chosen now.
    bool choose(const Traffic& traffic);

    /// None: nothing is coded, as far as is known.
    const std::optional<frame::CodecPlan>& plan() const { return plan_; }
    /// That they were chosen for; 0: they were given, or are not chosen yet.
    double linkBytesPerSecond() const { return bytesPerSecond_; }
    /// How many columns have which: "none 3, zstd:-5 12".
    std::string text() const;

 private:
    std::optional<frame::CodecPlan> plan_;
    const bool isNetwork_;
    frame::CodecMeasures measures_;
    double bytesPerSecond_ = 0;
};

}  // namespace millrace::data
