#include "backend/job/log_mirror.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/core/whole_io.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/log_files.h"

namespace millrace::job {
namespace {

/// Whether the block is the first of a file after a rotation.
bool beginsFile(const LogBlock& block) {
    constexpr std::size_t kTimeLength = 24;
    const std::string_view text(block.bytes);
    return text.size() > kTimeLength && text.substr(kTimeLength).starts_with(" m log-offset ");
}

// Appends everything or nothing: a partial line would be read as a line.
Status append(const std::string& path, std::string_view bytes) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    struct stat info{};
    if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0) {
        return errnoStatus(errno, path);
    }
    if (!writeAll(fd.get(), bytes)) {
        const int error = errno;
        [[maybe_unused]] const int ignored = ::ftruncate(fd.get(), info.st_size);
        return errnoStatus(error, path);
    }
    return okStatus();
}

}  // namespace

Status appendLog(const std::string& root, const LogKey& key, const LogBlock& block) {
    const std::string folder = RunPaths(root, key.run).attempt(key.attempt).worker(key.worker);
    const std::string path = folder + "/out.log";
    const std::uint64_t end = FileLogs(root).end(key);
    if (block.bytes.empty() || block.end() <= end) {
        return okStatus();
    }
    RETURN_IF_ERROR(makeDirectories(folder, 0700));
    if (beginsFile(block) && block.start >= end) {
        if (::rename(path.c_str(), (path + ".1").c_str()) != 0 && errno != ENOENT) {
            return errnoStatus(errno, path);
        }
        return append(path, block.bytes);
    }
    if (block.start > end) {
        return dataLoss(path, ": bytes ", end, " to ", block.start, " of the log did not come");
    }
    return append(path, std::string_view(block.bytes).substr(end - block.start));
}

}  // namespace millrace::job
