#include "backend/feed/feed_link.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/feed/c_wall.h"
#include "backend/feed/own_socket.h"

namespace millrace::ring {
namespace {

constexpr std::size_t kMaxAnswerBytes = 4 << 20;
constexpr std::int64_t kLongestSleepNs = 3'600'000'000'000;
constexpr std::size_t kLastLineBytes = 64;  // tail kept of the feed's lines; holds the last one
constexpr std::int64_t kNsPerMs = 1'000'000;
// Timeout of a reconnect: waiting for the socket to appear and for the answer to the hello.
constexpr std::int64_t kAgainNs = 10'000 * kNsPerMs;
constexpr std::int64_t kRestFirstMs = 20, kRestMostMs = 1'000;

/// Receives bytes and at most one descriptor; 0 at the end of the stream, -1 on errors.
ssize_t receive(int fd, char* bytes, std::size_t size, int& passed) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
    iovec part{bytes, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = 0;
    do {
        n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); n > 0 && h != nullptr;
         h = CMSG_NXTHDR(&message, h)) {
        const bool rights = h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS;
        const std::size_t count = rights ? (h->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
        for (std::size_t i = 0; i < count; ++i) {
            int one = -1;
            std::memcpy(&one, CMSG_DATA(h) + i * sizeof(int), sizeof one);
            if (passed >= 0) {
                ::close(one);
            } else {
                passed = one;
            }
        }
    }
    return n;
}

}  // namespace

/// The link's ring is in fds_; its thread is not started yet.
FeedLink::Opened FeedLink::connect(Target target, int stopEvent) {
    Opened opened;
    std::unique_ptr<FeedLink> link(new FeedLink(std::move(target)));
    const std::string& path = link->target_.path;
    if (!link->reachSocket(stopEvent, opened)) {
        return opened;
    }
    if (link->target_.hello.empty()) {
        link->target_.hello = link->target_.again();
        if (link->target_.hello.empty()) {
            opened.failure = Failure::kAborted;
            return opened;
        }
    }
    std::string line;
    int fd = -1;
    if (!link->sendHello(stopEvent) || !link->readAnswer(line, fd, stopEvent)) {
        const bool wasAborted = link->isAskedToEnd(stopEvent);
        opened.failure = wasAborted ? Failure::kAborted : Failure::kLost;
        opened.error = wasAborted ? "aborted" : path + ": the feed did not answer the hello";
    } else if (!stream::TinyJson::parse(line, opened.answer)) {
        opened.error = path + ": the feed's answer is not JSON";
    } else if (opened.answer.readText("error", opened.error)) {
        opened.failure = Failure::kRefused;
    } else if (fd < 0) {
        opened.error = path + ": the feed passed no ring";
    } else {
        link->fds_.push_back(std::exchange(fd, -1));
        opened.link = std::move(link);
    }
    if (fd >= 0) {
        ::close(fd);
    }
    return opened;
}

/// Waits for the socket to appear.
bool FeedLink::reachSocket(int stopEvent, Opened& opened) {
    constexpr int kRetryFirstMs = 10, kRetryMostMs = 100;
    for (int retryMs = kRetryFirstMs;; retryMs = std::min(2 * retryMs, kRetryMostMs)) {
        if (isAskedToEnd(stopEvent)) {
            opened.failure = Failure::kAborted;
            opened.error = "aborted";
            return false;
        }
        socket_ = connectToOwn(target_.path);
        if (socket_ >= 0) {
            return true;
        }
        const int why = errno;
        const bool away = why == ENOENT || why == ECONNREFUSED || why == EAGAIN;
        if (!away || steadyNs() >= target_.deadlineNs) {
            opened.error = target_.path + ": cannot connect to the feed: " +
                           (why == EPERM ? "it is another user's" : std::strerror(why));
            return false;
        }
        rest(retryMs, stopEvent);
    }
}

std::string FeedLink::begin() {
    std::string wrong = nextRing();
    if (wrong.empty()) {
        stopEvent_ = ::eventfd(0, EFD_CLOEXEC);
        wrong = stopEvent_ < 0 ? target_.path + ": out of descriptors" : "";
    }
    if (wrong.empty()) {
        thread_ = startWithoutSignals(
            [this] { walled([this] { return watch(); }, [this] { return giveUp(); }); });
    }
    return wrong;
}

void FeedLink::stopThread() {
    if (thread_.joinable()) {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(stopEvent_, &one, sizeof one));
        thread_.join();
    }
}

