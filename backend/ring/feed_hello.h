#pragma once
// The first message of a reader on its feed's socket (docs/formats/ring.md), as a value and a line.
//
// Threads: values. Failure: an error message for an invalid line.
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

/// The position at which a reader resumes: the number is that of its own rank's next micro-batch.
struct FeedPosition {
    std::uint32_t epoch = 0;
    std::int64_t number = 0;
};

struct FeedHello {
    std::int64_t attempt = 0;
    int rank = 0;
    int worldSize = 1;
    std::string stream;  ///< "train" or "eval"
    bool join = false;   ///< one frame per step: RingSink::Rank::join
    /// For RingSink::Options::last; the same for all connected ranks of a stream.
    stream::LastStep last = stream::LastStep::kKeep;
    int numaNode = -1;  ///< node on which its ring's memory should be; -1: any
    /// The number of a relay's ring in the leading feed's FrameLedger; its reader takes entries of
    /// kind kParts. 0: a rank reads the ring itself.
    std::uint64_t ledgerRing = 0;
    /// State at the end of the last step, its hashes already checked against the options; none: the
    /// start. Frames below its cursor are never delivered.
    std::optional<stream::StreamState> state;
    /// The first micro-batch that the reader lacks; not below the cursor.
    std::optional<FeedPosition> next;
};

/// `line`: without the line end.
Result<FeedHello> parseHello(std::string_view line);
/// With the line end.
std::string helloLine(const FeedHello& hello);
/// Returns "keep" or "drop".
const char* nameOf(stream::LastStep last);

}  // namespace millrace::ring
