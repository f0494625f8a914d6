#pragma once
// PartialFile: a checkpoint, or scores, on the way here from another machine, chunk by chunk.
//
// The chunks are in NAME.tmp-part beside the file's place until all of it is here and fits its own
// checksums; what is there stays over a broken connection or an end of this process, and the next
// transfer resumes behind it. Threads: one owner. Owns: the open file, which it locks: a second
// transfer of the same file is kUnavailable. Failure: kDataLoss where something is damaged, with
// the place; kResourceExhausted where the disk is full.
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
    /// Holds a whole file against its own checksums: kDataLoss where they do not fit.
    using Verify = std::function<Status(int fd)>;

    /// Bytes that an earlier transfer of the file at `path` left.
    static std::uint64_t bytesOf(const std::string& path);
    /// `path`: of the whole file, `bytes` its size. kResourceExhausted: the disk has no room for
    /// what is missing.
    static Result<PartialFile> open(const std::string& path, std::uint64_t bytes);

    /// Bytes that are here: where the next chunk begins.
    std::uint64_t offset() const { return offset_; }
    bool isAllHere() const { return offset_ == bytes_; }
    /// `hash`: hashHex() of `chunk`.
    Status append(std::uint64_t offset, std::string_view chunk, std::string_view hash);
    /// Verifies the file, syncs it and renames it. kDataLoss: it is incomplete or damaged; it is
    /// removed.
    Status finish(const Verify& verify);

 private:
    PartialFile(std::string path, UniqueFd fd, std::uint64_t bytes, std::uint64_t offset)
        : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes), offset_(offset) {}

    std::string path_;
    UniqueFd fd_;
    std::uint64_t bytes_, offset_;
};

/// The chunk of the file at `path` that begins at `offset`, to be sent. kDataLoss: the file ends
/// there.
Result<std::string> readChunk(int fd, std::uint64_t offset, const std::string& path);
/// The same for equal files alone: XXH3-128 over those of their chunks, 32 hex digits.
Result<std::string> hashOfChunks(int fd, std::uint64_t bytes, const std::string& path);

}  // namespace millrace::checkpoint
