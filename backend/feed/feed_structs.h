#pragma once
// Access to structs of the C interface whose callers may be older or newer than this library. Each
// struct begins with its size, and later versions add members at the end.
//
// Threads: any. Owns: nothing. Failure: false, or a message. No dependencies.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backend/feed/feed_reader.h"

namespace millrace::ring {

/// Size of the oldest known version of a struct: up to its last member at that time.
template <class T>
inline constexpr std::size_t kOldestBytes = sizeof(T);
template <>
inline constexpr std::size_t kOldestBytes<millrace_feed_options> =
    offsetof(millrace_feed_options, join);
template <>
inline constexpr std::size_t kOldestBytes<millrace_feed_event> =
    offsetof(millrace_feed_event, is_left_out);
template <>
inline constexpr std::size_t kOldestBytes<millrace_column> = offsetof(millrace_column, is_list);
template <>
inline constexpr std::size_t kOldestBytes<millrace_feed_info> =
    offsetof(millrace_feed_info, step_batches);

template <class T>
bool isKnownSize(const T* given) {
    return given != nullptr && given->struct_size >= kOldestBytes<T>;
}

/// Copies as much of `from` as the caller's struct has, and sets members beyond it to 0. Keeps the
/// size.
template <class T>
bool fill(const T& from, T* to) {
    if (!isKnownSize(to)) {
        return false;
    }
    constexpr std::size_t kSizeBytes = sizeof from.struct_size;
    const std::size_t bytes = to->struct_size, known = std::min(bytes, sizeof from);
    std::memcpy(reinterpret_cast<char*>(to) + kSizeBytes,
                reinterpret_cast<const char*>(&from) + kSizeBytes, known - kSizeBytes);
    if (bytes > known) {
        std::memset(reinterpret_cast<char*>(to) + known, 0, bytes - known);
    }
    return true;
}

/// Copies as much of the caller's struct as is known here over the values of `to`. Returns false if
/// its size is too small, or if it sets a member that this library does not know.
template <class T>
bool take(const T* from, T& to) {
    if (!isKnownSize(from)) {
        return false;
    }
    const std::size_t bytes = from->struct_size, known = std::min(bytes, sizeof to);
    const char* text = reinterpret_cast<const char*>(from);
    std::memcpy(&to, text, known);
    return std::all_of(text + known, text + bytes, [](char c) { return c == 0; });
}

}  // namespace millrace::ring
