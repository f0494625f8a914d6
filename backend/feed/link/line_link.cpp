#include "backend/feed/link/line_link.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <random>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/feed/c_wall.h"
#include "backend/feed/own_socket.h"
#include "backend/feed/ring_layout.h"

namespace millrace::ring {
namespace {

constexpr std::size_t kSendBytes = std::size_t{256} << 10;
constexpr std::int64_t kMs = 1'000'000;

// The daemon finds seq and attempt at these places even in a line that is not JSON
// (rank::droppedLine), so they come first, in this order.
constexpr std::string_view kSeq = "{\"seq\":", kAttempt = ",\"attempt\":";

bool takeCount(std::string_view& text, std::string_view before, std::uint64_t& count) {
    if (!text.starts_with(before)) {
        return false;
    }
    text.remove_prefix(before.size());
    const auto end = std::from_chars(text.data(), text.data() + text.size(), count);
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    return end.ec == std::errc();
}

}  // namespace

LineLink::LineLink(LineLinkOptions options)
    : options_(std::move(options)),
      lines_(options_.spillPath, options_.memoryBytes, options_.spillBytes),
      nextSeq_(options_.firstSeq) {}

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

bool LineLink::preload(std::string line, std::string& why) {
    std::string_view rest = line;
    std::uint64_t seq = 0, attempt = 0;
    if (!takeCount(rest, kSeq, seq) || seq == 0 || !takeCount(rest, kAttempt, attempt)) {
        why = "a line that was not acknowledged does not say its seq and attempt: " +
              line.substr(0, 80);
        return false;
    }
    const MutexLock lock(mutex_);
    if (static_cast<std::int64_t>(attempt) == options_.attempt) {
        // Numbers of this attempt continue behind its lines that are sent again.
        nextSeq_ = std::max(nextSeq_, seq + 1);
    }
    return lines_.push({static_cast<std::int64_t>(attempt), seq, std::move(line)}, why);
}

std::uint64_t LineLink::send(const std::string& object, std::string& why) {
    std::uint64_t seq = 0;
    // Outside the lock: it is the caller's code.
    const std::int64_t ended = options_.ended ? options_.ended() : 0;
    {
        const MutexLock lock(mutex_);
        std::string text(kSeq);
        text += std::to_string(nextSeq_);
        text += kAttempt;
        text += std::to_string(options_.attempt);
        text += (ended > 0 ? ",\"ended\":" + std::to_string(ended) : "") + "," + object.substr(1);
        if (!lines_.push({options_.attempt, nextSeq_, std::move(text)}, why)) {
            return 0;
        }
        seq = nextSeq_++;
        toldEnded_ = std::max(toldEnded_, ended);
    }
    wake();
    return seq;
}

bool LineLink::waitEmpty(std::int64_t timeoutMs) {
    const std::int64_t endNs = steadyNs() + timeoutMs * kMs;
    const MutexLock lock(mutex_);
    while (!lines_.isEmpty()) {
        const std::int64_t leftNs = endNs - steadyNs();
        if (leftNs <= 0) {
            return false;
        }
        emptied_.waitFor(mutex_, std::chrono::milliseconds(leftNs / kMs + 1));
    }
    return true;
}

std::size_t LineLink::size() {
    const MutexLock lock(mutex_);
    return lines_.size();
}

bool LineLink::unacked(std::vector<std::string>& lines, std::string& why) {
    const MutexLock lock(mutex_);
    return lines_.all(lines, why);
}

std::uint64_t LineLink::acked() {
    const MutexLock lock(mutex_);
    return acked_;
}

void LineLink::setTrouble(const std::string& what, std::string sentence) {
    {
        const MutexLock lock(mutex_);
        if (sentence.empty() ? troubles_.erase(what) == 0
                             : std::exchange(troubles_[what], sentence) == sentence) {
            return;
        }
        isAliveDue_ = true;
    }
    wake();
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
    // Random pauses: after a restart of the daemon all ranks connect, but not at the same moment.
    std::minstd_rand draw(static_cast<std::uint32_t>(::getpid() + steadyNs()));
    std::int64_t backoffMs = options_.backoffFirstMs;
    while (!isEnding()) {
        const int socket = connectToOwn(options_.socketPath);
        if (socket >= 0) {
            isConnected_ = true;
            // A connection counts only if the daemon sent something: a daemon that accepts and
            // hangs up is not asked ever faster.
            backoffMs = talk(socket) ? options_.backoffFirstMs : backoffMs;
            isConnected_ = false;
            ::close(socket);
        }
        rest(std::uniform_int_distribution((backoffMs + 1) / 2, backoffMs)(draw));
        backoffMs = std::min(2 * backoffMs, options_.backoffMostMs);
    }
}

void LineLink::rest(std::int64_t ms) {
    const std::int64_t endNs = steadyNs() + ms * kMs;
    for (std::int64_t left = ms; left > 0 && !isEnding(); left = (endNs - steadyNs()) / kMs) {
        pollfd item{wake_, POLLIN, 0};
        ::poll(&item, 1, static_cast<int>(left));
        std::uint64_t count = 0;
        static_cast<void>(!::read(wake_, &count, sizeof count));
    }
}

bool LineLink::talk(int socket) {
    std::string out = stream::TinyJsonText()
                          .text("type", "hello")
                          .count("version", 1)
                          .text("role", options_.role)
                          .text("run", options_.run)
                          .count("attempt", options_.attempt)
                          .count("rank", options_.rank)
                          .count("pid", options_.pid > 0 ? options_.pid : ::getpid())
                          .count("alive_ms", options_.aliveMs)
                          .object() +
                      "\n";
    std::string in;
    bool hasHeard = false;
    answers_.clear();
    {
        const MutexLock lock(mutex_);
        // A new connection sends all lines again that are not acknowledged; the store ignores those
        // that it has.
        lines_.rewind();
        isAliveDue_ = true;
    }
    while (!isEnding()) {
        out += std::exchange(answers_, {});
        fill(out);
        const int untilAlive = addAlive(out);
        const short events = static_cast<short>(POLLIN | (out.empty() ? 0 : POLLOUT));
        pollfd items[2] = {{socket, events, 0}, {wake_, POLLIN, 0}};
        if (::poll(items, 2, untilAlive) < 0 && errno != EINTR) {
            break;
        }
        if (items[1].revents != 0) {
            std::uint64_t count = 0;
            static_cast<void>(!::read(wake_, &count, sizeof count));
        }
        if ((items[0].revents & POLLOUT) != 0) {
            const ssize_t n = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno != EAGAIN && errno != EINTR) {
                break;
            }
            out.erase(0, n > 0 ? static_cast<std::size_t>(n) : 0);
        }
        if ((items[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            if (!read(socket, in, hasHeard)) {
                break;
            }
        }
    }
    return hasHeard;
}

void LineLink::fill(std::string& out) {
    const MutexLock lock(mutex_);
    for (const LineSpool::Line* line = lines_.nextUnsent();
         line != nullptr && out.size() < kSendBytes; line = lines_.nextUnsent()) {
        out += line->text;
        out += '\n';
        lines_.markSent();
    }
}

/// Adds a sign of life if one is due; returns the milliseconds until the next one. Adds none if the
/// daemon does not read, as more of them would carry nothing new.
int LineLink::addAlive(std::string& out) {
    const std::int64_t now = steadyNs();
    std::string trouble;
    {
        const MutexLock lock(mutex_);
        if (!std::exchange(isAliveDue_, false) && now < nextAliveNs_) {
            return static_cast<int>((nextAliveNs_ - now) / kMs) + 1;
        }
        for (const auto& [what, sentence] : troubles_) {
            trouble += (trouble.empty() ? "" : "; ") + sentence;
        }
    }
    nextAliveNs_ = now + options_.aliveMs * kMs;
    if (out.size() < kSendBytes) {
        const std::int64_t awaited = awaited_.load();
        out += "{\"type\":\"alive\",\"trouble\":" + stream::quoteJson(trouble) +
               (awaited >= 0 ? ",\"awaits\":" + std::to_string(awaited) : "") + "}\n";
    }
    reportEnded();
    return static_cast<int>(options_.aliveMs);
}

/// Reports the last ended step of a rank that has sent no line since, for example because the
/// current step takes long: checkpoints wait for it.
void LineLink::reportEnded() {
    const std::int64_t ended = options_.ended ? options_.ended() : 0;
    bool isUntold = false;
    {
        const MutexLock lock(mutex_);
        isUntold = ended > toldEnded_;
    }
    if (isUntold) {
        std::string why;  // if the line cannot be kept, the next one reports the step
        send("{\"type\":\"receipt\",\"receipt\":{}}", why);
    }
}

bool LineLink::read(int socket, std::string& in, bool& hasHeard) {
    char bytes[1 << 12];
    const ssize_t n = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    hasHeard = hasHeard || n > 0;
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
    }
    return true;
}

void LineLink::stop(const stream::TinyJson& how) {
    std::int64_t behind = 0;
    if (how.find("hold") != nullptr && options_.onHold) {
        // Not a line of the spool: it answers this connection, and is not sent again on another.
        answers_ += "{\"type\":\"held\",\"step\":" + std::to_string(options_.onHold()) + "}\n";
    } else if (how.readCount("behind", behind) && options_.onStopBehind) {
        options_.onStopBehind(behind);
    } else if (options_.onStop) {
        options_.onStop();
    }
}

void LineLink::acknowledge(std::int64_t attempt, std::uint64_t seq) {
    std::string why;
    {
        const MutexLock lock(mutex_);
        if (attempt == options_.attempt) {
            acked_ = std::max(acked_, seq);
        }
        lines_.acknowledge(attempt, seq, why);
        if (lines_.isEmpty()) {
            emptied_.notifyAll();
        }
    }
    if (!why.empty()) {
        setTrouble("lines", why);
    }
}

}  // namespace millrace::ring
