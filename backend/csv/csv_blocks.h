#pragma once
// Blocks of CSV text that several threads analyse; they are returned in the order of submission.
// Private to csv.
//
// Threads: submit() and take() belong to the owner, which analyses blocks too while it waits;
// helpers are started here and joined by the destructor. Failure: stored in the block.
#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/csv/csv_forms.h"

namespace millrace::csv {

class CsvBlocks {
 public:
    using BlockPtr = std::unique_ptr<CsvBlock>;

    /// `sniffer` outlives the blocks. `threads`: analysing threads, including the owner's.
    CsvBlocks(const CsvSniffer& sniffer, int threads);
    ~CsvBlocks();

    void submit(BlockPtr block);
    /// The oldest block, analysed; null if there is none.
    BlockPtr take();
    /// Whether the limit of blocks in flight is reached.
    bool isFull() const;

 private:
    enum class State { kWaiting, kTaken, kDone };
    struct Entry {
        BlockPtr block;
        State state = State::kWaiting;
    };
    Entry* waitingLocked() MR_REQUIRES(mutex_);
    void lookAt(Entry& entry);
    void help();

    const CsvSniffer& sniffer_;
    const std::size_t most_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::unique_ptr<Entry>> entries_ MR_GUARDED_BY(mutex_);
    bool isClosed_ MR_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> helpers_;  ///< declared last: they use the members above
};

}  // namespace millrace::csv
