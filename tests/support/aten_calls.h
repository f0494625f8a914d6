#pragma once
// Counts the calls of LibTorch's operators, by name, of all threads while it lives.
//
// Every call counts, also those that an operator makes itself. Threads: one owner; one at a time.
#include <cstdint>
#include <map>
#include <string>

namespace millrace::test {

class AtenCalls {
 public:
    AtenCalls();
    ~AtenCalls();
    AtenCalls(const AtenCalls&) = delete;
    AtenCalls& operator=(const AtenCalls&) = delete;

    /// Calls since it was made, by operator ("aten::mm").
    static std::map<std::string, std::int64_t> byName();
    static std::int64_t total();

 private:
    std::uint64_t handle_;
};

}  // namespace millrace::test
