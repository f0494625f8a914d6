#pragma once
// Whole files: read, write aside and rename, directories.
//
// Failure: an error names the path; a full disk is kResourceExhausted and leaves the old file
// whole.
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

/// The file's bytes; kResourceExhausted above `maxBytes`.
Result<std::string> readFile(const std::string& path, std::size_t maxBytes = std::size_t{1} << 30);

/// Writes PATH.tmp-PID-N, syncs it, renames it over PATH, syncs the directory: readers see the old
/// bytes or the new ones, also after a power cut.
Status writeFileAtomic(const std::string& path, std::string_view bytes, int mode = 0644);

/// mkdir -p; the last directory gets `mode`.
Status makeDirectories(const std::string& path, int mode = 0755);

/// A private directory: made with 0700, or refused when it is another user's or open to others.
Status makePrivateDirectory(const std::string& path);

/// The absolute, normalised form of `path`, relative to `base` when it is not absolute.
std::string absolutePath(std::string_view path, std::string_view base);

/// Nothing is visible before commit(). Follows a link; a device or a pipe is kInvalidArgument.
class AtomicFile {
 public:
    static Result<AtomicFile> open(const std::string& path, int mode = 0644);
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();  ///< an uncommitted file is removed
    Status write(std::string_view bytes);
    Status commit();

 private:
    AtomicFile(std::string path, std::string aside, int fd)
        : path_(std::move(path)), aside_(std::move(aside)), fd_(fd) {}
    std::string path_, aside_;
    int fd_;
};

}  // namespace millrace
