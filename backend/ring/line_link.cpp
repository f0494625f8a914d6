#include "backend/ring/line_link.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/ring/c_wall.h"
#include "backend/ring/own_socket.h"
#include "backend/ring/ring_layout.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {
namespace {

constexpr std::size_t kSendBytes = std::size_t{256} << 10;
constexpr std::int64_t kBackoffFirstMs = 20, kBackoffMostMs = 1'000, kMs = 1'000'000;

}  // namespace

LineLink::LineLink(LineLinkOptions options) : options_(std::move(options)) {}

LineLink::~LineLink() {
    if (thread_.joinable()) {
        {
            const MutexLock lock(mutex_);
            isEnding_ = true;
        }
        wake();
        thread_.join();
    }
    if (wake_ >= 0) {
        ::close(wake_);
    }
}

bool LineLink::start() {
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ < 0) {
        return false;
    }
    thread_ = startWithoutSignals([this] { loop(); });
    return true;
}

void LineLink::preload(std::int64_t attempt, std::uint64_t seq, std::string text) {
    const MutexLock lock(mutex_);
    bytes_ += text.size();
    lines_.push_back({attempt, seq, std::move(text)});
}

std::uint64_t LineLink::send(const std::string& object) {
    std::uint64_t seq = 0;
    const std::int64_t ended = options_.ended ? options_.ended() : 0;
    {
        const MutexLock lock(mutex_);
        if (bytes_ + object.size() > options_.memoryBytes) {
            return 0;
        }
        seq = nextSeq_++;
        std::string text =
            "{\"seq\":" + std::to_string(seq) + ",\"attempt\":" + std::to_string(options_.attempt) +
            (ended > 0 ? ",\"ended\":" + std::to_string(ended) : "") + "," + object.substr(1);
        bytes_ += text.size();
        lines_.push_back({options_.attempt, seq, std::move(text)});
        toldEnded_ = std::max(toldEnded_, ended);
    }
    wake();
    return seq;
}

bool LineLink::waitEmpty(std::int64_t timeoutMs) {
    const std::int64_t endNs = steadyNs() + timeoutMs * kMs;
    const MutexLock lock(mutex_);
    while (!lines_.empty()) {
        const std::int64_t leftNs = endNs - steadyNs();
        if (leftNs <= 0) {
            return false;
        }
        emptied_.waitFor(mutex_, std::chrono::milliseconds(leftNs / kMs + 1));
    }
    return true;
}

std::string LineLink::unacked() {
    const MutexLock lock(mutex_);
    std::string all;
    for (const Line& line : lines_) {
        all += line.text;
        all += '\n';
    }
    return all;
}

std::uint64_t LineLink::acked() {
    const MutexLock lock(mutex_);
    return acked_;
}

void LineLink::wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_, &one, sizeof one));
}

bool LineLink::isEnding() {
    const MutexLock lock(mutex_);
    return isEnding_;
}

void LineLink::loop() {
    ::pthread_setname_np(::pthread_self(), "run-link");
    std::int64_t backoffMs = kBackoffFirstMs;
    while (!isEnding()) {
        const int socket = connectToOwn(options_.socketPath);
        if (socket >= 0) {
            talk(socket);
            ::close(socket);
            backoffMs = kBackoffFirstMs;
        }
        const std::int64_t endNs = steadyNs() + backoffMs * kMs;
        for (std::int64_t left = backoffMs; left > 0 && !isEnding();
             left = (endNs - steadyNs()) / kMs) {
            pollfd item{wake_, POLLIN, 0};
            ::poll(&item, 1, static_cast<int>(left));
            std::uint64_t count = 0;
            static_cast<void>(!::read(wake_, &count, sizeof count));
        }
        backoffMs = std::min(2 * backoffMs, kBackoffMostMs);
    }
}

