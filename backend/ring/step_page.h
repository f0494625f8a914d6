#pragma once
// StepPage: what the ranks of an attempt on one machine agree on, in a page of memory that they
// share: the furthest step that any of them has begun, whether the run stops, which steps end with
// a checkpoint (decision 0031).
//
// A stop freezes the furthest step: whoever has not begun it yet still does, nobody begins one
// behind it, so that all end with the same one. Threads, processes: any; one atomic word decides.
// Owns: the mapping. Failure: open() is false with a sentence.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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
        // Ranks come at any time: a file that has its length already is not touched.
        if (fd >= 0 && ::ftruncate(fd, kBytes) == 0) {
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

    void stop() { words_->state.fetch_or(kStop, std::memory_order_acq_rel); }
    /// The step that is begun next, whichever it is, ends with a checkpoint.
    void wantCheckpoint() { words_->state.fetch_or(kWanted, std::memory_order_acq_rel); }

    /// False: the run stops before `step`. A rank's steps are begun one after the other.
    bool begin(std::uint64_t step, bool& isDue) {
        std::uint64_t state = words_->state.load(std::memory_order_acquire);
        while (step > (state & kStep)) {
            if ((state & kStop) != 0) {
                return false;
            }
            if ((state & kWanted) != 0) {
                // Before the word says that it is begun: whoever begins it behind this rank sees
                // it. A rank that loses the race has lost it to one that saw the same wish.
                words_->due[step % kDue].store(step, std::memory_order_release);
            }
            if (words_->state.compare_exchange_weak(state, step, std::memory_order_acq_rel,
                                                    std::memory_order_acquire)) {
                break;
            }
        }
        isDue = words_->due[step % kDue].load(std::memory_order_acquire) == step;
        return true;
    }
    bool isOver(std::uint64_t step) const {
        const std::uint64_t state = words_->state.load(std::memory_order_acquire);
        return (state & kStop) != 0 && step > (state & kStep);
    }

 private:
    static constexpr std::size_t kBytes = 4096, kDue = 64;
    static constexpr std::uint64_t kStop = std::uint64_t{1} << 63, kWanted = kStop >> 1,
                                   kStep = kWanted - 1;
    struct Words {
        std::atomic<std::uint64_t> state;  ///< the furthest step begun, and the two wishes
        std::atomic<std::uint64_t> due[kDue];
    };
    static_assert(sizeof(Words) <= kBytes);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    Words* words_ = nullptr;
};

}  // namespace millrace::ring
