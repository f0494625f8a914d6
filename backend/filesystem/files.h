#pragma once
// Whole files: reading, atomic replacement, directories.
//
// Failure: an error names the path; a full disk is kResourceExhausted and leaves the old file
// intact.
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

/// Returns the file's bytes; kResourceExhausted above `maxBytes`.
Result<std::string> readFile(const std::string& path, std::size_t maxBytes = std::size_t{1} << 30);

/// Writes PATH.tmp-PID-N, syncs it, renames it over PATH, and syncs the directory: readers see the
/// old bytes or the new ones, even after a power failure.
Status writeFileAtomic(const std::string& path, std::string_view bytes, int mode = 0644);

/// mkdir -p; the last directory gets `mode`.
Status makeDirectories(const std::string& path, int mode = 0755);

/// Ensures a private directory: creates it with 0700, or fails if it is another user's or open to
/// others.
Status makePrivateDirectory(const std::string& path);

/// The absolute, normalised form of `path`; a relative path is resolved against `base`.
std::string absolutePath(std::string_view path, std::string_view base);

/// A file that becomes visible at commit(). Follows a link; a device or a pipe is kInvalidArgument.
class AtomicFile {
 public:
    static Result<AtomicFile> open(const std::string& path, int mode = 0644);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();  ///< removes an uncommitted file
    Status write(std::string_view bytes);
    Status commit();

 private:
    AtomicFile(std::string path, std::string aside, int fd)
        : path_(std::move(path)), aside_(std::move(aside)), fd_(fd) {}
    std::string path_, aside_;
    int fd_;
};

}  // namespace millrace
