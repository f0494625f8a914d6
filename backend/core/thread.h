#pragma once
// A named thread with a stop token: joined by its owner's destructor.
#include <stop_token>
#include <string>
#include <thread>

#include <pthread.h>

namespace millrace {

/// Runs `body(std::stop_token)` on a thread called `name` (at most 15 characters are kept).
template <class Body>
std::jthread startThread(std::string name, Body body) {
    return std::jthread(
        [name = name.substr(0, 15), body = std::move(body)](std::stop_token stop) mutable {
#if defined(__linux__)
            ::pthread_setname_np(::pthread_self(), name.c_str());
#elif defined(__APPLE__)
            ::pthread_setname_np(name.c_str());
#endif
            body(stop);
        });
}

}  // namespace millrace
