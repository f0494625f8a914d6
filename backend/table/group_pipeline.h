#pragma once
// Row groups on their way into a table: their parts encoded by several threads, the groups taken in
// their order. Private to the room.
//
// What the first group decides for the table is found by one of the threads, too, before any part
// is encoded. The parts of the earliest group come first, so that at the end all threads are done
// at about the same time. At most one group more than there are threads waits or is encoded, and of
// large groups none: they are encoded while their giver waits.
// Threads: one owner, who is called back; encoders of its own. Owns: these.
// Failure: the first that a group gives, in the groups' order; the pipeline is of no use after it.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/table/table_writer.h"

namespace millrace::table {

class GroupPipeline {
 public:
    using Taker = std::function<Status(const EncodedGroup&)>;
    /// `bytesMost`: of all groups that wait or are encoded. `encoder`, not prepared, outlives it.
    GroupPipeline(TableEncoder& encoder, int threads, std::int64_t bytesMost, Taker take);
    ~GroupPipeline();

    /// `bytes`: of the batches.
    Status add(std::vector<BatchPtr> batches, std::int64_t bytes);
    Status finish();

 private:
    struct Job {
        std::vector<BatchPtr> batches;
        std::int64_t bytes = 0;
        EncodedGroup group;
        std::size_t begun = 0, ended = 0;  ///< parts
        Status status;                     ///< the first failure
    };
    enum class Table { kNew, kBeingPrepared, kPrepared };

    void encode(const std::stop_token& stop);
    Job* nextLocked() MR_REQUIRES(mutex_);
    void prepareUnlocked(Job& first) MR_REQUIRES(mutex_);
    void encodeUnlocked(Job& job) MR_REQUIRES(mutex_);
    Status addAlone(const std::vector<BatchPtr>& batches);
    /// `isWaiting`: for the first group; else it is taken when it is done.
    Status takeFirst(bool isWaiting, bool& isTaken);
    bool isFull(std::int64_t bytes) const;
    static bool isDone(const Job& job) { return job.ended == job.group.parts.size(); }

    TableEncoder& encoder_;
    const int threads_;
    const std::int64_t bytesMost_;
    const Taker take_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::unique_ptr<Job>> jobs_ MR_GUARDED_BY(mutex_);
    std::int64_t bytes_ MR_GUARDED_BY(mutex_) = 0;
    Table table_ MR_GUARDED_BY(mutex_) = Table::kNew;
    std::vector<std::jthread> encoders_;  ///< the last: they end before what they use
};

}  // namespace millrace::table
