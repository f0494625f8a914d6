#pragma once
// Memory directly from the system, in huge pages if possible: for large tables that are read or
// written at random positions, where huge pages save half of the time.
//
// Its pages are zero, and the thread that first writes a page creates it. Threads: one owner.
// Failure: kResourceExhausted, with the place that needs the memory.
#include <cstddef>
#include <string_view>
#include <utility>

#include "backend/core/status.h"

namespace millrace {

class SystemMemory {
 public:
    SystemMemory() = default;
    SystemMemory(SystemMemory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    SystemMemory& operator=(SystemMemory&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~SystemMemory();

    /// `place`: begins the error message.
    static Result<SystemMemory> make(std::size_t bytes, std::string_view place);
    /// Grows to more bytes; keeps the content, maybe at another address.
    Status grow(std::size_t bytes, std::string_view place);

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }  ///< bytes
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }

 private:
    void wantHugePages() const;

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace millrace