/// Sleeps. Returns false if an abort fd, or the stop event, becomes readable before the time is up.
bool FeedLink::rest(std::int64_t ms, int stopEvent) const {
    pollfd items[3] = {
        {target_.abortFd, POLLIN, 0}, {target_.abortEvent, POLLIN, 0}, {stopEvent, POLLIN, 0}};
    return ::poll(items, 3, static_cast<int>(ms)) <= 0;
}

/// Waits until the socket is ready for `events`. Returns false at the deadline, on an abort or
/// stop.
bool FeedLink::waitFor(short events, int stopEvent) const {
    for (;;) {
        const std::int64_t leftMs = (target_.deadlineNs - steadyNs()) / kNsPerMs + 1;
        if (leftMs <= 0) {
            return false;
        }
        constexpr std::int64_t kLongestMs = 3'600'000;
        pollfd items[4] = {{socket_, events, 0},
                           {target_.abortFd, POLLIN, 0},
                           {target_.abortEvent, POLLIN, 0},
                           {stopEvent, POLLIN, 0}};
        const int ready = ::poll(items, 4, static_cast<int>(std::min(leftMs, kLongestMs)));
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready > 0 && (items[1].revents | items[2].revents | items[3].revents) != 0) {
            return false;
        }
        if (ready > 0 && items[0].revents != 0) {
            return true;
        }
    }
}

