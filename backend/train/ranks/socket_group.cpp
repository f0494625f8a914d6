// Ranks of one machine meet at rank 0's unix socket. It is a star: rank 0 receives from the others
// in rank order and sends to all.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/system/unix_socket.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kMeetingLimit{60};
constexpr std::chrono::seconds kHelloLimit{5};
constexpr int kLookMs = 20;
// A rank that is silent for this long is not waiting for data: the daemon would have ended the run
// before.
constexpr std::chrono::minutes kSilenceLimit{30};
constexpr std::uint64_t kMessageMost = std::uint64_t{1} << 40;

/// True if `fd` became readable, false after a timeout; kCancelled if `abortFd` became readable.
Result<bool> waitReadable(int fd, int abortFd, int milliseconds) {
    std::array<pollfd, 2> watched{{{fd, POLLIN, 0}, {abortFd, POLLIN, 0}}};
    const int found = ::poll(watched.data(), watched.size(), milliseconds);
    if (found < 0 && errno != EINTR) {
        return internalError("ranks: poll: ", std::strerror(errno));
    }
    if (found > 0 && watched[1].revents != 0) {
        return cancelled("stopped while the ranks met");
    }
    return found > 0 && watched[0].revents != 0;
}

/// Sets the time limit of each call on the socket.
void setLimit(int fd, std::chrono::seconds seconds) {
    const timeval limit{seconds.count(), 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

class Peer {
 public:
    Peer(UniqueFd fd, int rank) : fd_(std::move(fd)), rank_(rank) {
        setLimit(fd_.get(), kSilenceLimit);
    }

    Status send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0 && !(n < 0 && errno == EINTR)) {
                return gone();
            }
            bytes.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
        }
        return okStatus();
    }
    Status receive(std::span<char> to) const {
        while (!to.empty()) {
            const ssize_t n = ::recv(fd_.get(), to.data(), to.size(), 0);
            if (n <= 0 && !(n < 0 && errno == EINTR)) {
                return gone();
            }
            to = to.subspan(n > 0 ? static_cast<std::size_t>(n) : 0);
        }
        return okStatus();
    }
    Status sendText(std::string_view text) const {
        const std::uint64_t size = text.size();
        RETURN_IF_ERROR(send({reinterpret_cast<const char*>(&size), sizeof size}));
        return send(text);
    }
    Result<std::string> receiveText() const {
        std::uint64_t size = 0;
        RETURN_IF_ERROR(receive({reinterpret_cast<char*>(&size), sizeof size}));
        if (size > kMessageMost) {
            return internalError("ranks: rank ", rank_, " announces ", size, " bytes");
        }
        std::string out(size, '\0');
        RETURN_IF_ERROR(receive(out));
        return out;
    }

 private:
    Status gone() const { return unavailable("ranks: rank ", rank_, " is gone"); }
    UniqueFd fd_;
    int rank_;
};

class SocketGroup final : public Group {
 public:
    SocketGroup(int rank, int size, std::vector<Peer> peers)
        : rank_(rank), size_(size), peers_(std::move(peers)) {}
    int rank() const override { return rank_; }
    int size() const override { return size_; }

    Result<std::vector<std::string>> gather(std::string_view mine) override {
        std::vector<std::string> out;
        if (rank_ > 0) {
            RETURN_IF_ERROR(peers_[0].sendText(mine));
            for (int r = 0; r < size_; ++r) {
                ASSIGN_OR_RETURN(out.emplace_back(), peers_[0].receiveText());
            }
            return out;
        }
        ASSIGN_OR_RETURN(out, collect(mine));
        for (const Peer& peer : peers_) {
            for (const std::string& one : out) {
                RETURN_IF_ERROR(peer.sendText(one));
            }
        }
        return out;
    }
    Result<std::vector<std::string>> collect(std::string_view mine) override {
        std::vector<std::string> out;
        if (rank_ > 0) {
            RETURN_IF_ERROR(peers_[0].sendText(mine));
            return out;
        }
        out.emplace_back(mine);
        for (const Peer& peer : peers_) {
            ASSIGN_OR_RETURN(out.emplace_back(), peer.receiveText());
        }
        return out;
    }
    Result<std::string> ofFirst(std::string_view mine) override {
        if (rank_ > 0) {
            return peers_[0].receiveText();
        }
        for (const Peer& peer : peers_) {
            RETURN_IF_ERROR(peer.sendText(mine));
        }
        return std::string(mine);
    }
    Status sum(std::span<float> values) override { return added(values); }
    Status sum(std::span<double> values) override { return added(values); }

