#pragma once
// RingStream: the real rings for `millrace stream --through-ring`, with their readers in a process
// of their own.
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/state/cursor.h"
#include "backend/stream/state/step_mark.h"
#include "daemon/worker/loader/memory.h"

namespace millrace::loader {

/// The readers' results.
struct RingReading {
    std::string checksum, orderHash;
    std::int64_t rows = 0, steps = 0;
    std::int64_t rowsLeftOut = 0, batchesLeftOut = 0;  ///< because of Options::last
    double firstBatchSeconds = -1;                     ///< since this process's start
};

/// Threads: one owner; sink() as for FrameSink. Owns: the socket's directory and the reader
/// process. Failure: open() fails if the readers do not connect within 10 s.
class RingStream {
 public:
    struct Options {
        std::string part;
        bool reads = false;  ///< every value
        int ranks = 1;
        std::int64_t perStep = 1;  ///< micro-batches of a step
        stream::LastStep last = stream::LastStep::kKeep;
        stream::Cursor start;  ///< without hashes: the start
    };
    static Result<std::unique_ptr<RingStream>> open(const segment::StreamInput& input,
                                                    const Options& options, LoaderMemory& memory);
    virtual ~RingStream() = default;
    virtual ring::FrameSink& sink() = 0;
    /// Waits for the reader's sums; after a stream that failed, ends the reader.
    virtual Result<RingReading> finish(const Status& streamed) = 0;
};

}  // namespace millrace::loader
