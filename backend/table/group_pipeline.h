#pragma once
// Row groups on their way into a table: their parts encoded by several threads, the groups taken in
// their order. Private to the room.
//
// What the first group decides for the table is found by one of the threads, too, before any part
// is encoded. The parts of the earliest group come first, so that at the end all threads are done
// at about the same time. The threads are the pipeline's own, and the owner takes the groups; or
// (isShared) those that make the rows do both, in pieces: each has its rows off its hands before it
// makes more. Few groups wait or are encoded: one more than there are own threads, and never more
// than `bytesMost`; large ones are encoded while their giver waits.
// Threads: one owner, who is called back; encoders of its own, or the callers of doPiece(), who are
// called back one at a time. Owns: its encoders.
// Failure: the first that a group gives, in the groups' order; the pipeline is of no use after it.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/table/shared_work.h"
#include "backend/table/table_writer.h"

namespace millrace::table {

class GroupPipeline final : public SharedWork {
 public:
    using Taker = std::function<Status(const EncodedGroup&)>;
    struct Options {
        int threads = 1;
        bool isShared = false;       ///< no threads of its own: others call doPiece()
        std::int64_t bytesMost = 0;  ///< of all groups that wait or are encoded
    };
    /// `encoder`, not prepared, outlives it.
    GroupPipeline(TableEncoder& encoder, const Options& options, Taker take);
    ~GroupPipeline() override;

    /// `bytes`: of the batches.
    Status add(std::vector<BatchPtr> batches, std::int64_t bytes);
    Status finish();

    bool doPiece() override;
    bool isOpen() const override { return isOpen_.load(); }

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
    Job* nextLocked() const MR_REQUIRES(mutex_);
    bool takeUnlocked() MR_REQUIRES(mutex_);
    bool encodeUnlocked() MR_REQUIRES(mutex_);
    void goOnUnlocked() MR_REQUIRES(mutex_);
    void prepareUnlocked(Job& first) MR_REQUIRES(mutex_);
    void encodePartUnlocked(Job& job) MR_REQUIRES(mutex_);
    Status addAlone(const std::vector<BatchPtr>& batches);
    bool canTakeLocked() const MR_REQUIRES(mutex_);
    bool isFullLocked(std::int64_t bytes) const MR_REQUIRES(mutex_);
    bool isOpenLocked() const MR_REQUIRES(mutex_);
    void changedLocked() MR_REQUIRES(mutex_);

    TableEncoder& encoder_;
    const Options options_;
    const Taker take_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::unique_ptr<Job>> jobs_ MR_GUARDED_BY(mutex_);
    std::int64_t bytes_ MR_GUARDED_BY(mutex_) = 0;
    Table table_ MR_GUARDED_BY(mutex_) = Table::kNew;
    bool isTaking_ MR_GUARDED_BY(mutex_) = false;
    Status status_ MR_GUARDED_BY(mutex_);  ///< the first failure, in the groups' order
    std::atomic<bool> isOpen_{false};      ///< isOpenLocked(), for who has no lock
    std::vector<std::jthread> encoders_;   ///< the last: they end before what they use
};

}  // namespace millrace::table
