#pragma once
// StepPage: a page of memory that the ranks of an attempt on one machine share to agree on steps.
// It holds the furthest step that any rank has begun, whether the run stops (decision 0031), and
// which steps end with a checkpoint. It also holds the last step that each rank has ended; that
// outlives the ranks.
//
// A stop freezes the furthest step: ranks that have not begun it still do, and none begins a later
// one, so all end with the same step. With ranks on several machines, each machine's page is held
// first. All stop at the furthest step of all pages, and stopBehind() lets the ranks of the other
// pages catch up (decision 0040).
// Threads, processes: any; one atomic word decides. Owns: the mapping. Failure: open() returns
// false with a message.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/feed/ring_layout.h"

namespace millrace::ring {

class StepPage {
 public:
    StepPage() = default;
    StepPage(const StepPage&) = delete;
    StepPage& operator=(const StepPage&) = delete;
    ~StepPage() {
        if (words_ != nullptr) {
            ::munmap(words_, kBytes);
        }
    }

    bool open(const std::string& path, std::string& error) {
        const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        void* at = MAP_FAILED;
        // Ranks open it at any time: a file that already has its length is not changed.
        if (fd >= 0 && reserve(fd)) {
            at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        }
        const int why = errno;
        if (fd >= 0) {
            ::close(fd);
        }
        if (at == MAP_FAILED) {
            error = path + ": " + std::strerror(why);
            return false;
        }
        words_ = static_cast<Words*>(at);
        return true;
    }

    enum class Answer { kGo, kOver, kHeld };

    /// Records that the rank has ended `step`. Ranks from kRanks on are not in the page.
    void end(std::int64_t rank, std::uint64_t step) const {
        if (rank < kRanks && words_->ended[rank].load(std::memory_order_relaxed) < step) {
            words_->ended[rank].store(step, std::memory_order_release);
        }
    }
    std::int64_t ended(std::int64_t rank) const {
        return rank < kRanks
                   ? static_cast<std::int64_t>(words_->ended[rank].load(std::memory_order_acquire))
                   : 0;
    }
    /// The last step that each of `ranks` ranks has ended, according to that page file, whose ranks
    /// may be gone; 0 if it is not known.
    static std::int64_t endedByAll(const std::string& path, int ranks) {
        Words words{};
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        const bool isWhole = fd >= 0 && ::pread(fd, &words, sizeof words, 0) == sizeof words;
        if (fd >= 0) {
            ::close(fd);
        }
        if (!isWhole || ranks < 1 || ranks > kRanks) {
            return 0;
        }
        std::uint64_t least = kStep;
        for (int rank = 0; rank < ranks; ++rank) {
            least = std::min(least, words.ended[rank].load(std::memory_order_relaxed));
        }
        return static_cast<std::int64_t>(least);
    }

    /// For rank 0: how many more checkpoints wait for the daemon than are on their way. Each
    /// doubles the steps to the next checkpoint.
    void setExcess(std::uint64_t checkpoints) {
        words_->excess.store(std::min(checkpoints, std::uint64_t{62}), std::memory_order_release);
    }
    /// Whether `step`, a multiple of `every`, ends with a checkpoint; must be asked step by step.
    /// The first rank to ask decides for all. A rank more than kDecided such steps behind another
    /// decides for itself: ranks so far apart do not synchronize.
    bool isCheckpointDue(std::uint64_t step, std::uint64_t every) {
        const std::uint64_t excess = words_->excess.load(std::memory_order_acquire);
        bool isDue = excess == 0 || (step - lastDue_) >> excess >= every;
        std::atomic<std::uint64_t>& place = words_->due[step / every % kDecided];
        std::uint64_t decided = place.load(std::memory_order_acquire);
        while (decided >> 1 < step &&
               !place.compare_exchange_weak(decided, step << 1 | (isDue ? 1 : 0),
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
        }
        isDue = decided >> 1 == step ? (decided & 1) != 0 : isDue;
        lastDue_ = isDue ? step : lastDue_.load();
        return isDue;
    }

    /// Also from a signal handler.
    void stop() {
        words_->state.fetch_or(kStop, std::memory_order_acq_rel);
        tell();
    }
    /// No rank here begins a step behind the furthest one until stopBehind(). Returns the furthest.
    std::uint64_t hold() {
        return words_->state.fetch_or(kHold, std::memory_order_acq_rel) & kStep;
    }
    /// All end with `step`, or with the furthest step begun here if that is later.
    void stopBehind(std::uint64_t step) {
        std::uint64_t state = words_->state.load(std::memory_order_acquire);
        while ((state & kStop) == 0 &&
               !words_->state.compare_exchange_weak(
                   state, kStop | std::max(state & kStep, std::min(step, kStep)),
                   std::memory_order_acq_rel, std::memory_order_acquire)) {
        }
        tell();
    }
    /// kOver: the run stops before `step`. kHeld: ask again. A rank begins its steps one after the
    /// other.
    Answer begin(std::uint64_t step) {
        std::uint64_t state = words_->state.load(std::memory_order_acquire);
        while (step > (state & kStep)) {
            if ((state & (kStop | kHold)) != 0) {
                return (state & kStop) != 0 ? Answer::kOver : Answer::kHeld;
            }
            if (words_->state.compare_exchange_weak(state, step, std::memory_order_acq_rel,
                                                    std::memory_order_acquire)) {
                break;
            }
        }
        return Answer::kGo;
    }
    /// Like begin(), but waits up to `waitNs` while it is held.
    Answer beginWithin(std::uint64_t step, std::int64_t waitNs) {
        const std::uint32_t seen = words_->told.load(std::memory_order_acquire);
        Answer answer = begin(step);
        if (answer == Answer::kHeld) {
            futexWait(words_->told, seen, waitNs);
            answer = begin(step);
        }
        return answer;
    }
    bool isOver(std::uint64_t step) const {
        const std::uint64_t state = words_->state.load(std::memory_order_acquire);
        return (state & kStop) != 0 && step > (state & kStep);
    }

 private:
    static constexpr std::size_t kBytes = 4096;
    static constexpr int kRanks = 400, kDecided = 64;
    static constexpr std::uint64_t kStop = std::uint64_t{1} << 63, kHold = kStop >> 1,
                                   kStep = kHold - 1;
    struct Words {
        std::atomic<std::uint64_t> state;          ///< the furthest step begun, kStop, kHold
        std::atomic<std::uint32_t> told;           ///< futex for held ranks
        std::atomic<std::uint64_t> ended[kRanks];  ///< by rank; 0: none yet
        std::atomic<std::uint64_t> excess;         ///< of checkpoints that wait for the daemon
        std::atomic<std::uint64_t> due[kDecided];  ///< twice the step, plus 1 if it has one
    };

    /// Allocates the blocks: writing to a page for which a full disk has no room would kill the
    /// process.
    static bool reserve(int fd) {
        if (::fallocate(fd, 0, 0, kBytes) == 0) {
            return true;
        }
        return (errno == EOPNOTSUPP || errno == ENOSYS) && ::ftruncate(fd, kBytes) == 0;
    }

    void tell() {
        words_->told.fetch_add(1, std::memory_order_acq_rel);
        futexWake(words_->told);
    }
    static_assert(sizeof(Words) <= kBytes);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    Words* words_ = nullptr;
    std::atomic<std::uint64_t> lastDue_{0};  ///< of the steps that this rank has asked about
};

}  // namespace millrace::ring
