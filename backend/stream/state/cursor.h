#pragma once
// A consumer's position in the global sequence: small, versioned, and valid for one stream only.
//
// Text form: JSON, docs/formats/cursor.md. A cursor is valid for one stream hash and one plan only:
// checkCursor() of stream/read_state.h. Threads: a value.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::stream {

struct TinyJson;

/// The last `rows` kept rows of a segment, which are in the open rest.
struct RestPart {
    std::int64_t segment = 0;
    std::int64_t rows = 0;
    bool operator==(const RestPart&) const = default;
};

struct Cursor {
    static constexpr int kVersion = 2;

    std::string streamHash;
    std::string planHash;
    std::uint32_t epoch = 0;
    std::int64_t next = 0;       ///< number of the next micro-batch, from 0 in each epoch
    std::int64_t segment = 0;    ///< the segment that yields it (number of segments: only the rest)
    std::int64_t offset = 0;     ///< micro-batches of that segment before `next`
    std::vector<RestPart> rest;  ///< the open rest before that segment's tail
    bool operator==(const Cursor&) const = default;

    /// The start of the first epoch.
    static Cursor start(std::string streamHash, std::string planHash);

    /// Number of the first micro-batch of `segment`, from which MicroBatchCount continues.
    std::int64_t segmentFirst() const { return next - offset; }

    /// Members sorted by name, without spaces: equal cursors have equal texts.
    std::string toText() const;
    /// Returns "", or the error with "cursor: " in front.
    std::string read(const TinyJson& json);
};

}  // namespace millrace::stream
