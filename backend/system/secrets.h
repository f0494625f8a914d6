#pragma once
// What a process does that holds secrets: none of its memory gets into a file or another process.
//
// Threads: any; a Secret has one owner. Failure: errnoStatus.
#include <cstddef>
#include <string_view>
#include <utility>

#include "backend/core/status.h"

namespace millrace {

/// From now on this process leaves no core dump, and no process of this user can look into it
/// (Linux: it is not dumpable). Its children write no core dump either.
Status keepOutOfDumps();

/// Overwrites the bytes, also where the compiler sees that nobody reads them again.
void wipe(void* bytes, std::size_t size);

/// A text in a page of memory of its own, which is left out of core dumps and of swap where the
/// system does that, and wiped when it dies. It is moved, never copied, and holds at most kMax
/// bytes, so that no growing leaves a copy behind.
class Secret {
 public:
    static constexpr std::size_t kMax = 4095;
    Secret();
    explicit Secret(std::string_view text) : Secret() { append(text); }
    Secret(Secret&& other) noexcept
        : page_(std::exchange(other.page_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Secret& operator=(Secret&& other) noexcept;
    ~Secret();
    /// What is over kMax is dropped, and false said.
    bool append(std::string_view bytes);
    std::string_view view() const { return {text(), size_}; }
    const char* text() const { return page_ == nullptr ? "" : page_; }  ///< ends with a NUL
    /// Keeps what stands before the first `end`; all of it when there is none.
    void cutAt(char end);

 private:
    char* page_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace millrace
