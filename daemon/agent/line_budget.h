#pragma once
// LineBudget: the bytes of the controller's mailbox that workers' lines take.
//
// Threads: any. Owns: the bytes that it counts, until it is destroyed. Bounded: kMost for all lines
// together.
#include <atomic>
#include <cstddef>
#include <memory>

namespace millrace::agent {

/// A line's share of the mailbox; given back when its message is handled or dropped.
class LineBudget {
 public:
    static constexpr std::size_t kMost = std::size_t{64} << 20;

    /// Null: there is no room.
    static std::shared_ptr<LineBudget> take(std::atomic<std::size_t>& used, std::size_t bytes) {
        std::shared_ptr<LineBudget> room(new LineBudget(used, bytes));
        return used.fetch_add(bytes) + bytes > kMost ? nullptr : room;
    }
    ~LineBudget() { used_ -= bytes_; }
    LineBudget(const LineBudget&) = delete;
    LineBudget& operator=(const LineBudget&) = delete;

 private:
    LineBudget(std::atomic<std::size_t>& used, std::size_t bytes) : used_(used), bytes_(bytes) {}
    std::atomic<std::size_t>& used_;
    const std::size_t bytes_;
};

}  // namespace millrace::agent
