#include "backend/filesystem/directories.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/text/text.h"

namespace millrace {
namespace {

// Checks for a directory of this user's with none of the `refused` bits.
Status checkGuarded(const std::string& path, const struct stat& info, mode_t refused,
                    std::string_view open) {
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
        return permissionDenied(path,
                                ": belongs to another user; remove it or name a directory of your "
                                "own (XDG_RUNTIME_DIR, XDG_STATE_HOME, XDG_CACHE_HOME)");
    }
    if ((info.st_mode & refused) != 0) {
        return permissionDenied(path, ": ", open, "; run chmod 700 ", path);
    }
    return okStatus();
}

}  // namespace

Status makePrivateDirectory(const std::string& path) {
    RETURN_IF_ERROR(makeDirectories(path, 0700));
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {  // does not follow links: the parent may be writable
                                              // for everybody
        return errnoStatus(errno, path);
    }
    return checkGuarded(path, info, 077, "is open to other users");
}

Status makeOwnDirectory(const std::string& path) {
    RETURN_IF_ERROR(makeDirectories(path, 0700));
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
        return errnoStatus(errno, path);
    }
    return checkGuarded(path, info, 022, "other users may write to it");
}

Status checkRoom(const std::string& directory, std::uint64_t bytes, std::string_view what) {
    struct statvfs disk{};
    // Some file systems report no size: nothing can be checked there.
    if (::statvfs(directory.c_str(), &disk) != 0 || disk.f_blocks == 0) {
        return okStatus();
    }
    const std::uint64_t blocks = ::geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
    const std::uint64_t free = blocks * disk.f_frsize;
    return free >= bytes
               ? okStatus()
               : resourceExhausted(directory,
                                   ": the disk is full: ", formatBytes(static_cast<double>(free)),
                                   " are free, and ", what, " takes up to ",
                                   formatBytes(static_cast<double>(bytes)));
}

Status syncDirectory(const std::string& directory) {
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, directory);
    }
    if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
        return errnoStatus(errno, directory);
    }
    return okStatus();
}

Status syncParent(const std::string& path) {
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return syncDirectory(parent.empty() ? "." : parent);
}

std::string_view networkFileSystemName(std::int64_t magic) {
    // From linux/magic.h and the file systems' own sources; the kernel's list lacks names for some.
    constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {
        {0x6969, "nfs"},      {0xFF534D42, "cifs"}, {0xFE534D42, "cifs"}, {0x517B, "smb"},
        {0x65735546, "fuse"}, {0x01021997, "9p"},   {0x00C36400, "ceph"}, {0x0BD00BD0, "lustre"},
        {0x47504653, "gpfs"}, {0x5346414F, "afs"}};
    for (const auto& [known, name] : kNames) {
        if (known == static_cast<std::uint32_t>(magic)) {
            return name;
        }
    }
    return "";
}

std::string networkFileSystemOf(const std::string& path) {
    struct statfs info{};
    if (::statfs(path.c_str(), &info) != 0) {
        return "";
    }
    return std::string(networkFileSystemName(static_cast<std::int64_t>(info.f_type)));
}

}  // namespace millrace
