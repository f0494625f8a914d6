#pragma once
// Where micro-batches come from: the ring, or a test's memory.
//
// Threads: one owner. Owns: a batch is valid until the next call of next(). Failure: next() returns
// the feed's own sentence; a feed that went away is waited for inside (kWaiting in between), but an
// evaluation stream is kUnavailable then.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/train/batch.h"

namespace millrace::train {

struct FeedEvent {
    enum class Kind {
        kBatch,        ///< batch, epoch, number
        kStep,         ///< a step ended, for all ranks alike: epoch; number of the next micro-batch
        kEndOfEpoch,   ///< epoch; number = its total of micro-batches
        kEndOfStream,  ///< nothing will follow
        kWaiting,      ///< nothing for a while: ask again
        kStopped       ///< a stop request ended the wait
    };
    Kind kind = Kind::kWaiting;
    BatchView batch;
    std::int64_t epoch = 0;
    std::int64_t number = 0;
    bool isLast = false;  ///< of kStep: the epoch's last one, its end follows
};

class BatchSource {
 public:
    virtual ~BatchSource() = default;
    virtual Result<FeedEvent> next() = 0;
    /// The position "every micro-batch of `epoch` below `nextMicroBatch` was taken", the end of a
    /// step, as opaque JSON text with `order_hash`; of all ranks, and the same in each. An epoch's
    /// total is the next one's start.
    virtual Result<std::string> state(std::int64_t epoch, std::int64_t nextMicroBatch) = 0;
};

/// Opens "train" at a state ("" is the start) or "eval" at its start.
using SourceOpener = std::function<Result<std::unique_ptr<BatchSource>>(const char* stream,
                                                                        const std::string& state)>;

}  // namespace millrace::train
