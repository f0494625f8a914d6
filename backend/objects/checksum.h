#pragma once
// Checksums that a store keeps of an object and sends with it: x-amz-checksum-ALGORITHM, base64.
//
// A checksum covers the whole object or, for objects of several parts ("composite": the text ends
// in "-PARTS"), the parts' checksums, which a reader of bytes cannot compute.
// Threads: pure functions. Formats: Amazon S3 User Guide, "Checking object integrity".
#include <optional>
#include <string>
#include <string_view>

namespace millrace::objects {

/// A checksum as a header gives it. `algorithm`: crc32, crc32c, crc64nvme, sha1, sha256; base64 in
/// `value`.
struct StoredChecksum {
    std::string algorithm, value;
};

/// The header's checksum, if it covers a whole object and checksumOf() supports it.
std::optional<StoredChecksum> storedChecksum(std::string_view headerName, std::string_view value);

/// Base64 of the checksum of `bytes`; empty for another algorithm.
std::string checksumOf(std::string_view algorithm, std::string_view bytes);

}  // namespace millrace::objects
