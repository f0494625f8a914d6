#include "backend/files/file_identity.h"

#include <cerrno>
#include <ctime>

#include <sys/stat.h>

#include "backend/filesystem/directories.h"
#include "backend/objects/object_store.h"

namespace millrace::files {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * kSecondNs + time.tv_nsec;
}

std::string timeText(std::int64_t ns) {
    const auto seconds = static_cast<std::time_t>(ns / kSecondNs);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Status changed(const DataFile& checked, std::string_view what) {
    return failedPrecondition(checked.path, ": changed since the run was planned: ", what,
                              "; let nothing write to a run's files, put the planned content back "
                              "and resume the run, or start a new one on the new content");
}

/// How `now` differs from `checked`; empty: not at all. If inodes are unreliable, compares only
/// size and time of the last write.
std::string difference(const DataFile& checked, const DataFile& now) {
    const std::string size = now.bytes == checked.bytes
                                 ? strCat("its ", now.bytes, " bytes are as many as before")
                                 : strCat(now.bytes, " bytes, ", checked.bytes, " before");
    const bool isOther = now.inode != checked.inode || now.device != checked.device;
    const bool hasStableInode = !isOther || !givesInodesAnew(networkFileSystemOf(checked.path));
    if (isOther && hasStableInode) {
        return strCat("another file took its place at ", timeText(now.changeNs), " (", size, ")");
    }
    if (now.bytes != checked.bytes || now.mtimeNs != checked.mtimeNs) {
        return strCat("it was written to at ", timeText(now.mtimeNs), ", before that at ",
                      timeText(checked.mtimeNs), " (", size, ")");
    }
    if (now.changeNs != checked.changeNs && hasStableInode) {
        return strCat("at ", timeText(now.changeNs),
                      " its permissions, owner or links were changed, or it was written to and its "
                      "old time put back");
    }
    return "";
}

}  // namespace

void setIdentity(const struct stat& info, DataFile& file) {
    file.bytes = info.st_size;
    file.mtimeNs = nanoseconds(info.st_mtim);
    file.changeNs = nanoseconds(info.st_ctim);
    file.inode = info.st_ino;
    file.device = info.st_dev;
}

bool hasIdentity(const DataFile& file) {
    return file.inode != 0;
}

bool givesInodesAnew(std::string_view fileSystem) {
    return fileSystem == "fuse" || fileSystem == "9p";
}

Status verifySize(const DataFile& planned, std::int64_t bytes) {
    return bytes == planned.bytes
               ? okStatus()
               : changed(planned, strCat(bytes, " bytes, planned ", planned.bytes));
}

Status verifyHash(const DataFile& file, std::string_view now, std::string_view planned) {
    return now == planned ? okStatus()
                          : changed(file, strCat("its hash is ", now, ", planned ", planned));
}

Status verifyOpen(const DataFile& checked, int fd) {
    if (!hasIdentity(checked)) {
        return okStatus();
    }
    struct stat info{};
    if (::fstat(fd, &info) != 0) {
        return errnoStatus(errno, checked.path);
    }
    DataFile now;
    setIdentity(info, now);
    const std::string what = difference(checked, now);
    if (what.empty()) {
        return okStatus();
    }
    return changed(checked, info.st_nlink == 0 ? strCat("it was removed, or another file took its "
                                                        "place, at ",
                                                        timeText(now.changeNs))
                                               : what);
}

Status verifyAtPath(const DataFile& checked) {
    if (!hasIdentity(checked) || objects::isObjectUri(checked.path)) {
        return okStatus();
    }
    struct stat info{};
    if (::stat(checked.path.c_str(), &info) != 0) {
        return errno == ENOENT ? changed(checked, "it is no longer there")
                               : errnoStatus(errno, checked.path);
    }
    DataFile now;
    setIdentity(info, now);
    const std::string what = difference(checked, now);
    return what.empty() ? okStatus() : changed(checked, what);
}

}  // namespace millrace::files
