#pragma once
// What one request for a range brought, judged while it comes. Private to the room.
//
// Threads: one at a time. An answer is refused by its headers, before a byte of it is taken, when
// it is of another range or another version of the object than the one asked for.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/objects/checksum.h"

namespace millrace::objects {

inline constexpr long kPartialContent = 206, kWhole = 200, kNotThatRange = 416, kChanged = 412;

/// The text of <name>...</name> in an error document, empty when it is not there.
std::string_view element(std::string_view document, std::string_view name);

/// Tells an answer that stands still: one that brings less than kLeastRate over a whole stretch of
/// `limit`. The bytes that trickle in do not count as progress each by itself.
class StallWatch {
 public:
    using Time = std::chrono::steady_clock::time_point;
    StallWatch(std::chrono::milliseconds limit, Time now);
    /// `bytes`: so many came so far.
    bool isStalled(std::int64_t bytes, Time now);

 private:
    const std::chrono::milliseconds limit_;
    const std::int64_t leastBytes_;
    Time since_;
    std::int64_t bytes_ = 0;
};

struct RangeAnswer {
    enum class Fault {
        kNone,
        kOtherRange,  ///< it is not of the range that was asked for
        kTooLong,     ///< the whole object where a part of it was asked for
        kChanged,     ///< of another version of the object
        kStalled,
    };

    // What was asked for.
    std::int64_t offset = 0, wanted = 0;
    std::string ifMatch;  ///< ETag; empty: any version
    char* out = nullptr;
    // What came.
    int code = 0;  ///< of libcurl; 0: a whole answer
    long status = 0;
    std::int64_t bytes = 0;
    std::int64_t objectBytes = -1;  ///< of the whole object, where the answer says it
    std::string etag;
    std::optional<StoredChecksum> checksum;
    Fault fault = Fault::kNone;
    std::string text;    ///< of an error, its beginning
    std::string reason;  ///< for people

    /// One line of the answer's head; "HTTP/..." begins it anew.
    void addHeader(std::string_view line);
    /// Takes bytes of the body; false when the answer is refused.
    bool add(std::string_view data);
    /// To be called at the answer's end: a body without bytes is judged too.
    void finish();
    /// Whether asking again may help. `isOfNetwork`: libcurl's code says that the way broke.
    bool isTransient(bool isOfNetwork) const;
    bool isWhole() const;
    /// The store does not know who asks, or does not let it: other credentials may help.
    bool isRefusal() const;

 private:
    bool isTaken() const { return status == kPartialContent || status == kWhole; }
    Fault faultOfHead() const;

    std::int64_t first_ = -1, last_ = -1;  ///< of Content-Range
};

}  // namespace millrace::objects
