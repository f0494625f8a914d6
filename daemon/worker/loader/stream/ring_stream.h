#pragma once
// `millrace stream --through-ring`: the real ring, with a reader in a process of its own.
#include <memory>
#include <string>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/stream_input.h"

namespace millrace::loader {

/// What the reader saw.
struct RingReading {
    std::string checksum, orderHash;
    std::int64_t rows = 0;
    double firstBatchSeconds = -1;  ///< since this process's start
};

/// Threads: one owner; sink() as FrameSink says. Owns: the socket's directory and the reader
/// process. Failure: open() when the reader does not come within 10 s.
class RingStream {
 public:
    static Result<std::unique_ptr<RingStream>> open(const segment::StreamInput& input,
                                                    const std::string& part, bool reads,
                                                    MemoryBudget* budget);
    ~RingStream();
    ring::FrameSink& sink();
    /// Waits for the reader's sums; a stream that ended with an error ends the reader.
    Result<RingReading> finish(const Status& streamed);

 private:
    class Impl;
    explicit RingStream(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::loader
