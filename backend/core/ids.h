#pragma once
// Identities: UUIDv7 (RFC 9562) for runs, short readable run ids.
#include <cstdint>
#include <string>

namespace millrace {

/// 32 lower-case hex digits; the first 12 are the UTC milliseconds, so that uids sort by time.
std::string newUid(std::int64_t utcMs);
/// Uids for things made together, in order: `ordinal` numbers them from 0. It replaces the 12
/// random bits after the version (RFC 9562, 6.2, method 1) and, from 4,096 on, moves to later
/// milliseconds.
std::string newUid(std::int64_t utcMs, int ordinal);

/// "r-" + `length` lower-case base32 characters (no 0, 1, l, o); the caller checks uniqueness.
std::string newRunId(int length = 5);

/// `bytes` random bytes from the system.
std::string randomBytes(std::size_t bytes);

}  // namespace millrace
