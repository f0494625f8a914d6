#pragma once
// The lines a worker has said and not had acknowledged: in memory up to a limit, then in a file.
//
// Oldest first: memory holds the front, the file what came after it. Threads: the caller's lock.
// Owns: the spill file, made on first need and removed at the end. Failure: a file that cannot be
// written or is full is kResourceExhausted or the errno's; the line is then not queued.
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::rank {

class LineQueue {
 public:
    struct Line {
        std::int64_t attempt = 0;
        std::uint64_t seq = 0;
        std::string text;  ///< without the line end
    };

    /// Of the file, at most: days of a run's lines, not a full disk, and no more than fits into a
    /// checkpoint (checkpoint/checkpoint_file.h).
    static constexpr std::uint64_t kSpillBytes = std::uint64_t{512} << 20;

    LineQueue(std::string spillPath, std::size_t memoryBytes,
              std::uint64_t spillBytes = kSpillBytes)
        : path_(std::move(spillPath)), memoryBytes_(memoryBytes), spillBytes_(spillBytes) {}
    ~LineQueue();

    Status push(Line line);
    /// Drops the lines of `attempt` up to `seq`: they are at the front.
    Status acknowledge(std::int64_t attempt, std::uint64_t seq);
    /// The next line to send; null when all in memory were. Stays valid until the next call.
    const Line* nextUnsent() const {
        return unsent_ < memory_.size() ? &memory_[unsent_] : nullptr;
    }
    void markSent() { ++unsent_; }
    /// After a reconnect everything is sent again.
    void rewind() { unsent_ = 0; }

    bool isEmpty() const { return memory_.empty() && spilled_ == 0; }
    std::size_t size() const { return memory_.size() + spilled_; }
    std::size_t spilledLines() const { return spilled_; }
    /// All lines, oldest first.
    Result<std::vector<std::string>> all() const;

 private:
    Status spill(const Line& line);
    Status refill();
    void giveBack();
    Result<Line> readAt(std::uint64_t& offset) const;

    const std::string path_;
    const std::size_t memoryBytes_;
    const std::uint64_t spillBytes_;
    std::deque<Line> memory_;
    std::size_t usedBytes_ = 0;
    std::size_t unsent_ = 0;  ///< index of the first line in memory not sent on this connection
    UniqueFd file_;
    std::uint64_t readOffset_ = 0, writeOffset_ = 0;
    std::uint64_t freedOffset_ = 0;  ///< what lies before was given back to the file system
    std::size_t spilled_ = 0;
};

}  // namespace millrace::rank
