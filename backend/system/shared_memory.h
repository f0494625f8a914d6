#pragma once
// Memory shared by two processes of a machine: one creates it and passes the descriptor, the other
// reads it.
//
// Its size is sealed and never changes, so neither side can make the other's mapping fault.
// Threads: a value with one owner; the users must synchronize access to the content.
// Failure: kResourceExhausted, and kInvalidArgument for a descriptor of other memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

class SharedMemory {
 public:
    SharedMemory() = default;
    SharedMemory(SharedMemory&& other) noexcept
        : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {})) {}
    SharedMemory& operator=(SharedMemory&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~SharedMemory();

    /// Creates zeroed memory for writing. The machine's memory is used as it is written.
    static Result<SharedMemory> make(const char* name, std::uint64_t bytes);
    /// Opens memory that another process created, for reading.
    static Result<SharedMemory> open(UniqueFd fd, std::uint64_t bytes);

    int fd() const { return fd_.get(); }
    std::span<std::byte> bytes() const { return bytes_; }
    /// Returns the memory to the machine; it then reads as zeros.
    void giveBack() const;

 private:
    Status map(std::uint64_t bytes, int protection);
    UniqueFd fd_;
    std::span<std::byte> bytes_;
};

}  // namespace millrace