void LineLink::talk(int socket) {
    std::string out =
        "{\"type\":\"hello\",\"version\":1,\"role\":\"rank\",\"run\":" +
        stream::quoteJson(options_.run) + ",\"attempt\":" + std::to_string(options_.attempt) +
        ",\"rank\":" + std::to_string(options_.rank) + ",\"pid\":" + std::to_string(::getpid()) +
        ",\"alive_ms\":" + std::to_string(options_.aliveMs) + "}\n";
    std::string in;
    nextAliveNs_ = 0;
    answers_.clear();
    {
        const MutexLock lock(mutex_);
        unsent_ = 0;
    }
    while (!isEnding()) {
        out += std::exchange(answers_, {});
        fill(out);
        const int untilAlive = addAlive(out);
        const short events = static_cast<short>(POLLIN | (out.empty() ? 0 : POLLOUT));
        pollfd items[2] = {{socket, events, 0}, {wake_, POLLIN, 0}};
        if (::poll(items, 2, untilAlive) < 0 && errno != EINTR) {
            return;
        }
        if (items[1].revents != 0) {
            std::uint64_t count = 0;
            static_cast<void>(!::read(wake_, &count, sizeof count));
        }
        if ((items[0].revents & POLLOUT) != 0) {
            const ssize_t n = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno != EAGAIN && errno != EINTR) {
                return;
            }
            out.erase(0, n > 0 ? static_cast<std::size_t>(n) : 0);
        }
        if ((items[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read(socket, in)) {
            return;
        }
    }
}

void LineLink::fill(std::string& out) {
    const MutexLock lock(mutex_);
    for (; unsent_ < lines_.size() && out.size() < kSendBytes; ++unsent_) {
        out += lines_[unsent_].text;
        out += '\n';
    }
}

/// Adds a sign of life when one is due; the milliseconds until the next one. A daemon that does not
/// read hears nothing new from more of them.
int LineLink::addAlive(std::string& out) {
    const std::int64_t now = steadyNs();
    if (now < nextAliveNs_) {
        return static_cast<int>((nextAliveNs_ - now) / kMs) + 1;
    }
    nextAliveNs_ = now + options_.aliveMs * kMs;
    if (out.size() < kSendBytes) {
        out += "{\"type\":\"alive\",\"trouble\":\"\"}\n";
    }
    reportEnded();
    return static_cast<int>(options_.aliveMs);
}

/// Reports the last ended step of a rank that has sent no line since, for example because the step
/// under way takes long: checkpoints wait for it.
void LineLink::reportEnded() {
    const std::int64_t ended = options_.ended ? options_.ended() : 0;
    bool isUntold = false;
    {
        const MutexLock lock(mutex_);
        isUntold = ended > toldEnded_;
    }
    if (isUntold) {
        send("{\"type\":\"receipt\",\"receipt\":{}}");
    }
}

bool LineLink::read(int socket, std::string& in) {
    char bytes[1 << 12];
    const ssize_t n = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    if (n == 0 || in.size() + static_cast<std::size_t>(n) > kLineBytesMax) {
        return false;
    }
    in.append(bytes, static_cast<std::size_t>(n));
    std::size_t from = 0;
    for (std::size_t end = in.find('\n'); end != std::string::npos; end = in.find('\n', from)) {
        if (!obey(in.substr(from, end - from))) {
            return false;
        }
        from = end + 1;
    }
    in.erase(0, from);
    return true;
}

bool LineLink::obey(const std::string& line) {
    stream::TinyJson command;
    if (!stream::TinyJson::parse(line, command)) {
        return false;
    }
    std::int64_t seq = 0, attempt = options_.attempt;
    if (command.readCount("ack", seq)) {
        command.readCount("attempt", attempt);
        acknowledge(attempt, static_cast<std::uint64_t>(seq));
    } else if (const stream::TinyJson* how = command.find("stop")) {
        stop(*how);
    } else if (command.find("checkpoint_now") != nullptr && options_.onCheckpoint) {
        options_.onCheckpoint();
    }
    return true;
}

void LineLink::stop(const stream::TinyJson& how) {
    std::int64_t behind = 0;
    if (how.find("hold") != nullptr && options_.onHold) {
        answers_ += "{\"type\":\"held\",\"step\":" + std::to_string(options_.onHold()) + "}\n";
    } else if (how.readCount("behind", behind) && options_.onStopBehind) {
        options_.onStopBehind(behind);
    } else if (options_.onStop) {
        options_.onStop();
    }
}

void LineLink::acknowledge(std::int64_t attempt, std::uint64_t seq) {
    const MutexLock lock(mutex_);
    if (attempt == options_.attempt) {
        acked_ = std::max(acked_, seq);
    }
    while (!lines_.empty() && lines_.front().attempt == attempt && lines_.front().seq <= seq) {
        bytes_ -= lines_.front().text.size();
        lines_.pop_front();
        unsent_ -= unsent_ > 0 ? 1 : 0;
    }
    if (lines_.empty()) {
        emptied_.notifyAll();
    }
}

}  // namespace millrace::ring
