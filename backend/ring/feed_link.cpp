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
#include <sys/un.h>
#include <unistd.h>

namespace millrace::ring {
namespace {

constexpr std::size_t kMaxAnswerBytes = 64 << 10;

/// A blocking socket connected to `path`, or -1 with errno. Long paths go through /proc/self/fd.
int connectTo(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string name = path;
    int directory = -1;
    if (const std::size_t slash = path.rfind('/');
        path.size() >= sizeof address.sun_path && slash != std::string::npos) {
        directory = ::open(path.substr(0, slash + 1).c_str(), O_PATH | O_CLOEXEC);
        name = "/proc/self/fd/" + std::to_string(directory) + path.substr(slash);
    }
    int fd = -1;
    if (name.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
    } else {
        std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
        fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 &&
            ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            const int error = errno;
            ::close(fd);
            errno = error;
            fd = -1;
        }
    }
    if (directory >= 0) {
        const int error = errno;
        ::close(directory);
        errno = error;
    }
    return fd;
}

bool isReadable(int fd, std::int64_t timeoutMs) {
    pollfd item{fd, POLLIN, 0};
    return fd >= 0 && ::poll(&item, 1, static_cast<int>(timeoutMs)) > 0;
}

bool sendAll(int fd, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return true;
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

std::unique_ptr<FeedLink> FeedLink::open(const Target& target, TinyJson& answer, std::string& error,
                                         bool& refused) {
    std::unique_ptr<FeedLink> link(new FeedLink());
    refused = false;
    constexpr std::int64_t kRetryMs = 10;
    while ((link->socket_ = connectTo(target.path)) < 0) {
        if (isReadable(target.abortFd, 0)) {
            error = "aborted";
            return nullptr;
        }
        const bool away = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
        if (!away || steadyNs() >= target.deadlineNs) {
            error = target.path + ": cannot connect to the feed: " + std::strerror(errno);
            return nullptr;
        }
        if (target.abortFd >= 0) {
            isReadable(target.abortFd, kRetryMs);
        } else {
            ::poll(nullptr, 0, kRetryMs);
        }
    }
    std::string line;
    int fd = -1;
    if (!sendAll(link->socket_, target.hello) || !link->readAnswer(line, fd, target.deadlineNs)) {
        error = target.path + ": the feed did not answer the hello";
    } else if (!TinyJson::parse(line, answer)) {
        error = target.path + ": the feed's answer is not JSON";
    } else if (answer.readText("error", error)) {
        refused = true;
    } else if (fd < 0) {
        error = target.path + ": the feed passed no ring";
    } else {
        const char* wrong = nullptr;
        link->ring_ = ReaderRing::map(std::exchange(fd, -1), wrong);
        error = wrong == nullptr ? "" : wrong;
    }
    if (fd >= 0) {
        ::close(fd);
    }
    if (link->ring_ == nullptr) {
        return nullptr;
    }
    link->abortFd_ = target.abortFd;
    link->stopEvent_ = ::eventfd(0, EFD_CLOEXEC);
    link->thread_ = std::thread([raw = link.get()] { raw->watch(); });
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

bool FeedLink::readAnswer(std::string& line, int& fd, std::int64_t deadlineNs) {
    while (line.size() < kMaxAnswerBytes) {
        const std::int64_t leftMs = (deadlineNs - steadyNs()) / 1'000'000 + 1;
        if (leftMs <= 0 || !isReadable(socket_, leftMs)) {
            return false;
        }
        char c = 0;  // byte by byte: what follows the line belongs to watch()
        if (receive(socket_, &c, 1, fd) <= 0) {
            return false;
        }
        if (c == '\n') {
            return true;
        }
        line += c;
    }
    return false;
}

const char* FeedLink::nextRing() {
    int fd = -1;
    {
        std::unique_lock lock(mutex_);
        came_.wait(lock, [this] { return !fds_.empty() || isLost() || isAborted(); });
        if (fds_.empty()) {
            return "the feed ended before it passed the next ring";
        }
        fd = fds_.front();
        fds_.pop_front();
    }
    const char* wrong = nullptr;
    std::shared_ptr<ReaderRing> next = ReaderRing::map(fd, wrong);
    if (next == nullptr) {
        return wrong;
    }
    const std::lock_guard lock(mutex_);
    ring_ = std::move(next);
    return nullptr;
}

void FeedLink::abort() {
    aborted_.store(true, std::memory_order_seq_cst);
    wake();
}

void FeedLink::wake() {
    const std::lock_guard lock(mutex_);
    ring_->wake();
    came_.notify_all();
}

void FeedLink::watch() {
    ::pthread_setname_np(::pthread_self(), "feed-watch");
    pollfd items[3] = {{stopEvent_, POLLIN, 0}, {socket_, POLLIN, 0}, {abortFd_, POLLIN, 0}};
    while (items[1].fd >= 0 || items[2].fd >= 0) {
        if (::poll(items, 3, -1) < 0 && errno != EINTR) {
            break;
        }
        if (items[0].revents != 0) {
            return;
        }
        if (items[2].revents != 0) {
            items[2].fd = -1;
            abort();
        }
        if (items[1].revents != 0) {
            hear();
            items[1].fd = isLost() ? -1 : socket_;
        }
    }
}

/// The lines only announce what the descriptor brings, so they are not read.
void FeedLink::hear() {
    char bytes[256];
    int fd = -1;
    const ssize_t n = receive(socket_, bytes, sizeof bytes, fd);
    {
        const std::lock_guard lock(mutex_);
        if (fd >= 0) {
            fds_.push_back(fd);
        }
        if (n <= 0) {
            lost_.store(true, std::memory_order_seq_cst);
        }
    }
    wake();
}

}  // namespace millrace::ring
