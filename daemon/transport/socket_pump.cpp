#include "daemon/transport/socket_pump.h"

#include <cerrno>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"

namespace millrace::transport {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;

/// A message from other threads to the pump's thread.
struct Note {
    enum class Kind { kOpened, kAttached, kReceived, kWritten, kClosed } kind;
    std::uint64_t id = 0;
    UniqueFd socket;                 ///< of kOpened
    std::shared_ptr<ByteLink> link;  ///< of kAttached
    std::string bytes;               ///< of kReceived
};

struct Connection {
    UniqueFd socket;
    std::shared_ptr<ByteLink> link;
    std::string out;          ///< for the socket
    bool isLinkOver = false;  ///< nothing more arrives from it
    bool isDeaf = false;      ///< the socket accepts nothing more, or is closed
    bool isDone = false;

    short wanted() const {
        const bool mayRead = link != nullptr && !isLinkOver && link->takesMore();
        return static_cast<short>((mayRead ? POLLIN : 0) | (out.empty() ? 0 : POLLOUT));
    }
};

}  // namespace

// Bounded: a link adds its next bytes only when it was asked for them.
struct SocketPump::Inbox {
    void put(Note note) {
        MutexLock lock(mutex);
        if (isOver) {
            return;
        }
        notes.push_back(std::move(note));
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = ::write(wake.get(), &one, sizeof one);
    }
    std::vector<Note> take() {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t n = ::read(wake.get(), &count, sizeof count);
        MutexLock lock(mutex);
        return std::exchange(notes, {});
    }

    UniqueFd wake;
    Mutex mutex;
    std::vector<Note> notes MR_GUARDED_BY(mutex);
    std::uint64_t lastId MR_GUARDED_BY(mutex) = 0;
    bool isOver MR_GUARDED_BY(mutex) = false;
};

void SocketPump::Port::received(std::string bytes) const {
    inbox_->put({Note::Kind::kReceived, id_, {}, nullptr, std::move(bytes)});
}

void SocketPump::Port::written() const {
    inbox_->put({Note::Kind::kWritten, id_, {}, nullptr, ""});
}

void SocketPump::Port::closed() const {
    inbox_->put({Note::Kind::kClosed, id_, {}, nullptr, ""});
}

namespace {

class PollingPump final : public SocketPump {
 public:
    Status begin() {
        inbox_->wake = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!inbox_->wake.isOpen()) {
            return errnoStatus(errno, "eventfd");
        }
        thread_ = startThread("tunnel", [this](std::stop_token stop) { loop(stop); });
        return okStatus();
    }
    ~PollingPump() override {
        if (thread_.joinable()) {
            thread_.request_stop();
            inbox_->put({Note::Kind::kWritten, 0, {}, nullptr, ""});
            thread_.join();
        }
        {
            MutexLock lock(inbox_->mutex);
            inbox_->isOver = true;
        }
        for (Note& note : inbox_->take()) {
            if (note.link != nullptr) {
                connections_[note.id].link = std::move(note.link);
            }
        }
        for (auto& [id, connection] : connections_) {
            if (connection.link != nullptr) {
                connection.link->close();
                connection.link->waitDone();
            }
        }
    }

    std::shared_ptr<const Port> open(UniqueFd socket) override {
        std::uint64_t id = 0;
        {
            MutexLock lock(inbox_->mutex);
            id = ++inbox_->lastId;
        }
        inbox_->put({Note::Kind::kOpened, id, std::move(socket), nullptr, ""});
        return std::make_shared<const Port>(inbox_, id);
    }

    void attach(const Port& port, std::shared_ptr<ByteLink> link) override {
        inbox_->put({Note::Kind::kAttached, port.id(), {}, std::move(link), ""});
    }

 private:
    void loop(const std::stop_token& stop) {
        std::vector<pollfd> fds;
        while (!stop.stop_requested()) {
            for (Note& note : inbox_->take()) {
                obey(note);
            }
            forgetDone();
            fds.assign(1, {inbox_->wake.get(), POLLIN, 0});
            for (auto& [id, connection] : connections_) {
                const short wanted = connection.wanted();
                fds.push_back({wanted == 0 ? -1 : connection.socket.get(), wanted, 0});
            }
            ::poll(fds.data(), fds.size(), -1);
            std::size_t at = 1;
            for (auto& [id, connection] : connections_) {
                move(connection, fds[at++].revents);
            }
            forgetDone();
        }
    }

    void forgetDone() {
        std::erase_if(connections_, [](const auto& one) { return one.second.isDone; });
    }

    void obey(Note& note) {
        if (note.kind == Note::Kind::kOpened) {
            if (connections_.size() >= kConnectionsMost) {
                return logWarn("tunnel: too many connections", {{"most", kConnectionsMost}});
            }
            connections_[note.id].socket = std::move(note.socket);
            return;
        }
        const auto found = connections_.find(note.id);
        if (found == connections_.end()) {
            if (note.link != nullptr) {  // the socket was already closed
                note.link->close();
            }
            return;
        }
        Connection& connection = found->second;
        switch (note.kind) {
            case Note::Kind::kAttached:
                connection.link = std::move(note.link);
                connection.link->readNext();
                break;
            case Note::Kind::kReceived:
                connection.out = std::move(note.bytes);
                write(connection);
                break;
            case Note::Kind::kClosed:
                connection.isLinkOver = true;
                connection.isDone = connection.out.empty();
                break;
            case Note::Kind::kOpened:
            case Note::Kind::kWritten:
                break;
        }
    }

    static void move(Connection& connection, short revents) {
        if ((revents & POLLOUT) != 0 || (revents != 0 && !connection.out.empty())) {
            write(connection);
        }
        if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !connection.isLinkOver) {
            read(connection);
        }
    }

    static void read(Connection& connection) {
        if (connection.link == nullptr || !connection.link->takesMore()) {
            return;
        }
        std::string bytes(kPieceBytes, '\0');
        const ssize_t n = ::recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n > 0) {
            bytes.resize(static_cast<std::size_t>(n));
            connection.link->send(std::move(bytes));
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            finish(connection);
        }
    }

    // Its last bytes are being sent: the link is released when its other side has read everything
    // and ends. Bytes that arrive from there meanwhile are dropped.
    static void finish(Connection& connection) {
        connection.link->finish();
        connection.socket.reset();
        connection.isDeaf = true;
        if (!connection.out.empty()) {
            write(connection);
        }
    }

    // Asks the link for more once everything is written.
    static void write(Connection& connection) {
        if (!connection.isDeaf && !connection.out.empty()) {
            const ssize_t n = ::send(connection.socket.get(), connection.out.data(),
                                     connection.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            connection.out.erase(0, n > 0 ? static_cast<std::size_t>(n) : 0);
            connection.isDeaf = n < 0 && errno != EAGAIN && errno != EINTR;
        }
        if (connection.isDeaf) {
            connection.out.clear();
        }
        if (!connection.out.empty()) {
            return;
        }
        if (connection.isLinkOver) {
            connection.isDone = true;
        } else if (connection.link != nullptr) {
            connection.link->readNext();
        }
    }

    const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
    std::map<std::uint64_t, Connection> connections_;  ///< used by the pump's thread only
    std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<SocketPump>> SocketPump::start() {
    auto pump = std::make_unique<PollingPump>();
    RETURN_IF_ERROR(pump->begin());
    return pump;
}

}  // namespace millrace::transport
