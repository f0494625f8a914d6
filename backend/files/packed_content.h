#pragma once
// Recognizes from a file's first bytes that it must be unpacked, or read as another format.
//
// Threads: pure.
#include <cstddef>
#include <string_view>

namespace millrace::files {

inline constexpr std::size_t kContentBytes = 64;  ///< of a file's start that are looked at

/// "a bzip2 file; decompress it with bunzip2"; "" for all that may be CSV, also in gzip and zstd.
std::string_view packedContent(std::string_view start);

/// The result of packedContent() for JSON. A start of '[' means a list of objects, and one of an
/// object whose first key is "0", inside an object, a table by columns, as pandas writes it; any
/// other start means one object per line.
std::string_view jsonContent(std::string_view start);
/// Whether it is the start of JSON objects.
bool isJson(std::string_view start);

/// Whether it is the start of a gzip or zstd file, which CSV may be in.
bool isGzip(std::string_view start);
bool isZstd(std::string_view start);

}  // namespace millrace::files
