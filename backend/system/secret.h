#pragma once
// A passphrase on its way from a person to the program that asked: never in a core dump or in swap,
// wiped at its end.
//
// Owns: one page of memory, locked and left out of core dumps where the system can do that.
// Threads: one owner. Failure: none; what does not fit (kMostBytes) is refused by append().
#include <cstddef>
#include <string_view>
#include <utility>

namespace millrace {

class Secret {
 public:
    static constexpr std::size_t kMostBytes = 4'000;

    Secret();
    explicit Secret(std::string_view text);  ///< cut at kMostBytes
    Secret(Secret&& other) noexcept
        : page_(std::exchange(other.page_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Secret& operator=(Secret&& other) noexcept;
    ~Secret();

    std::string_view view() const { return {page_, size_}; }
    /// False when there is no room.
    bool append(char byte);
    void removeLast();
    void clear();

 private:
    char* page_ = nullptr;
    std::size_t size_ = 0;
};

/// This process leaves no core dump from now on: for one whose other memory has held a secret.
void forbidCoreDumps();

}  // namespace millrace
