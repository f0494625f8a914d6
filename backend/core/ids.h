#pragma once
// Identities: UUIDv7 (RFC 9562) for runs, short readable run ids.
#include <cstdint>
#include <string>

namespace millrace {

/// 32 lower-case hex digits; the first 12 are the UTC milliseconds, so that they sort by time.
std::string newUid(std::int64_t utcMs);
/// Uids of things that were made together, in their order: `ordinal` counts them from 0. It takes
/// the place of the 12 random bits behind the version (RFC 9562, 6.2, method 1) and, from 4,096 on,
/// of later milliseconds.
std::string newUid(std::int64_t utcMs, int ordinal);

/// "r-" + `length` lower-case base32 characters (no 0, 1, l, o); the caller checks uniqueness.
std::string newRunId(int length = 5);

/// `bytes` random bytes from the system.
std::string randomBytes(std::size_t bytes);

}  // namespace millrace
