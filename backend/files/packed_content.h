#pragma once
// Recognizes from a file's first bytes that it must be unpacked, or read as another format.
//
// Threads: pure.
#include <cstddef>
#include <string_view>

namespace millrace::files {

inline constexpr std::size_t kContentBytes = 16;  ///< of a file's start that are looked at

/// "a bzip2 file; decompress it with bunzip2"; "" for all that may be CSV, also in gzip and zstd.
std::string_view packedContent(std::string_view start);

/// Returned by packedContent() for JSON.
inline constexpr std::string_view kJsonContent =
    "JSON, which is not read; convert it to Parquet with duckdb -c \"copy (from 'FILE.jsonl') to "
    "'FILE.parquet'\", or in Python with pandas.read_json('FILE.jsonl', lines=True).to_parquet("
    "'FILE.parquet')";
/// Whether it is the start of JSON objects: one a line, or in a list.
bool isJson(std::string_view start);

/// Whether it is the start of a gzip or zstd file, which CSV may be in.
bool isGzip(std::string_view start);
bool isZstd(std::string_view start);

}  // namespace millrace::files
