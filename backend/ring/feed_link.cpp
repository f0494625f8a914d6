#include "backend/ring/feed_link.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/ring/c_wall.h"
#include "backend/ring/own_socket.h"

namespace millrace::ring {
namespace {

constexpr std::size_t kMaxAnswerBytes = 4 << 20;
constexpr std::int64_t kLongestSleepNs = 3'600'000'000'000;

bool isAskedToAbort(const FeedLink::Target& target) {
    pollfd items[2] = {{target.abortFd, POLLIN, 0}, {target.abortEvent, POLLIN, 0}};
    return ::poll(items, 2, 0) > 0;
}

/// Until `fd` is ready for `events`: false when the deadline has come or an abort fd is readable.
bool waitFor(int fd, short events, const FeedLink::Target& target) {
    for (;;) {
        const std::int64_t leftMs = (target.deadlineNs - steadyNs()) / 1'000'000 + 1;
        if (leftMs <= 0) {
            return false;
        }
        constexpr std::int64_t kLongestMs = 3'600'000;
        pollfd items[3] = {
            {fd, events, 0}, {target.abortFd, POLLIN, 0}, {target.abortEvent, POLLIN, 0}};
        const int ready =
            ::poll(items, 3, static_cast<int>(leftMs < kLongestMs ? leftMs : kLongestMs));
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready > 0 && (items[1].revents != 0 || items[2].revents != 0)) {
            return false;
        }
        if (ready > 0 && items[0].revents != 0) {
            return true;
        }
    }
}

/// Bytes and at most one descriptor; 0 at the end of the stream, -1 on errors.
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

std::unique_ptr<FeedLink> FeedLink::open(const Target& target, stream::TinyJson& answer,
                                         std::string& error, Failure& failure) {
    std::unique_ptr<FeedLink> link(new FeedLink());
    failure = Failure::kLost;
    constexpr int kRetryMs = 10;
    while (link->socket_ < 0) {
        if (isAskedToAbort(target)) {
            failure = Failure::kAborted;
            error = "aborted";
            return nullptr;
        }
        link->socket_ = connectToOwn(target.path);
        const int why = errno;
        if (link->socket_ >= 0) {
            break;
        }
        const bool away = why == ENOENT || why == ECONNREFUSED || why == EAGAIN;
        if (!away || steadyNs() >= target.deadlineNs) {
            error = target.path + ": cannot connect to the feed: " +
                    (why == EPERM ? "it is another user's" : std::strerror(why));
            return nullptr;
        }
        pollfd aborted[2] = {{target.abortFd, POLLIN, 0}, {target.abortEvent, POLLIN, 0}};
        ::poll(aborted, 2, kRetryMs);
    }
    std::string line;
    int fd = -1;
    if (!link->sendHello(target) || !link->readAnswer(line, fd, target)) {
        const bool wasAborted = isAskedToAbort(target);
        failure = wasAborted ? Failure::kAborted : Failure::kLost;
        error = wasAborted ? "aborted" : target.path + ": the feed did not answer the hello";
    } else if (!stream::TinyJson::parse(line, answer)) {
        error = target.path + ": the feed's answer is not JSON";
    } else if (answer.readText("error", error)) {
        failure = Failure::kRefused;
    } else if (fd < 0) {
        error = target.path + ": the feed passed no ring";
    } else {
        link->ring_ = ReaderRing::map(std::exchange(fd, -1), target.rings, error);
    }
    if (fd >= 0) {
        ::close(fd);
    }
    if (link->ring_ == nullptr) {
        return nullptr;
    }
    link->abortFd_ = target.abortFd;
    link->abortEvent_ = target.abortEvent;
    link->rings_ = target.rings;
    link->stopEvent_ = ::eventfd(0, EFD_CLOEXEC);
    link->thread_ = startWithoutSignals([of = link.get()] { of->watch(); });
    return link;
}

FeedLink::~FeedLink() {
    if (thread_.joinable()) {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(stopEvent_, &one, sizeof one));
        thread_.join();
    }
    for (const int fd : {socket_, stopEvent_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
    for (const int fd : fds_) {
        ::close(fd);
    }
}

bool FeedLink::sendHello(const Target& target) const {
    for (std::size_t at = 0; at < target.hello.size();) {
        const ssize_t n = ::send(socket_, target.hello.data() + at, target.hello.size() - at,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN && !waitFor(socket_, POLLOUT, target)) {
            return false;
        }
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        at += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return true;
}

bool FeedLink::readAnswer(std::string& line, int& fd, const Target& target) {
    char bytes[4096];
    while (line.size() < kMaxAnswerBytes) {
        // A look first: what follows the line belongs to watch().
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
            if (!waitFor(socket_, POLLIN, target)) {
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
    std::shared_ptr<ReaderRing> next = ReaderRing::map(fd, rings_, wrong);
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

void FeedLink::abort() {
    aborted_.store(true, std::memory_order_seq_cst);
    wake();
}

void FeedLink::wake() {
    const MutexLock lock(mutex_);
    ring_->wake();
    came_.notifyAll();
}

void FeedLink::watch() {
    ::pthread_setname_np(::pthread_self(), "feed-watch");
    pollfd items[4] = {{stopEvent_, POLLIN, 0},
                       {socket_, POLLIN, 0},
                       {abortFd_, POLLIN, 0},
                       {abortEvent_, POLLIN, 0}};
    while (!isLost() || !isAborted()) {
        if (::poll(items, 4, -1) < 0 && errno != EINTR) {
            break;
        }
        if (items[0].revents != 0) {
            return;
        }
        if (items[2].revents != 0 || items[3].revents != 0) {
            items[2].fd = items[3].fd = -1;
            abort();
        }
        if (items[1].revents != 0) {
            receiveRing();
            items[1].fd = isLost() ? -1 : socket_;
        }
    }
}

/// The lines only announce what the descriptor brings, so they are not read.
void FeedLink::receiveRing() {
    char bytes[256];
    int fd = -1;
    const ssize_t n = receive(socket_, bytes, sizeof bytes, fd);
    {
        const MutexLock lock(mutex_);
        if (fd >= 0) {
            fds_.push_back(fd);
        }
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            lost_.store(true, std::memory_order_seq_cst);
        }
    }
    wake();
}

}  // namespace millrace::ring
