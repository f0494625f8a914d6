#pragma once
// The lines that a worker has sent and that are not acknowledged: in memory up to a limit, then in
// a file.
//
// Oldest first: memory holds the front, the file holds the later lines. Threads: the caller's lock.
// Owns: the file, made on first need and removed at the end. Failure: false with a message if the
// file cannot be written, read or extended; the line is then not queued. No dependencies.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace millrace::ring {

class LineSpool {
 public:
    struct Line {
        std::int64_t attempt = 0;
        std::uint64_t seq = 0;
        std::string text;  ///< without the line end
    };

    /// Limit of the file: days of a run's lines, not a full disk, and no more than fits into a
    /// checkpoint (checkpoint/checkpoint_file.h).
    static constexpr std::uint64_t kFileBytes = std::uint64_t{512} << 20;

    /// `path` "": use memory only.
    LineSpool(std::string path, std::uint64_t memoryBytes, std::uint64_t fileBytes = kFileBytes)
        : path_(std::move(path)), memoryBytes_(memoryBytes), fileBytes_(fileBytes) {}
    LineSpool(const LineSpool&) = delete;
    LineSpool& operator=(const LineSpool&) = delete;
    ~LineSpool();

    bool push(Line line, std::string& why);
    /// Drops the lines of `attempt` up to `seq`: they are at the front.
    bool acknowledge(std::int64_t attempt, std::uint64_t seq, std::string& why);
    /// The next line to send; null if all in memory were sent. Valid until the next call.
    const Line* nextUnsent() const {
        return unsent_ < memory_.size() ? &memory_[unsent_] : nullptr;
    }
    void markSent() { ++unsent_; }
    /// After a reconnect everything is sent again.
    void rewind() { unsent_ = 0; }

    bool isEmpty() const { return memory_.empty() && numInFile_ == 0; }
    std::size_t size() const { return memory_.size() + numInFile_; }
    std::size_t numInFile() const { return numInFile_; }
    /// All lines, oldest first.
    bool all(std::vector<std::string>& lines, std::string& why) const;

 private:
    bool spill(const Line& line, std::string& why);
    bool refill(std::string& why);
    void giveBack();
    bool readAt(std::uint64_t& offset, Line& line, std::string& why) const;

    const std::string path_;
    const std::uint64_t memoryBytes_, fileBytes_;
    std::deque<Line> memory_;
    std::uint64_t usedBytes_ = 0;
    std::size_t unsent_ = 0;  ///< index of the first line in memory not sent on this connection
    int file_ = -1;
    std::uint64_t readOffset_ = 0, writeOffset_ = 0;
    std::uint64_t freedOffset_ = 0;  ///< bytes before it were returned to the file system
    std::size_t numInFile_ = 0;
};

}  // namespace millrace::ring
