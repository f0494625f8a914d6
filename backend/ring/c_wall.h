#pragma once
// Between C++ and the C interface of this library: no exception passes, texts are copied out, its
// threads take none of the program's signals.
//
// Threads: any. Owns: nothing; what is given out is the caller's. No dependencies.
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

/// Runs `body` behind the wall towards C: an exception becomes `failed`'s result.
template <class Body, class Failed>
auto walled(Body body, Failed failed) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        return failed();
    }
}

/// For millrace_free(); null: no memory.
inline char* copyText(const std::string& text) {
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy != nullptr) {
        std::memcpy(copy, text.c_str(), text.size() + 1);
    }
    return copy;
}

/// As much of a sentence as the caller has room for.
inline void writeError(const std::string_view why, char* error, std::size_t bytes) {
    if (error != nullptr && bytes > 0) {
        const std::size_t n = std::min(why.size(), bytes - 1);
        std::memcpy(error, why.data(), n);
        error[n] = '\0';
    }
}

/// Signals are for the threads of the program: one that came here would not end a wait of theirs.
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