FeedLink::~FeedLink() {
    stopThread();
    for (const int fd : {socket_, stopEvent_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
    for (const int fd : fds_) {
        ::close(fd);
    }
}

bool FeedLink::sendHello(int stopEvent) const {
    const std::string& hello = target_.hello;
    for (std::size_t at = 0; at < hello.size();) {
        const ssize_t n =
            ::send(socket_, hello.data() + at, hello.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN && !waitFor(POLLOUT, stopEvent)) {
            return false;
        }
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        at += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return true;
}

bool FeedLink::readAnswer(std::string& line, int& fd, int stopEvent) const {
    char bytes[4096];
    while (line.size() < kMaxAnswerBytes) {
        // Peeks first: bytes behind the line belong to watch().
        ssize_t n = ::recv(socket_, bytes, sizeof bytes, MSG_PEEK);
        if (n > 0) {
            const void* end = std::memchr(bytes, '\n', static_cast<std::size_t>(n));
            const std::size_t wanted =
                end == nullptr
                    ? static_cast<std::size_t>(n)
                    : static_cast<std::size_t>(static_cast<const char*>(end) - bytes) + 1;
            n = receive(socket_, bytes, wanted, fd);
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            if (!waitFor(POLLIN, stopEvent)) {
                return false;
            }
            continue;
        }
        if (n <= 0) {
            return false;
        }
        line.append(bytes, static_cast<std::size_t>(n));
        if (line.back() == '\n') {
            line.pop_back();
            return true;
        }
    }
    return false;
}

std::string FeedLink::nextRing() {
    int fd = -1;
    {
        MutexLock lock(mutex_);
        while (fds_.empty() && !isLost() && !isAborted()) {
            came_.wait(mutex_);
        }
        if (fds_.empty()) {
            return "the feed ended before it passed the next ring";
        }
        fd = fds_.front();
        fds_.pop_front();
    }
    std::string wrong;
    std::shared_ptr<ReaderRing> next = ReaderRing::map(fd, target_.rings, wrong);
    if (next == nullptr) {
        return wrong;
    }
    const MutexLock lock(mutex_);
    ring_.swap(next);
    return "";
}

FeedLink::Wait FeedLink::waitForEntry(std::int64_t endNs) {
    ReaderRing& from = *ring_;
    for (;;) {
        const std::uint32_t seen = from.beginWait();
        const bool lost = isLost();
        const std::int64_t left = endNs - steadyNs();
        const bool hasNext = from.hasNext();
        const bool isOver = isAborted() || hasNext || lost || left <= 0;
        if (!isOver) {
            from.sleep(seen, left < kLongestSleepNs ? left : kLongestSleepNs);
        }
        from.endWait();
        if (isOver) {
            return isAborted() ? Wait::kAborted
                   : hasNext   ? Wait::kEntry
                   : lost      ? Wait::kLost
                               : Wait::kTimeout;
        }
    }
}

bool FeedLink::comesAgain() {
    const MutexLock lock(mutex_);
    return comesAgain_;
}

FeedLink::Opened FeedLink::takeNext(std::int64_t endNs) {
    Opened none;
    none.error = target_.path + ": the feed is gone";
    {
        const MutexLock lock(mutex_);
        const auto isKnown = [this] { return next_.link != nullptr || !next_.error.empty(); };
        while (!isKnown() && comesAgain_ && !isAborted() && steadyNs() < endNs) {
            came_.waitFor(mutex_, std::chrono::milliseconds((endNs - steadyNs()) / kNsPerMs + 1));
        }
        if (isAborted()) {
            return {nullptr, {}, "aborted", Failure::kAborted};
        }
        if (!isKnown()) {
            return none;
        }
        isTaken_ = true;
        comesAgain_ = false;
    }
    stopThread();  // before it sees next_ lost too: next_'s own thread handles that
    return std::move(next_);
}

void FeedLink::abort() {
    aborted_.store(true, std::memory_order_seq_cst);
    wake();
}

void FeedLink::wake() {
    const MutexLock lock(mutex_);
    if (ring_ != nullptr) {
        ring_->wake();
    }
    came_.notifyAll();
}

/// Stops reconnecting: the reader reconnects by itself.
void FeedLink::giveUp() {
    {
        const MutexLock lock(mutex_);
        comesAgain_ = false;
    }
    wake();
}

void FeedLink::watch() {
    ::pthread_setname_np(::pthread_self(), "feed-watch");
    if (listenTo(this) == Heard::kLost) {
        if (comesAgain()) {
            comeAgain();
        }
        listenTo(nullptr);
    }
}

/// Polls until the stop, or until `link` is lost; null: until the stop.
FeedLink::Heard FeedLink::listenTo(FeedLink* link) {
    pollfd items[4] = {{stopEvent_, POLLIN, 0},
                       {link == nullptr ? -1 : link->socket_, POLLIN, 0},
                       {target_.abortFd, POLLIN, 0},
                       {target_.abortEvent, POLLIN, 0}};
    for (;;) {
        if (::poll(items, 4, -1) < 0) {
            if (errno != EINTR) {
                return Heard::kEnd;
            }
            continue;
        }
        if (items[0].revents != 0) {
            return Heard::kEnd;
        }
        if (items[2].revents != 0 || items[3].revents != 0) {
            abort();
            return Heard::kEnd;
        }
        if (items[1].revents != 0) {
            link->receiveRing();
            if (link->isLost()) {
                return Heard::kLost;
            }
        }
    }
}

/// Connects until the reader takes the connection. A connection lost before is made again.
void FeedLink::comeAgain() {
    std::int64_t restMs = 0;
    while (rest(restMs, stopEvent_)) {
        restMs = std::clamp(2 * restMs, kRestFirstMs, kRestMostMs);
        Target target = target_;
        target.hello.clear();
        target.deadlineNs = steadyNs() + kAgainNs;
        Opened opened = connect(std::move(target), stopEvent_);
        FeedLink* const link = opened.link.get();
        if (link == nullptr && opened.failure == Failure::kLost) {
            continue;
        }
        if (link == nullptr && opened.failure == Failure::kAborted) {
            return;
        }
        {
            const MutexLock lock(mutex_);
            next_ = std::move(opened);
        }
        wake();
        if (link == nullptr || listenTo(link) == Heard::kEnd) {
            return;
        }
        const MutexLock lock(mutex_);
        if (isTaken_) {
            return;
        }
        next_ = {};
    }
}

/// A line announces a descriptor; the only other line is the feed's goodbye.
void FeedLink::receiveRing() {
    char bytes[256];
    int fd = -1;
    const ssize_t n = receive(socket_, bytes, sizeof bytes, fd);
    {
        const MutexLock lock(mutex_);
        if (fd >= 0) {
            fds_.push_back(fd);
        }
        if (n > 0) {
            said_.append(bytes, static_cast<std::size_t>(n));
            said_.erase(0, said_.size() - std::min(said_.size(), kLastLineBytes));
        }
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            // A ring that holds the rest of the stream needs no reconnect, unless the feed asks for
            // one.
            const bool needsNone =
                ring_ != nullptr && ring_->holdsEnd() && !said_.ends_with(kAgainLine);
            comesAgain_ = comesAgain_ && !needsNone && !said_.ends_with(kReplacedLine);
            lost_.store(true, std::memory_order_seq_cst);
        }
    }
    wake();
}

}  // namespace millrace::ring
