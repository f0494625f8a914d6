#pragma once
// LineRoom: the bytes of the controller's mailbox that workers' lines take.
//
// Threads: any. Owns: the bytes that it counts, until it is destroyed. Bounded: kMost for all lines
// together.
#include <atomic>
#include <cstddef>
#include <memory>

namespace millrace::agent {

/// A line's share of the mailbox; given back when its message is handled or dropped.
class LineRoom {
 public:
    static constexpr std::size_t kMost = std::size_t{64} << 20;

    /// Null: there is no room.
    static std::shared_ptr<LineRoom> take(std::atomic<std::size_t>& used, std::size_t bytes) {
        std::shared_ptr<LineRoom> room(new LineRoom(used, bytes));
        return used.fetch_add(bytes) + bytes > kMost ? nullptr : room;
    }
    ~LineRoom() { used_ -= bytes_; }
    LineRoom(const LineRoom&) = delete;
    LineRoom& operator=(const LineRoom&) = delete;

 private:
    LineRoom(std::atomic<std::size_t>& used, std::size_t bytes) : used_(used), bytes_(bytes) {}
    std::atomic<std::size_t>& used_;
    const std::size_t bytes_;
};

}  // namespace millrace::agent
