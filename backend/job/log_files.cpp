#include "backend/job/log_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/core/whole_io.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/log_text.h"
#include "backend/text/utf8.h"

namespace millrace::job {
namespace {

constexpr std::string_view kOffsetMark = " m log-offset ";
constexpr std::size_t kTimeLength = 24;
constexpr std::size_t kLineMax = (std::size_t{64} << 10) + 256;  // the guardian cuts lines to this
                                                                 // length
constexpr std::size_t kWordsBytes = 300;
constexpr std::size_t kWordsReach = 1 << 20;  // how far back to search for the worker's own words
constexpr std::size_t kWordsStep = 256 << 10;

struct LogFile {
    UniqueFd fd;
    std::uint64_t base = 0;  // offset of its first byte
    std::uint64_t size = 0;
    std::uint64_t end() const { return base + size; }
};

LogFile openLog(const std::string& path) {
    LogFile file;
    file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
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
    const ssize_t n = readAllAt(file.fd.get(), bytes.data(), bytes.size(), offset - file.base);
    if (n < 0) {
        return errnoStatus(errno, place);
    }
    bytes.resize(static_cast<std::size_t>(n));
    return bytes;
}

// The last whole lines of a file that end at or before `before`.
Result<LogBlock> readBlockBack(const LogFile& file, std::uint64_t before, std::size_t maxBytes,
                               const std::string& place) {
    LogBlock block;
    const std::uint64_t end = std::min(before, file.end());
    if (!file.fd.isOpen() || end <= file.base) {
        return block;
    }
    const std::uint64_t most = std::max(maxBytes, kLineMax);
    block.start = end - std::min(most, end - file.base);
    ASSIGN_OR_RETURN(block.bytes, readAt(file, block.start, end - block.start, place));
    // Drops an unfinished last line, and a first line that may have begun before the block.
    block.bytes.resize(block.bytes.rfind('\n') + 1);
    if (block.start > file.base) {
        const std::size_t first = block.bytes.find('\n') + 1;
        block.bytes.erase(0, first);
        block.start += first;
    }
    return block;
}

}  // namespace

std::string FileLogs::folderOf(const LogKey& key) const {
    return RunPaths(root_, key.run).attempt(key.attempt).worker(key.worker);
}

std::vector<int> FileLogs::attempts(const std::string& run) const {
    return RunPaths(root_, run).attempts();
}

std::vector<std::string> FileLogs::workers(const std::string& run, int attempt) const {
    return RunPaths(root_, run).attempt(attempt).workers();
}

std::uint64_t FileLogs::end(const LogKey& key) const {
    const std::string folder = folderOf(key);
    const LogFile newer = openLog(folder + "/out.log");
    return newer.fd.isOpen() ? newer.end() : openLog(folder + "/out.log.1").end();
}

LogSubscription FileLogs::subscribe(const std::string& run, OnLogNews onNews) const {
    return watcher_->subscribe(RunPaths(root_, run), std::move(onNews));
}

Result<LogBlock> FileLogs::readBack(const LogKey& key, std::uint64_t before,
                                    std::size_t maxBytes) const {
    const std::string folder = folderOf(key);
    const LogFile newer = openLog(folder + "/out.log");
    const LogFile older = openLog(folder + "/out.log.1");
    ASSIGN_OR_RETURN(LogBlock block, readBlockBack(newer, before, maxBytes, folder));
    if (!block.bytes.empty() || !older.fd.isOpen()) {
        return block;
    }
    return readBlockBack(older, before, maxBytes, folder);
}

Result<LogBlock> FileLogs::read(const LogKey& key, std::uint64_t from, std::size_t maxBytes) const {
    const std::string folder = folderOf(key);
    // Opens the newer file first: a rotation in between opens it twice, but no line is missed.
    const LogFile newer = openLog(folder + "/out.log");
    const LogFile older = openLog(folder + "/out.log.1");
    LogBlock block;
    block.start = from;
    if (!newer.fd.isOpen() && !older.fd.isOpen()) {
        return block;
    }
    const bool isInOlder = older.fd.isOpen() && (!newer.fd.isOpen() || from < newer.base);
    const LogFile& file = isInOlder ? older : newer;
    const std::uint64_t start = std::max(from, file.base);
    if (start >= file.end()) {
        block.start = isInOlder && newer.fd.isOpen() ? newer.base : from;
        return block;
    }
    block.start = start;
    ASSIGN_OR_RETURN(block.bytes, readAt(file, start, std::max(maxBytes, kLineMax), folder));
    const std::size_t fit = block.bytes.rfind('\n', maxBytes == 0 ? 0 : maxBytes - 1);
    const std::size_t end = fit != std::string::npos ? fit : block.bytes.find('\n');
    block.bytes.resize(end == std::string::npos ? 0 : end + 1);
    return block;
}

std::string lastWordsOf(const WorkerLogs& logs, const LogKey& key) {
    std::uint64_t before = kLogEnd;
    for (std::size_t seen = 0; seen < kWordsReach;) {
        const Result<LogBlock> block = logs.readBack(key, before, kWordsStep);
        if (!block.ok() || block->bytes.empty()) {
            break;
        }
        before = block->start;
        seen += block->bytes.size();
        for (std::string_view rest(block->bytes); !rest.empty();) {
            const std::optional<LogText> line = splitLogLine(takeLastLine(rest));
            // Routine messages do not say why a worker ended.
            const bool isRoutine = line.has_value() && line->level == "debug";
            if (line.has_value() && line->origin != 'm' && !isRoutine && !line->text.empty()) {
                return toUtf8(line->text, kWordsBytes);
            }
        }
    }
    return "";
}

}  // namespace millrace::job
