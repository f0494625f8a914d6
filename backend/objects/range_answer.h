#pragma once
// The answer to one request for a range, checked while it arrives. Private to objects.
//
// Threads: one at a time. An answer for another range or another version of the object is rejected
// by its headers, before a byte of it is used.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/objects/checksum.h"

namespace millrace::objects {

inline constexpr long kPartialContent = 206, kWhole = 200, kNotThatRange = 416, kChanged = 412;

/// The text of <name>...</name> in an error document; empty if it is missing.
std::string_view element(std::string_view document, std::string_view name);

/// Detects a stalled answer: one that delivers less than kLeastRate over a whole period of `limit`.
/// A trickle of bytes does not count as progress.
class StallWatch {
 public:
    using Time = std::chrono::steady_clock::time_point;
    StallWatch(std::chrono::milliseconds limit, Time now);
    /// `bytes`: total received so far.
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
        kOtherRange,  ///< not the requested range
        kTooLong,     ///< the whole object although a part was requested
        kChanged,     ///< another version of the object
        kStalled,
    };

    // The request.
    std::int64_t offset = 0, wanted = 0;
    std::string ifMatch;  ///< ETag; empty: any version
    char* out = nullptr;
    // The answer.
    int code = 0;  ///< libcurl's code; 0: complete
    long status = 0;
    std::int64_t bytes = 0;
    std::int64_t objectBytes = -1;  ///< size of the whole object, if the answer has it
    std::string etag;
    std::optional<StoredChecksum> checksum;
    Fault fault = Fault::kNone;
    std::string text;    ///< beginning of an error's text
    std::string reason;  ///< for people

    /// Adds one header line; "HTTP/..." starts a new header.
    void addHeader(std::string_view line);
    /// Adds bytes of the body; returns false if the answer is rejected.
    bool add(std::string_view data);
    /// Call it at the answer's end: a body without bytes is checked too.
    void finish();
    /// Whether a retry may help. `isOfNetwork`: libcurl's code means a network failure.
    bool isTransient(bool isOfNetwork) const;
    bool isWhole() const;
    /// Whether the store does not accept the credentials: others may help.
    bool isRefusal() const;

 private:
    bool isTaken() const { return status == kPartialContent || status == kWhole; }
    Fault faultOfHead() const;

    std::int64_t first_ = -1, last_ = -1;  ///< of Content-Range
};

}  // namespace millrace::objects
