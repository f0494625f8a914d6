#include "backend/csv/csv_blocks.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "backend/core/thread.h"

namespace millrace::csv {
namespace {

constexpr std::size_t kBlocksPerThread = 2;

}  // namespace

CsvBlocks::CsvBlocks(const CsvSniffer& sniffer, int threads)
    : sniffer_(sniffer), most_(kBlocksPerThread * static_cast<std::size_t>(std::max(threads, 1))) {
    for (int t = 1; t < threads; ++t) {
        helpers_.push_back(startThread("csv-look", [this](std::stop_token) { help(); }));
    }
}

CsvBlocks::~CsvBlocks() {
    MutexLock lock(mutex_);
    isClosed_ = true;
    changed_.notifyAll();
}

void CsvBlocks::submit(BlockPtr block) {
    MutexLock lock(mutex_);
    entries_.push_back(std::make_unique<Entry>(Entry{std::move(block)}));
    changed_.notifyAll();
}

bool CsvBlocks::isFull() const {
    MutexLock lock(mutex_);
    return entries_.size() >= most_;
}

CsvBlocks::BlockPtr CsvBlocks::take() {
    for (;;) {
        Entry* mine = nullptr;
        {
            MutexLock lock(mutex_);
            if (entries_.empty()) {
                return nullptr;
            }
            if (entries_.front()->state == State::kDone) {
                BlockPtr block = std::move(entries_.front()->block);
                entries_.pop_front();
                return block;
            }
            mine = waitingLocked();
            if (mine == nullptr) {
                changed_.wait(mutex_);
            }
        }
        if (mine != nullptr) {
            lookAt(*mine);
        }
    }
}

/// The first block that no thread has started; it belongs to the caller then. Null if there is
/// none.
CsvBlocks::Entry* CsvBlocks::waitingLocked() {
    for (const std::unique_ptr<Entry>& entry : entries_) {
        if (entry->state == State::kWaiting) {
            entry->state = State::kTaken;
            return entry.get();
        }
    }
    return nullptr;
}

void CsvBlocks::lookAt(Entry& entry) {
    sniffer_.look(*entry.block);
    MutexLock lock(mutex_);
    entry.state = State::kDone;
    changed_.notifyAll();
}

void CsvBlocks::help() {
    for (;;) {
        Entry* mine = nullptr;
        {
            MutexLock lock(mutex_);
            while (!isClosed_ && (mine = waitingLocked()) == nullptr) {
                changed_.wait(mutex_);
            }
            if (mine == nullptr) {
                return;
            }
        }
        lookAt(*mine);
    }
}

}  // namespace millrace::csv
