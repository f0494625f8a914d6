#pragma once
// Memory that two processes of a machine map: one makes it and passes the descriptor, the other
// reads it.
//
// Its size never changes (sealed), so neither side can make the other's mapping fault.
// Threads: a value with one owner; what lies in it is the users' to agree on.
// Failure: kResourceExhausted, and kInvalidArgument for a descriptor that is no such memory.
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

    /// Zeros, to be written here. Takes memory of the machine as it is written.
    static Result<SharedMemory> make(const char* name, std::uint64_t bytes);
    /// What another process made, to be read.
    static Result<SharedMemory> open(UniqueFd fd, std::uint64_t bytes);

    int fd() const { return fd_.get(); }
    std::span<std::byte> bytes() const { return bytes_; }
    /// The machine has the memory again; it reads as zeros.
    void giveBack() const;

 private:
    Status map(std::uint64_t bytes, int protection);
    UniqueFd fd_;
    std::span<std::byte> bytes_;
};

}  // namespace millrace
