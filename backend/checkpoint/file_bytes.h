#pragma once
// The bytes of a checkpoint file, from an open file or from memory, and their XXH3-128, computed
// piece by piece.
//
// Threads: any. Owns: nothing; descriptor and memory belong to the caller. Failure: kDataLoss if it
// is not a regular file or has become shorter; another error if it cannot be read.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::checkpoint {

/// Callbacks for a long read; both may be empty.
struct ReadWatch {
    std::function<bool()> isCancelled;              ///< true aborts with kCancelled
    std::function<void(std::uint64_t)> onProgress;  ///< bytes since the last call
};

/// Computes XXH3-128 piece by piece.
class RunningHash {
 public:
    RunningHash();
    ~RunningHash();
    RunningHash(RunningHash&&) noexcept;
    void add(const void* data, std::size_t bytes);
    void add(std::string_view bytes) { add(bytes.data(), bytes.size()); }
    std::string hex() const;  ///< 32 digits, high word first

 private:
    struct State;
    std::unique_ptr<State> state_;
};

class FileBytes {
 public:
    /// `place` names the file in messages.
    static Result<FileBytes> ofFile(int fd, std::string place);
    static FileBytes ofMemory(std::string_view bytes, std::string place);

    const std::string& place() const { return place_; }
    std::uint64_t size() const { return size_; }
    std::int64_t timeMs() const { return timeMs_; }  ///< time of the last write, UTC; 0: in memory

    Status read(std::uint64_t offset, void* to, std::size_t bytes) const;
    Result<std::string> text(std::uint64_t offset, std::uint64_t bytes) const;
    /// The hash of the bytes from `begin` up to `end`.
    Result<std::string> hash(std::uint64_t begin, std::uint64_t end, const ReadWatch& watch) const;

 private:
    explicit FileBytes(std::string place) : place_(std::move(place)) {}

    std::string place_;
    std::uint64_t size_ = 0;
    std::int64_t timeMs_ = 0;
    int fd_ = -1;  // -1: in memory
    std::string_view memory_;
};

}  // namespace millrace::checkpoint
