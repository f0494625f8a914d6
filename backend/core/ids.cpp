#include "backend/core/ids.h"

#include <cerrno>
#include <cstdio>

#include <sys/random.h>

#include "backend/core/status.h"

namespace millrace {

std::string randomBytes(std::size_t bytes) {
    std::string out(bytes, '\0');
    std::size_t at = 0;
    while (at < bytes) {
        const ssize_t n = ::getrandom(out.data() + at, bytes - at, 0);
        INVARIANT(n > 0 || errno == EINTR, "the kernel has random bytes");
        at += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return out;
}

namespace {

// `counter`: the 12 bits after the version.
std::string uidOf(std::int64_t utcMs, int counter) {
    std::string raw = randomBytes(16);
    for (int i = 0; i < 6; ++i) {
        raw[i] = static_cast<char>(utcMs >> (40 - 8 * i));
    }
    raw[6] = static_cast<char>(counter >> 8 | 0x70);
    raw[7] = static_cast<char>(counter);
    raw[8] = static_cast<char>((raw[8] & 0x3f) | 0x80);
    std::string hex;
    for (const char c : raw) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
        hex += two;
    }
    return hex;
}

}  // namespace

std::string newUid(std::int64_t utcMs) {
    const std::string random = randomBytes(2);
    return uidOf(utcMs, (random[0] & 0x0f) << 8 | (random[1] & 0xff));
}

std::string newUid(std::int64_t utcMs, int ordinal) {
    return uidOf(utcMs + ordinal / 4096, ordinal % 4096);
}

std::string newRunId(int length) {
    constexpr char kAlphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
    static_assert(sizeof kAlphabet == 33);
    std::string id = "r-";
    for (const char c : randomBytes(static_cast<std::size_t>(length))) {
        id += kAlphabet[static_cast<unsigned char>(c) & 31];
    }
    return id;
}

}  // namespace millrace
