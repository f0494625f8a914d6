#pragma once
// Protects a process's secrets: keeps its memory out of files and other processes.
//
// Threads: any; a Secret has one owner. Failure: errnoStatus.
#include <cstddef>
#include <string_view>
#include <utility>

#include "backend/core/status.h"

namespace millrace {

/// From now on this process writes no core dump, and no process of this user can inspect it (on
/// Linux it is not dumpable). Its children write no core dump either.
Status keepOutOfDumps();

/// Overwrites the bytes, even if the compiler sees that they are never read again.
void wipe(void* bytes, std::size_t size);

/// A text in a memory page of its own, which is excluded from core dumps and swap if the system
/// supports it, and wiped on destruction. It is moved, never copied, and holds at most kMax bytes,
/// so that growth never leaves a copy behind.
class Secret {
 public:
    static constexpr std::size_t kMax = 4095;
    Secret();
    explicit Secret(std::string_view text) : Secret() { append(text); }
    Secret(Secret&& other) noexcept
        : page_(std::exchange(other.page_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Secret& operator=(Secret&& other) noexcept;
    ~Secret();
    /// Returns false and drops the rest if the text exceeds kMax bytes.
    bool append(std::string_view bytes);
    std::string_view view() const { return {text(), size_}; }
    const char* text() const { return page_ == nullptr ? "" : page_; }  ///< ends with a NUL
    /// Keeps the text before the first `end`, or all of it if there is none.
    void cutAt(char end);

 private:
    char* page_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace millrace
