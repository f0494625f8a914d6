#pragma once
// Memory of the system's own, in huge pages where it can be: for what is large and looked up, or
// written, at random places, where huge pages save half of the time.
//
// Its pages are zero, and are made by the thread that first writes them. Threads: one owner.
// Failure: kResourceExhausted, with the place that wants it.
#include <cstddef>
#include <cstdint>
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

    /// `place`: begins the message where there is none left.
    static Result<SystemMemory> make(std::size_t bytes, std::string_view place);
    /// To more bytes than there are; what it holds stays, maybe elsewhere.
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
