#include "backend/filesystem/files.h"

#include <atomic>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/core/whole_io.h"
#include "backend/filesystem/directories.h"

namespace millrace {

Result<std::string> readFile(const std::string& path, std::size_t maxBytes) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    std::string bytes;
    char buffer[1 << 16];
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, path);
        }
        if (n == 0) {
            return bytes;
        }
        bytes.append(buffer, static_cast<std::size_t>(n));
        if (bytes.size() > maxBytes) {
            return resourceExhausted(path, ": larger than ", maxBytes, " bytes");
        }
    }
}

Status writeFileAtomic(const std::string& path, std::string_view bytes, int mode) {
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::open(path, mode));
    RETURN_IF_ERROR(file.write(bytes));
    return file.commit();
}

Status makeDirectories(const std::string& path, int mode) {
    std::error_code error;
    const std::filesystem::path target(path);
    if (std::filesystem::is_directory(target, error)) {
        return okStatus();
    }
    if (target.has_parent_path()) {
        std::filesystem::create_directories(target.parent_path(), error);
        if (error) {
            return errnoStatus(error.value(), path);
        }
    }
    if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST) {
        return errnoStatus(errno, path);
    }
    return okStatus();
}

std::string absolutePath(std::string_view path, std::string_view base) {
    const std::filesystem::path p(path);
    return (p.is_absolute() ? p : std::filesystem::path(base) / p).lexically_normal().string();
}

Result<AtomicFile> AtomicFile::open(const std::string& given, int mode) {
    // Follows a link and replaces its target; never replaces a device or a pipe.
    using Kind = std::filesystem::file_type;
    std::error_code error;
    const Kind kind = std::filesystem::status(given, error).type();
    if (kind == Kind::directory) {
        return errnoStatus(EISDIR, given);
    }
    if (kind != Kind::regular && kind != Kind::not_found && kind != Kind::none) {
        return invalidArgument(given, ": is not a regular file and is not replaced by one");
    }
    const std::string path = std::filesystem::is_symlink(given, error)
                                 ? std::filesystem::weakly_canonical(given, error).string()
                                 : given;
    // Two writers of one path never share the temporary file: each has its own number, and O_EXCL
    // also protects files that an earlier process with this pid left.
    static std::atomic<std::uint64_t> number{0};
    constexpr int kTriesMax = 1000;
    for (int tries = 0;; ++tries) {
        std::string aside = strCat(path, ".tmp-", ::getpid(), "-", number.fetch_add(1));
        const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0) {
            return AtomicFile(path, std::move(aside), fd);
        }
        if (errno != EEXIST || tries == kTriesMax) {
            return errnoStatus(errno, path);
        }
    }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), aside_(std::move(other.aside_)), fd_(other.fd_) {
    other.fd_ = -1;
}

AtomicFile::~AtomicFile() {
    if (fd_ >= 0) {
        ::close(fd_);
        ::unlink(aside_.c_str());
    }
}

Status AtomicFile::write(std::string_view bytes) {
    return writeAll(fd_, bytes) ? okStatus() : errnoStatus(errno, path_);
}

Status AtomicFile::commit() {
    if (::fsync(fd_) != 0) {
        return errnoStatus(errno, path_);
    }
    if (::close(std::exchange(fd_, -1)) != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        ::unlink(aside_.c_str());
        return errnoStatus(error, path_);
    }
    return syncParent(path_);
}

}  // namespace millrace
