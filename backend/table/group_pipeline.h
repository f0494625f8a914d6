#pragma once
// Row groups on their way into a table: encoded by several threads at once, taken in their order.
// Private to the room.
//
// At most one group more than there are threads waits or is encoded, and of large groups none: they
// are encoded while their giver waits, their columns by all threads.
// Threads: one owner, who is called back; encoders of its own. Owns: these.
// Failure: the first that a group gives, in the groups' order; the pipeline is of no use after it.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/table/table_writer.h"

namespace millrace::table {

class GroupPipeline {
 public:
    using Taker = std::function<Status(const EncodedGroup&)>;
    /// `bytesMost`: of all groups that wait or are encoded. `encoder` outlives it.
    GroupPipeline(const TableEncoder& encoder, int threads, std::int64_t bytesMost, Taker take);
    ~GroupPipeline();

    /// `bytes`: of the batches.
    Status add(std::vector<BatchPtr> batches, std::int64_t bytes);
    Status finish();

 private:
    struct Job {
        std::vector<BatchPtr> batches;
        std::int64_t bytes = 0;
        bool isBegun = false;
        std::optional<Result<EncodedGroup>> group;  ///< when it is done
    };
    void encode(const std::stop_token& stop);
    Job* nextLocked() MR_REQUIRES(mutex_);
    void encodeUnlocked(Job& job, int threads) MR_REQUIRES(mutex_);
    /// `isWaiting`: for the first group; else it is taken when it is done.
    Status takeFirst(bool isWaiting, bool& isTaken);
    bool isFull(std::int64_t bytes) const;

    const TableEncoder& encoder_;
    const int threads_;
    const std::int64_t bytesMost_;
    const Taker take_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::unique_ptr<Job>> jobs_ MR_GUARDED_BY(mutex_);
    std::int64_t bytes_ MR_GUARDED_BY(mutex_) = 0;
    std::vector<std::jthread> encoders_;  ///< the last: they end before what they use
};

}  // namespace millrace::table
