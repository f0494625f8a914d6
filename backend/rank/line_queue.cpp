#include "backend/rank/line_queue.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace millrace::rank {
namespace {

/// In the file a line is this head and its text.
struct SpillHead {
    std::int64_t attempt;
    std::uint64_t seq;
    std::uint64_t bytes;
};

Status writeAt(int fd, const void* bytes, std::size_t size, std::uint64_t offset,
               const std::string& path) {
    const char* from = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t n = ::pwrite(fd, from, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, path);
        }
        from += n;
        size -= static_cast<std::size_t>(n);
        offset += static_cast<std::uint64_t>(n);
    }
    return okStatus();
}

Status readFrom(int fd, void* bytes, std::size_t size, std::uint64_t offset,
                const std::string& path) {
    char* to = static_cast<char*>(bytes);
    while (size > 0) {
        const ssize_t n = ::pread(fd, to, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? errnoStatus(errno, path) : dataLoss(path, ": shorter than written");
        }
        to += n;
        size -= static_cast<std::size_t>(n);
        offset += static_cast<std::uint64_t>(n);
    }
    return okStatus();
}

}  // namespace

LineQueue::~LineQueue() {
    if (file_.isOpen()) {
        ::unlink(path_.c_str());
    }
}

Status LineQueue::push(Line line) {
    if (spilled_ > 0 || (!memory_.empty() && usedBytes_ + line.text.size() > memoryBytes_)) {
        return spill(line);
    }
    usedBytes_ += line.text.size();
    memory_.push_back(std::move(line));
    return okStatus();
}

Status LineQueue::acknowledge(std::int64_t attempt, std::uint64_t seq) {
    while (!memory_.empty() && memory_.front().attempt == attempt && memory_.front().seq <= seq) {
        usedBytes_ -= memory_.front().text.size();
        memory_.pop_front();
        unsent_ -= unsent_ > 0 ? 1 : 0;
    }
    return refill();
}

Status LineQueue::spill(const Line& line) {
    const std::uint64_t held = writeOffset_ - freedOffset_;
    if (held + sizeof(SpillHead) + line.text.size() > spillBytes_) {
        return resourceExhausted(
            path_, ": holds ", spilled_, " lines that the daemon has not acknowledged, ", held,
            " bytes; more than ", spillBytes_, " are not kept. Start the daemon (millrace up)");
    }
    if (!file_.isOpen()) {
        file_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!file_.isOpen()) {
            return errnoStatus(errno, path_);
        }
    }
    const SpillHead head{line.attempt, line.seq, line.text.size()};
    RETURN_IF_ERROR(writeAt(file_.get(), &head, sizeof head, writeOffset_, path_));
    RETURN_IF_ERROR(writeAt(file_.get(), line.text.data(), line.text.size(),
                            writeOffset_ + sizeof head, path_));
    writeOffset_ += sizeof head + line.text.size();
    ++spilled_;
    return okStatus();
}

Result<LineQueue::Line> LineQueue::readAt(std::uint64_t& offset) const {
    SpillHead head{};
    RETURN_IF_ERROR(readFrom(file_.get(), &head, sizeof head, offset, path_));
    if (head.bytes > writeOffset_ - offset) {
        return dataLoss(path_, ": holds what was not written to it");
    }
    Line line{head.attempt, head.seq, std::string(head.bytes, '\0')};
    RETURN_IF_ERROR(
        readFrom(file_.get(), line.text.data(), head.bytes, offset + sizeof head, path_));
    offset += sizeof head + head.bytes;
    return line;
}

/// Half the memory is free before the file is read again, so that it is read in long runs.
Status LineQueue::refill() {
    if (spilled_ == 0 || usedBytes_ > memoryBytes_ / 2) {
        return okStatus();
    }
    while (spilled_ > 0 && (memory_.empty() || usedBytes_ < memoryBytes_)) {
        ASSIGN_OR_RETURN(Line line, readAt(readOffset_));
        --spilled_;
        usedBytes_ += line.text.size();
        memory_.push_back(std::move(line));
    }
    if (spilled_ == 0) {
        readOffset_ = writeOffset_ = freedOffset_ = 0;
        if (::ftruncate(file_.get(), 0) != 0) {
            return errnoStatus(errno, path_);
        }
        return okStatus();
    }
    giveBack();
    return okStatus();
}

// The front of the file was read: a backlog that never empties must not fill the disk. A file
// system that cannot make holes keeps it, and counts it.
void LineQueue::giveBack() {
    constexpr std::uint64_t kBlock = 4096;  // less than one is not given back
    const std::uint64_t read = readOffset_ / kBlock * kBlock;
    if (read < freedOffset_ + std::max(spillBytes_ / 8, kBlock)) {
        return;
    }
    if (::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(freedOffset_),
                    static_cast<off_t>(read - freedOffset_)) == 0) {
        freedOffset_ = read;
    }
}

Result<std::vector<std::string>> LineQueue::all() const {
    std::vector<std::string> lines;
    lines.reserve(size());
    for (const Line& line : memory_) {
        lines.push_back(line.text);
    }
    std::uint64_t offset = readOffset_;
    for (std::size_t i = 0; i < spilled_; ++i) {
        ASSIGN_OR_RETURN(Line line, readAt(offset));
        lines.push_back(std::move(line.text));
    }
    return lines;
}

}  // namespace millrace::rank
