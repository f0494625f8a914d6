#pragma once
// A zone of the machine's time zone database: its UTC offset at any instant.
//
// Rules are those of the TZif file (RFC 8536) in $TZDIR or /usr/share/zoneinfo. The rule in the
// file's footer applies to all years after the last change, so that `fat` and `slim` files agree.
// Threads: immutable. Failure: an unknown name, a machine without a database, a damaged file:
// kInvalidArgument or kNotFound, one sentence.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace {

class TimeZone {
 public:
    /// `name` as in the database: "Europe/Berlin", "UTC".
    static Result<std::shared_ptr<const TimeZone>> load(const std::string& name);
    /// Parses a file's bytes. `name` is for messages.
    static Result<std::shared_ptr<const TimeZone>> parse(std::string_view bytes,
                                                         const std::string& name);
    /// The file that load() reads, absolute.
    static std::string pathOf(const std::string& name);

    /// A period without clock changes: seconds since 1970, UTC, [begin, end), and the offset from
    /// UTC in it.
    struct Stretch {
        std::int64_t begin = 0, end = 0, offset = 0;
    };
    Stretch at(std::int64_t seconds) const;

 private:
    TimeZone() = default;
    std::vector<std::int64_t> changes_;  ///< ascending
    std::vector<std::int64_t> offsets_;  ///< one more than changes_: before the first change, and
                                         ///< from each on
    std::optional<std::int64_t> cycleBegin_;  ///< from here on changes repeat; none: no more
                                              ///< changes
};

}  // namespace millrace
