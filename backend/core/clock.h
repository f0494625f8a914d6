#pragma once
// Time as an injectable dependency, and its text form. Wall times are UTC milliseconds since 1970.
#include <cstdint>
#include <string>

#include "backend/core/status.h"

namespace millrace {

inline constexpr std::int64_t kNsPerMs = 1'000'000;

class Clock {
 public:
    virtual ~Clock() = default;
    virtual std::int64_t wallMs() const = 0;    ///< UTC, may jump
    virtual std::int64_t steadyNs() const = 0;  ///< monotonic
};

/// The machine's clock. Stateless: any thread.
class SystemClock final : public Clock {
 public:
    std::int64_t wallMs() const override;
    std::int64_t steadyNs() const override;
};

/// "2026-03-01T12:34:56.789Z" (RFC 3339, UTC, milliseconds).
std::string formatTime(std::int64_t utcMs);
/// The inverse of formatTime; also without fraction. kInvalidArgument otherwise.
Result<std::int64_t> parseTime(std::string_view text);
/// "4.2 s", "3 m 12 s", "2 h 05 m", "3 d 04 h": for people.
std::string formatDuration(double seconds);

}  // namespace millrace
