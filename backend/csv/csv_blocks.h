#pragma once
// Blocks of CSV text that several threads look at, given back in the order in which they came.
// Private to the room.
//
// Threads: submit() and take() are the owner's, which looks at blocks too while it waits; helpers
// are started here and joined by the destructor. Failure: a block's own, in it.
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

    /// `looker` outlives the blocks. `threads`: that look, with the owner's.
    CsvBlocks(const CsvLooker& looker, int threads);
    ~CsvBlocks();
    CsvBlocks(const CsvBlocks&) = delete;
    CsvBlocks& operator=(const CsvBlocks&) = delete;

    void submit(BlockPtr block);
    /// The oldest block, looked at; null when there is none.
    BlockPtr take();
    /// As many are submitted as are to be held at a time.
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

    const CsvLooker& looker_;
    const std::size_t most_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::unique_ptr<Entry>> entries_ MR_GUARDED_BY(mutex_);
    bool isClosed_ MR_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> helpers_;  ///< the last: they use what stands before
};

}  // namespace millrace::csv
