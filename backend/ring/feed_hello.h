#pragma once
// What a reader says first on its feed's socket (docs/formats/ring.md), as a value and as a line.
//
// Threads: values. Failure: of a line from a reader: a sentence.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/stream/state/step_mark.h"
#include "backend/stream/state/stream_state.h"

namespace millrace::ring {

inline constexpr std::int64_t kHelloVersion = 2;
inline constexpr std::size_t kMaxHelloBytes = std::size_t{4} << 20;

/// Where a reader wants to go on: the number is of its own rank's next micro-batch.
struct FeedPosition {
    std::uint32_t epoch = 0;
    std::int64_t number = 0;
};

struct FeedHello {
    std::int64_t attempt = 0;
    int rank = 0;
    int worldSize = 1;
    std::string stream;  ///< "train" or "eval"
    bool join = false;   ///< its micro-batches of a step as one frame: RingSink::Rank::join
    /// For RingSink::Options::last; the same for all ranks of a stream that are connected.
    stream::LastStep last = stream::LastStep::kKeep;
    int numaNode = -1;  ///< where its ring's memory lies already; -1: anywhere
    /// Of the last step's end, its hashes already checked against the options; none: the start.
    /// Frames below its cursor are never wanted.
    std::optional<stream::StreamState> state;
    /// The first micro-batch that the reader lacks; not below the cursor.
    std::optional<FeedPosition> next;
};

/// Of a line without its end.
Result<FeedHello> parseHello(std::string_view line);
/// With its end.
std::string helloLine(const FeedHello& hello);
/// "keep" or "drop".
const char* nameOf(stream::LastStep last);

}  // namespace millrace::ring
