#include "backend/engines/worker_log.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/engines/gang_files.h"

namespace millrace::engines {
namespace {

constexpr std::string_view kOffsetMark = " m log-offset ";
constexpr std::size_t kTimeLength = 24;
constexpr std::size_t kLineMax = (std::size_t{64} << 10) + 256;  // what the guardian cuts lines to

struct LogFile {
    UniqueFd fd;
    std::uint64_t base = 0;  // offset of its first byte
    std::uint64_t size = 0;
    std::uint64_t end() const { return base + size; }
};

LogFile openLog(const std::string& path) {
    LogFile file;
    file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!file.fd.isOpen() || ::fstat(file.fd.get(), &info) != 0) {
        return file;
    }
    file.size = static_cast<std::uint64_t>(info.st_size);
    char head[128] = {};
    const ssize_t n = ::pread(file.fd.get(), head, sizeof head - 1, 0);
    const std::string_view text(head, n > 0 ? static_cast<std::size_t>(n) : 0);
    if (text.size() > kTimeLength && text.substr(kTimeLength).rfind(kOffsetMark, 0) == 0) {
        file.base = std::strtoull(head + kTimeLength + kOffsetMark.size(), nullptr, 10);
    }
    return file;
}

Result<std::string> readAt(const LogFile& file, std::uint64_t offset, std::size_t most,
                           const std::string& place) {
    std::string bytes(std::min<std::uint64_t>(most, file.end() - offset), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::pread(file.fd.get(), bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(offset - file.base + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, place);
        }
        if (n == 0) {
            break;
        }
        done += static_cast<std::size_t>(n);
    }
    bytes.resize(done);
    return bytes;
}

// The last whole lines of a file that end at or before `before`.
Result<LogBlock> readBack(const LogFile& file, std::uint64_t before, std::size_t maxBytes,
                          const std::string& place) {
    LogBlock block;
    const std::uint64_t end = std::min(before, file.end());
    if (!file.fd.isOpen() || end <= file.base) {
        return block;
    }
    const std::uint64_t most = std::max(maxBytes, kLineMax);
    block.start = end - std::min(most, end - file.base);
    ASSIGN_OR_RETURN(block.bytes, readAt(file, block.start, end - block.start, place));
    // A line that is being written is none yet; the first one may have begun before the block.
    block.bytes.resize(block.bytes.rfind('\n') + 1);
    if (block.start > file.base) {
        const std::size_t first = block.bytes.find('\n') + 1;
        block.bytes.erase(0, first);
        block.start += first;
    }
    return block;
}

}  // namespace

std::uint64_t workerLogEnd(const std::string& directory) {
    const LogFile newer = openLog(directory + "/out.log");
    return newer.fd.isOpen() ? newer.end() : openLog(directory + "/out.log.1").end();
}

Result<LogBlock> readWorkerLogBack(const std::string& directory, std::uint64_t before,
                                   std::size_t maxBytes) {
    const LogFile newer = openLog(directory + "/out.log");
    const LogFile older = openLog(directory + "/out.log.1");
    ASSIGN_OR_RETURN(LogBlock block, readBack(newer, before, maxBytes, directory));
    if (!block.bytes.empty() || !older.fd.isOpen()) {
        return block;
    }
    return readBack(older, before, maxBytes, directory);
}

Result<LogChunk> readWorkerLog(const std::string& directory, std::uint64_t from,
                               std::size_t maxBytes) {
    // Before the files: see isEnd.
    const auto exit = readExitRecord(directory);
    const bool hasEnded = exit.ok() && exit->has_value();
    // The newer file first: should it be rotated in between, it is opened twice and none is missed.
    const LogFile newer = openLog(directory + "/out.log");
    const LogFile older = openLog(directory + "/out.log.1");
    LogChunk chunk;
    chunk.nextOffset = from;
    if (!newer.fd.isOpen() && !older.fd.isOpen()) {
        chunk.isEnd = hasEnded;
        return chunk;
    }
    const bool isInOlder = older.fd.isOpen() && (!newer.fd.isOpen() || from < newer.base);
    const LogFile& file = isInOlder ? older : newer;
    const std::uint64_t start = std::max(from, file.base);
    if (start >= file.end()) {
        chunk.isEnd = hasEnded && !isInOlder;
        chunk.nextOffset = isInOlder && newer.fd.isOpen() ? newer.base : from;
        return chunk;
    }
    ASSIGN_OR_RETURN(chunk.bytes, readAt(file, start, std::max(maxBytes, kLineMax), directory));
    const std::size_t fit = chunk.bytes.rfind('\n', maxBytes == 0 ? 0 : maxBytes - 1);
    const std::size_t end = fit != std::string::npos ? fit : chunk.bytes.find('\n');
    chunk.bytes.resize(end == std::string::npos ? 0 : end + 1);
    chunk.nextOffset = start + chunk.bytes.size();
    chunk.isEnd = hasEnded && !isInOlder && chunk.nextOffset >= file.end();
    return chunk;
}

}  // namespace millrace::engines
