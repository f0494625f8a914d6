#pragma once
// Helpers at the border between C++ and this library's C interface: they stop exceptions, copy out
// texts, and start threads that receive no signals.
//
// Threads: any. Owns: nothing; the caller owns what is returned. No dependencies.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <pthread.h>

namespace millrace::ring {

/// Runs `body` and stops exceptions before they reach C: one becomes the result of `failed`.
template <class Body, class Failed>
auto walled(Body body, Failed failed) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        return failed();
    }
}

/// A copy to free with millrace_free(); null: no memory.
inline char* copyText(const std::string& text) {
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy != nullptr) {
        std::memcpy(copy, text.c_str(), text.size() + 1);
    }
    return copy;
}

/// Writes as much of a message as the caller's buffer holds.
inline void writeError(const std::string_view why, char* error, std::size_t bytes) {
    if (error != nullptr && bytes > 0) {
        const std::size_t n = std::min(why.size(), bytes - 1);
        std::memcpy(error, why.data(), n);
        error[n] = '\0';
    }
}

/// Starts a thread that receives no signals. They are for the program's threads: a signal delivered
/// here would not interrupt a wait there.
template <class Body>
std::thread startWithoutSignals(Body body) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread started(std::move(body));
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return started;
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

}  // namespace millrace::ring