 private:
    template <class T>
    Status added(std::span<T> values) {
        const std::string_view bytes = bytesOfValues(std::span<const T>(values));
        const std::span<char> place(reinterpret_cast<char*>(values.data()), values.size_bytes());
        if (rank_ > 0) {
            RETURN_IF_ERROR(peers_[0].send(bytes));
            return peers_[0].receive(place);
        }
        std::vector<T> other(values.size());
        for (const Peer& peer : peers_) {
            RETURN_IF_ERROR(
                peer.receive({reinterpret_cast<char*>(other.data()), values.size_bytes()}));
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] += other[i];
            }
        }
        for (const Peer& peer : peers_) {
            RETURN_IF_ERROR(peer.send(bytes));
        }
        return okStatus();
    }
    const int rank_, size_;
    std::vector<Peer> peers_;  ///< rank 0: the others in rank order; other ranks: rank 0
};

Result<std::vector<Peer>> receiveAll(const SocketGroupOptions& options, Steady::time_point end) {
    ASSIGN_OR_RETURN(const UniqueFd listener, listenUnix(options.path, options.size));
    std::vector<UniqueFd> found(static_cast<std::size_t>(options.size));
    for (int missing = options.size - 1; missing > 0;) {
        if (Steady::now() > end) {
            return deadlineExceeded("ranks: ", missing, " of ", options.size,
                                    " did not come within ", kMeetingLimit.count(), " s");
        }
        ASSIGN_OR_RETURN(const bool isThere,
                         waitReadable(listener.get(), options.abortFd, kLookMs));
        if (!isThere) {
            continue;
        }
        UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        setLimit(fd.get(), kHelloLimit);
        std::int32_t rank = -1;
        if (fd.get() < 0 || !checkPeer(fd.get(), options.path).ok() ||
            ::recv(fd.get(), &rank, sizeof rank, MSG_WAITALL) != sizeof rank || rank < 1 ||
            rank >= options.size || found[static_cast<std::size_t>(rank)].get() >= 0) {
            continue;
        }
        found[static_cast<std::size_t>(rank)] = std::move(fd);
        --missing;
    }
    ::unlink(options.path.c_str());  // no further rank may connect
    std::vector<Peer> out;
    for (int rank = 1; rank < options.size; ++rank) {
        out.emplace_back(std::move(found[static_cast<std::size_t>(rank)]), rank);
    }
    return out;
}

Result<std::vector<Peer>> come(const SocketGroupOptions& options, Steady::time_point end) {
    for (;;) {
        Result<UniqueFd> fd = connectOwnUnix(options.path);
        if (fd.ok()) {
            const std::int32_t rank = options.rank;
            std::vector<Peer> out;
            out.emplace_back(std::move(*fd), 0);
            RETURN_IF_ERROR(out[0].send({reinterpret_cast<const char*>(&rank), sizeof rank}));
            return out;
        }
        if (!absl::IsNotFound(fd.status()) && !absl::IsUnavailable(fd.status())) {
            return fd.status();
        }
        if (Steady::now() > end) {
            return deadlineExceeded("ranks: rank 0 did not come within ", kMeetingLimit.count(),
                                    " s");
        }
        RETURN_IF_ERROR(waitReadable(-1, options.abortFd, kLookMs).status());
    }
}

}  // namespace

Result<std::unique_ptr<Group>> makeSocketGroup(const SocketGroupOptions& options) {
    if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
        return invalidArgument("ranks: ", options.rank, " of ", options.size);
    }
    if (options.size == 1) {
        return makeLoneGroup();
    }
    const Steady::time_point end = Steady::now() + kMeetingLimit;
    ASSIGN_OR_RETURN(std::vector<Peer> peers,
                     options.rank == 0 ? receiveAll(options, end) : come(options, end));
    return std::unique_ptr<Group>(new SocketGroup(options.rank, options.size, std::move(peers)));
}

}  // namespace millrace::train
