#pragma once
// Source of a trainer's micro-batches: the ring, or a test's memory.
//
// Threads: one owner. Owns: a batch is valid until the next call of next(). Failure: next() returns
// the feed's own message. next() waits for a lost feed (and returns kWaiting meanwhile); an
// evaluation stream fails with kUnavailable instead.
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
        kStep,         ///< a step ended, the same in all ranks: epoch; number of the next
                       ///< micro-batch
        kEndOfEpoch,   ///< epoch; number = its total of micro-batches
        kEndOfStream,  ///< nothing will follow
        kWaiting,      ///< nothing arrived for a while: call again
        kStopped       ///< a stop request ended the wait
    };
    Kind kind = Kind::kWaiting;
    BatchView batch;
    std::int64_t epoch = 0;
    std::int64_t number = 0;
    bool isLast = false;  ///< kStep: the epoch's last step; its end follows
};

class BatchSource {
 public:
    virtual ~BatchSource() = default;
    virtual Result<FeedEvent> next() = 0;
    /// The state "every micro-batch of `epoch` below `nextMicroBatch` was taken", which is the end
    /// of a step, as opaque JSON text with `order_hash`. It covers all ranks and is the same in
    /// each. An epoch's total is the start of the next epoch.
    virtual Result<std::string> state(std::int64_t epoch, std::int64_t nextMicroBatch) = 0;
};

/// Opens "train" at a state ("" is the start), or "eval" at its start.
using SourceOpener = std::function<Result<std::unique_ptr<BatchSource>>(const char* stream,
                                                                        const std::string& state)>;

}  // namespace millrace::train
