#include "backend/feed/link/line_spool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "backend/core/whole_io.h"

namespace millrace::ring {
namespace {

/// In the file a line is this head and its text.
struct SpillHead {
    std::int64_t attempt;
    std::uint64_t seq;
    std::uint64_t bytes;
};

bool failed(const std::string& path, const std::string& text, std::string& why) {
    why = path + ": " + text;
    return false;
}

bool readFrom(int fd, void* bytes, std::size_t size, std::uint64_t offset, const std::string& path,
              std::string& why) {
    const ssize_t n = readAllAt(fd, bytes, size, offset);
    return static_cast<std::size_t>(n) == size ||
           failed(path, n < 0 ? std::strerror(errno) : "shorter than written", why);
}

}  // namespace

LineSpool::~LineSpool() {
    if (file_ >= 0) {
        ::unlink(path_.c_str());
        ::close(file_);
    }
}

bool LineSpool::push(Line line, std::string& why) {
    if (numInFile_ > 0 || (!memory_.empty() && usedBytes_ + line.text.size() > memoryBytes_)) {
        return spill(line, why);
    }
    usedBytes_ += line.text.size();
    memory_.push_back(std::move(line));
    return true;
}

bool LineSpool::acknowledge(std::int64_t attempt, std::uint64_t seq, std::string& why) {
    while (!memory_.empty() && memory_.front().attempt == attempt && memory_.front().seq <= seq) {
        usedBytes_ -= memory_.front().text.size();
        memory_.pop_front();
        unsent_ -= unsent_ > 0 ? 1 : 0;
    }
    return refill(why);
}

bool LineSpool::spill(const Line& line, std::string& why) {
    const std::uint64_t held = writeOffset_ - freedOffset_;
    if (path_.empty() || held + sizeof(SpillHead) + line.text.size() > fileBytes_) {
        return failed(path_.empty() ? "the memory for lines" : path_,
                      "holds " + std::to_string(path_.empty() ? memory_.size() : numInFile_) +
                          " lines that the daemon has not acknowledged, " +
                          std::to_string(path_.empty() ? usedBytes_ : held) + " bytes; more than " +
                          std::to_string(path_.empty() ? memoryBytes_ : fileBytes_) +
                          " are not kept. Start the daemon (millrace up)",
                      why);
    }
    if (file_ < 0) {
        file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file_ < 0) {
            return failed(path_, std::strerror(errno), why);
        }
    }
    const SpillHead head{line.attempt, line.seq, line.text.size()};
    if (!writeAllAt(file_, {reinterpret_cast<const char*>(&head), sizeof head}, writeOffset_) ||
        !writeAllAt(file_, line.text, writeOffset_ + sizeof head)) {
        return failed(path_, std::strerror(errno), why);
    }
    writeOffset_ += sizeof head + line.text.size();
    ++numInFile_;
    return true;
}

bool LineSpool::readAt(std::uint64_t& offset, Line& line, std::string& why) const {
    SpillHead head{};
    if (!readFrom(file_, &head, sizeof head, offset, path_, why)) {
        return false;
    }
    if (head.bytes > writeOffset_ - offset) {
        return failed(path_, "holds what was not written to it", why);
    }
    line = {head.attempt, head.seq, std::string(head.bytes, '\0')};
    if (!readFrom(file_, line.text.data(), head.bytes, offset + sizeof head, path_, why)) {
        return false;
    }
    offset += sizeof head + head.bytes;
    return true;
}

/// Waits until half the memory is free before it reads the file again, to read long runs.
bool LineSpool::refill(std::string& why) {
    if (numInFile_ == 0 || usedBytes_ > memoryBytes_ / 2) {
        return true;
    }
    while (numInFile_ > 0 && (memory_.empty() || usedBytes_ < memoryBytes_)) {
        Line line;
        if (!readAt(readOffset_, line, why)) {
            return false;
        }
        --numInFile_;
        usedBytes_ += line.text.size();
        memory_.push_back(std::move(line));
    }
    if (numInFile_ > 0) {
        giveBack();
        return true;
    }
    readOffset_ = writeOffset_ = freedOffset_ = 0;
    return ::ftruncate(file_, 0) == 0 || failed(path_, std::strerror(errno), why);
}

// Returns the front of the file, which was read, to the file system: a backlog that never empties
// must not fill the disk. A file system that cannot punch holes keeps it, and it counts as used.
void LineSpool::giveBack() {
    constexpr std::uint64_t kBlock = 4096;  // smaller ranges are not returned
    const std::uint64_t read = readOffset_ / kBlock * kBlock;
    if (read < freedOffset_ + std::max(fileBytes_ / 8, kBlock)) {
        return;
    }
    if (::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(freedOffset_),
                    static_cast<off_t>(read - freedOffset_)) == 0) {
        freedOffset_ = read;
    }
}

bool LineSpool::all(std::vector<std::string>& lines, std::string& why) const {
    lines.reserve(lines.size() + size());
    for (const Line& line : memory_) {
        lines.push_back(line.text);
    }
    std::uint64_t offset = readOffset_;
    for (std::size_t i = 0; i < numInFile_; ++i) {
        Line line;
        if (!readAt(offset, line, why)) {
            return false;
        }
        lines.push_back(std::move(line.text));
    }
    return true;
}

}  // namespace millrace::ring
