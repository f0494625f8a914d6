#pragma once
// A worker's out.log and out.log.1 read as one stream of lines.
//
// Line: "RFC3339 o|e text", or "RFC3339 m text" from the guardian itself. Offsets count from the
// first byte that the guardian ever wrote, across rotation: a rotated-in file starts with the line
// "TIME m log-offset N", N being the offset of its own first byte.
#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/engines/engine.h"

namespace millrace::engines {

/// Whole lines from offset `from` on, at most `maxBytes` (at least one line). What the rotation has
/// dropped is skipped: nextOffset - bytes.size() says where the bytes really start. No log yet is
/// an empty chunk.
Result<LogChunk> readWorkerLog(const std::string& directory, std::uint64_t from,
                               std::size_t maxBytes);

/// Whole lines and the offset of their first byte.
struct LogBlock {
    std::string bytes;
    std::uint64_t start = 0;
    std::uint64_t end() const { return start + bytes.size(); }
};

inline constexpr std::uint64_t kLogEnd = ~std::uint64_t{0};

/// From the end: whole lines before offset `before` (the start of a block, or kLogEnd), at most
/// `maxBytes` (at least one line). Nothing before it is an empty block.
Result<LogBlock> readWorkerLogBack(const std::string& directory, std::uint64_t before,
                                   std::size_t maxBytes);

/// Behind the last byte that is there; 0 without a log.
std::uint64_t workerLogEnd(const std::string& directory);

}  // namespace millrace::engines
