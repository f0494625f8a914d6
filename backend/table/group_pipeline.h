#pragma once
// Row groups on their way into a table: several threads encode their parts, and the groups are
// delivered in order. Private to table.
//
// Before any part is encoded, one of the threads prepares the encoder from the first group. Parts
// of the earliest group come first, so that at the end all threads finish at about the same time.
// Normally the pipeline's own threads encode, and the owner delivers the groups. With isShared, the
// threads that make the rows do both, piece by piece: each thread works its rows off before it
// makes more. Few groups wait or are encoded: one more than own threads, and never more than
// `bytesMost`. A large group is encoded while add() blocks.
// Threads: one owner, in whose thread Taker runs; encoders of its own, or the callers of doPiece(),
// where Taker runs in one thread at a time. Owns: its encoders.
// Failure: the first failing group's, in group order; the pipeline is unusable after it.
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
        std::int64_t bytesMost = 0;  ///< of all groups that wait or are being encoded
    };
    /// `encoder` must not be prepared yet and outlives the pipeline.
    GroupPipeline(TableEncoder& encoder, const Options& options, Taker take);
    ~GroupPipeline() override;

    /// `bytes`: size of the batches.
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
    std::atomic<bool> isOpen_{false};      ///< isOpenLocked(), readable without the lock
    std::vector<std::jthread> encoders_;   ///< declared last: they end before what they use
};

}  // namespace millrace::table
