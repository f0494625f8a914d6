#include "app/ssh/libssh/stream.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/status.h"

namespace millrace::libssh {
namespace {

constexpr std::size_t kPieceBytes = 32 << 10;
// Bytes that a pipe or socket which poll() calls writable takes without blocking.
constexpr std::size_t kSafeBytes = 4096;

bool isWritableNow(int fd) {
    pollfd one{fd, POLLOUT, 0};
    return ::poll(&one, 1, 0) == 1;
}

}  // namespace

std::string openFailureOf(const std::string& error) {
    constexpr const char* kReasons[] = {"", "administratively prohibited", "connect failed",
                                        "unknown channel type", "resource shortage"};
    const std::size_t open = error.find("error ("), close = error.find(')', open);
    if (open == std::string::npos || close == std::string::npos) {
        return error;
    }
    const int code = std::atoi(error.c_str() + open + 7);
    const std::string text = close + 2 < error.size() ? error.substr(close + 2) : "";
    const std::string reason = code >= 1 && code <= 4 ? kReasons[code] : "unknown reason";
    return text.empty() ? reason : strCat(reason, ": ", text);
}

std::string sentenceOf(int number, const StreamEnd& end) {
    return end.isOpened ? strCat(end.failure, " on channel ", number)
                        : strCat("channel ", number, ": open failed: ", end.failure);
}

Stream::Stream(ssh_session session, StreamGoal goal, StreamEnds ends, OnEnd onEnd)
    : session_(session),
      goal_(std::move(goal)),
      ends_(std::move(ends)),
      onEnd_(std::move(onEnd)),
      channel_(ssh_channel_new(session)) {
    if (!ends_.isSocket) {
        out_.fd = std::move(ends_.out);
        error_.fd = std::move(ends_.error);
    }
    if (channel_ == nullptr) {
        fail("resource shortage: no memory for a channel");
        return;
    }
    ssh_callbacks_init(&callbacks_);
    callbacks_.userdata = this;
    callbacks_.channel_data_function = [](ssh_session, ssh_channel, void* data, uint32_t size,
                                          int isError, void* self) {
        auto* stream = static_cast<Stream*>(self);
        return stream->take(static_cast<const char*>(data), size,
                            isError != 0 ? stream->error_ : stream->out_);
    };
    callbacks_.channel_eof_function = [](ssh_session, ssh_channel, void* self) {
        static_cast<Stream*>(self)->isRemoteEof_ = true;
    };
    callbacks_.channel_close_function = [](ssh_session, ssh_channel, void* self) {
        static_cast<Stream*>(self)->isRemoteEof_ = true;
        static_cast<Stream*>(self)->isRemoteClosed_ = true;
    };
    callbacks_.channel_exit_status_function = [](ssh_session, ssh_channel, int code, void* self) {
        static_cast<Stream*>(self)->end_.exitCode = code;
    };
    ssh_set_channel_callbacks(channel_, &callbacks_);
}

Stream::~Stream() {
    if (channel_ != nullptr) {
        ssh_remove_channel_callbacks(channel_, &callbacks_);
        ssh_channel_free(channel_);
    }
}

void Stream::tellEnd() {
    if (onEnd_) {
        std::exchange(onEnd_, nullptr)(end_);
    }
}

void Stream::fail(const std::string& why) {
    end_.failure = why;
    isOver_ = true;
}

int Stream::openChannel() {
    switch (goal_.kind) {
        case StreamGoal::Kind::kCommand:
            return ssh_channel_open_session(channel_);
        case StreamGoal::Kind::kUnixSocket:
            return ssh_channel_open_forward_unix(channel_, goal_.text.c_str(), "localhost", 0);
        case StreamGoal::Kind::kTcp:
            return ssh_channel_open_forward(channel_, goal_.text.c_str(), goal_.port, "127.0.0.1",
                                            0);
    }
    return SSH_ERROR;
}

// Each call resumes where the last one had to wait for an answer.
void Stream::open() {
    if (state_ == State::kOpening) {
        const int code = openChannel();
        if (code == SSH_ERROR) {
            fail(openFailureOf(ssh_get_error(session_)));
        }
        if (code != SSH_OK) {
            return;
        }
        end_.isOpened = true;
        const bool asks = goal_.kind == StreamGoal::Kind::kCommand;
        state_ = asks ? State::kAsking : State::kRunning;
    }
    if (state_ == State::kAsking) {
        const int code = ssh_channel_request_exec(channel_, goal_.text.c_str());
        if (code == SSH_ERROR) {
            fail("exec request failed");
        } else if (code == SSH_OK) {
            state_ = State::kRunning;
        }
    }
}

void Stream::wish(PollSet& fds, bool sessionTakes) {
    polledIn_ = out_.polled = error_.polled = -1;
    const bool reads = state_ == State::kRunning && !isInEnded_ && pending_.empty() &&
                       sessionTakes && ssh_channel_window_size(channel_) > 0;
    const bool writes = out_.at < out_.bytes.size();
    if (ends_.isSocket) {
        if (reads || writes) {
            const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
            const int place = addTo(fds, ends_.in.get(), events);
            polledIn_ = reads ? place : -1;
            out_.polled = writes ? place : -1;
        }
        return;
    }
    if (reads) {
        polledIn_ = addTo(fds, ends_.in.get(), POLLIN);
    }
    if (writes) {
        out_.polled = addTo(fds, out_.fd.get(), POLLOUT);
    }
    if (error_.at < error_.bytes.size()) {
        error_.polled = addTo(fds, error_.fd.get(), POLLOUT);
    }
}

void Stream::act(const PollSet& fds) {
    if (isOver_) {
        return;
    }
    if (state_ != State::kRunning) {
        open();
        if (state_ != State::kRunning) {
            return;
        }
    }
    readLocal(fds);
    writeSink(out_, false, fds);
    writeSink(error_, true, fds);
    settle();
}

void Stream::readLocal(const PollSet& fds) {
    if (isReady(fds, polledIn_) && pending_.empty() && !isInEnded_) {
        const std::size_t room =
            std::min<std::size_t>(kPieceBytes, ssh_channel_window_size(channel_));
        pending_.resize(room);
        const ssize_t n = room == 0 ? -1 : ::read(ends_.in.get(), pending_.data(), room);
        const bool waits = n < 0 && (room == 0 || errno == EAGAIN || errno == EINTR);
        isInEnded_ = n <= 0 && !waits;
        pending_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    sendPending();
    if (isInEnded_ && pending_.empty() && !isEofSent_ && !isRemoteClosed_) {
        isEofSent_ = ssh_channel_send_eof(channel_) == SSH_OK;
    }
}

void Stream::sendPending() {
    if (pending_.empty()) {
        return;
    }
    if (isRemoteClosed_) {
        pending_.clear();
        return;
    }
    const std::size_t size =
        std::min<std::size_t>(pending_.size(), ssh_channel_window_size(channel_));
    const int sent =
        size == 0 ? 0 : ssh_channel_write(channel_, pending_.data(), static_cast<uint32_t>(size));
    if (sent > 0) {
        pending_.erase(0, static_cast<std::size_t>(sent));
    } else if (sent == SSH_ERROR) {
        pending_.clear();
        isInEnded_ = true;
    }
}

// libssh's callback, which may run inside other libssh calls: only appends to the buffer.
int Stream::take(const char* data, std::size_t size, Sink& sink) {
    if (sink.isDead || isOver_) {
        return static_cast<int>(size);
    }
    const std::size_t held = sink.bytes.size() - sink.at;
    const std::size_t taken = std::min(size, kHighBytes - std::min(kHighBytes, held));
    sink.bytes.append(data, taken);
    sink.isRefused = taken < size;
    return static_cast<int>(taken);
}

void Stream::refill(Sink& sink, bool isError) {
    const int waiting = ssh_channel_poll(channel_, isError ? 1 : 0);
    sink.isRefused = false;
    if (waiting <= 0) {
        return;
    }
    // Read everything: libssh reopens its window after the first byte that is read.
    std::string bytes(static_cast<std::size_t>(waiting), '\0');
    const int n = ssh_channel_read_nonblocking(channel_, bytes.data(),
                                               static_cast<uint32_t>(waiting), isError ? 1 : 0);
    if (n > 0) {
        sink.bytes.append(bytes, 0, static_cast<std::size_t>(n));
    }
}

bool Stream::writePiece(Sink& sink) {
    const std::size_t left = sink.bytes.size() - sink.at;
    const std::size_t size = ends_.isSocket ? left : std::min(left, kSafeBytes);
    const ssize_t n = ::write(sinkFd(sink), sink.bytes.data() + sink.at, size);
    if (n >= 0) {
        sink.at += static_cast<std::size_t>(n);
        return sink.at < sink.bytes.size();
    }
    if (errno == EAGAIN || errno == EINTR) {
        return false;
    }
    sink.isDead = true;
    sink.bytes.clear();
    sink.at = 0;
    return false;
}

void Stream::writeSink(Sink& sink, bool isError, const PollSet& fds) {
    if (isReady(fds, sink.polled)) {
        while (writePiece(sink) && (ends_.isSocket || isWritableNow(sinkFd(sink)))) {
        }
        if (sink.at == sink.bytes.size()) {
            sink.bytes.clear();
            sink.at = 0;
        }
    }
    if (sink.at == sink.bytes.size() && sink.isRefused) {
        refill(sink, isError);
    }
}

void Stream::settle() {
    const bool isDrained = out_.isEmpty() && error_.isEmpty();
    if (isRemoteEof_ && isDrained && !isOutShut_) {
        isOutShut_ = true;
        if (ends_.isSocket) {
            ::shutdown(ends_.in.get(), SHUT_WR);
        } else {
            out_.fd.reset();
            error_.fd.reset();
        }
    }
    // Nobody reads the other side's output: closing the channel notifies it.
    const bool isDeaf = out_.isDead;
    const bool isEnded = isRemoteClosed_ || (ends_.isSocket && isRemoteEof_ && isEofSent_);
    if (isDeaf || (isEnded && isDrained)) {
        isOver_ = true;
    }
}

}  // namespace millrace::libssh
