#pragma once
// PartialFile: receives a checkpoint, or scores, from another machine in chunks.
//
// The chunks are in NAME.tmp-part beside the final file until everything has arrived and matches
// the file's own checksums. They survive a broken connection or an end of this process, and the
// next transfer resumes after them. Threads: one owner. Owns: the open file, which it locks: a
// second transfer of the same file is kUnavailable. Failure: kDataLoss for damage, with its
// position; kResourceExhausted if the disk is full.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::checkpoint {

class PartialFile {
 public:
    /// Bytes of one chunk.
    static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
    /// Verifies a complete file against its own checksums: kDataLoss if they do not match.
    using Verify = std::function<Status(int fd)>;

    /// Number of bytes that an earlier transfer of the file at `path` left.
    static std::uint64_t bytesOf(const std::string& path);
    /// `path`: of the final file, `bytes` its size. kResourceExhausted: the disk has too little
    /// space for the missing bytes.
    static Result<PartialFile> open(const std::string& path, std::uint64_t bytes);

    /// Number of bytes received: the start of the next chunk.
    std::uint64_t offset() const { return offset_; }
    bool isAllHere() const { return offset_ == bytes_; }
    /// `hash`: hashHex() of `chunk`.
    Status append(std::uint64_t offset, std::string_view chunk, std::string_view hash);
    /// Verifies the file, syncs it and renames it. kDataLoss: it is incomplete or damaged, and was
    /// removed.
    Status finish(const Verify& verify);

 private:
    PartialFile(std::string path, UniqueFd fd, std::uint64_t bytes, std::uint64_t offset)
        : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes), offset_(offset) {}

    std::string path_;
    UniqueFd fd_;
    std::uint64_t bytes_, offset_;
};

/// Reads the chunk at `offset` of the file at `path`, to send it. kDataLoss: the file ends there.
Result<std::string> readChunk(int fd, std::uint64_t offset, const std::string& path);
/// XXH3-128 over the hashes of a file's chunks, 32 hex digits: equal only for equal files.
Result<std::string> hashOfChunks(int fd, std::uint64_t bytes, const std::string& path);

}  // namespace millrace::checkpoint
