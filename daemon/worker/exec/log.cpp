#include "daemon/worker/exec/log.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/status.h"

namespace millrace::exec {
namespace {

std::string now() {
    return formatTime(SystemClock().wallMs());
}

}  // namespace

WorkerLog::WorkerLog(std::string directory, std::int64_t fileBytesMax)
    : directory_(std::move(directory)), fileBytesMax_(fileBytesMax) {
    openFile();
}

void WorkerLog::openFile() {
    const std::string path = directory_ + "/out.log";
    file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    struct stat info{};
    size_ = file_.isOpen() && ::fstat(file_.get(), &info) == 0 ? info.st_size : 0;
}

void WorkerLog::append(Partial& partial, std::string_view piece) {
    const std::size_t room = kLineBytesMax - partial.text.size();
    const std::size_t kept = std::min(room, piece.size());
    partial.text.append(piece.substr(0, kept));
    partial.cutBytes += static_cast<std::int64_t>(piece.size() - kept);
    partial.isStarted = partial.isStarted || !piece.empty();
}

void WorkerLog::endLine(Partial& partial, char stream, const std::string& time, std::string& out) {
    strAppend(&out, time, " ", std::string_view(&stream, 1), " ", partial.text);
    if (partial.cutBytes > 0) {
        strAppend(&out, " [", partial.cutBytes, " bytes cut]");
    }
    out += '\n';
    ++numLines_;
    partial.text.clear();
    partial.cutBytes = 0;
    partial.isStarted = false;
}

void WorkerLog::add(char stream, std::string_view bytes) {
    Partial& partial = stream == 'o' ? out_ : err_;
    const std::string time = now();
    std::string lines;
    numLines_ = 0;
    while (!bytes.empty()) {
        if (partial.afterReturn && bytes.front() == '\n') {
            bytes.remove_prefix(1);
            partial.afterReturn = false;
            continue;
        }
        partial.afterReturn = false;
        const std::size_t end = bytes.find_first_of("\r\n");
        append(partial, bytes.substr(0, end));
        if (end == std::string_view::npos) {
            break;
        }
        partial.afterReturn = bytes[end] == '\r';
        endLine(partial, stream, time, lines);
        bytes.remove_prefix(end + 1);
    }
    if (!lines.empty()) {
        write(lines, numLines_);
    }
}

void WorkerLog::note(std::string_view text) {
    write(strCat(now(), " m ", text, "\n"), 1);
}

void WorkerLog::flush() {
    std::string lines;
    numLines_ = 0;
    for (Partial* partial : {&out_, &err_}) {
        if (partial->isStarted) {
            endLine(*partial, partial == &out_ ? 'o' : 'e', now(), lines);
        }
    }
    if (!lines.empty() || numDropped_ > 0) {
        write(lines, numLines_);
    }
}

void WorkerLog::write(const std::string& lines, std::int64_t numLines) {
    if (size_ > 0 && size_ + static_cast<std::int64_t>(lines.size()) > fileBytesMax_) {
        rotate();
    }
    std::string text = lines;
    if (numDropped_ > 0) {
        text =
            strCat(now(), " m ", numDropped_, " lines could not be written and are lost\n", lines);
    }
    if (writeWhole(text)) {
        numDropped_ = 0;
        return;
    }
    numDropped_ += numLines;
    numDroppedTotal_ += numLines;
}

// Writes all or nothing: a part of a line would be read as a line.
bool WorkerLog::writeWhole(std::string_view bytes) {
    if (!file_.isOpen()) {
        openFile();
    }
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), size_);
            return false;
        }
        done += static_cast<std::size_t>(n);
    }
    size_ += static_cast<std::int64_t>(bytes.size());
    return true;
}

void WorkerLog::rotate() {
    const std::string path = directory_ + "/out.log";
    if (::rename(path.c_str(), (path + ".1").c_str()) != 0) {
        return;
    }
    offset_ += size_;
    openFile();
    writeWhole(strCat(now(), " m log-offset ", offset_, "\n"));
}

}  // namespace millrace::exec
