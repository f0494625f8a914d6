#include "backend/ring/feed_server.h"

#include <algorithm>
#include <cerrno>
#include <list>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/stream/state/mismatch.h"
#include "backend/system/unix_socket.h"
#include "backend/text/json.h"

namespace millrace::ring {
namespace {

/// A rank's socket, shared with its writer, which passes larger rings over it.
class ReaderSocket {
 public:
    explicit ReaderSocket(UniqueFd socket) : socket_(std::move(socket)) {}
    int fd() const { return socket_.get(); }
    /// Ends the connection for the peer, even if a producer still holds the writer and so this
    /// socket.
    void shut() { ::shutdown(socket_.get(), SHUT_RDWR); }
    /// Sends a last line first, after the welcome.
    void shut(std::string_view line) {
        MutexLock lock(mutex_);
        last_ = line;
        if (isOpen_) {
            sayLast();
        }
    }

    /// Rings passed before the welcome are queued, so that the answer to hello comes first.
    Status pass(int ringFd, std::uint64_t bytes) {
        MutexLock lock(mutex_);
        if (!isOpen_) {
            UniqueFd copy(::fcntl(ringFd, F_DUPFD_CLOEXEC, 3));
            if (!copy.isOpen()) {
                return errnoStatus(errno, "ring: dup");
            }
            early_.push_back({std::move(copy), bytes});
            return okStatus();
        }
        return send(Json{{"ring_bytes", bytes}}, ringFd);
    }

    Status welcome(Json answer) {
        MutexLock lock(mutex_);
        for (Early& ring : early_) {
            answer["ring_bytes"] = ring.bytes;
            RETURN_IF_ERROR(send(answer, ring.fd.get()));
            answer = Json::object();
        }
        early_.clear();
        isOpen_ = true;
        if (!last_.empty()) {
            sayLast();
        }
        return okStatus();
    }

    void refuse(std::string_view sentence) {
        static_cast<void>(
            sendWithFds(fd(), dumpJson(Json{{"error", std::string(sentence)}}) + "\n", {}));
    }

 private:
    struct Early {
        UniqueFd fd;
        std::uint64_t bytes;
    };
    void sayLast() MR_REQUIRES(mutex_) {
        static_cast<void>(sendWithFds(fd(), last_, {}));
        shut();
    }
    Status send(const Json& line, int ringFd) const {
        return sendWithFds(fd(), dumpJson(line) + "\n", {ringFd});
    }

    const UniqueFd socket_;
    Mutex mutex_;
    bool isOpen_ MR_GUARDED_BY(mutex_) = false;
    std::string_view last_ MR_GUARDED_BY(mutex_);
    std::vector<Early> early_ MR_GUARDED_BY(mutex_);
};

using Time = UnixListener::Time;

struct Connection {
    std::shared_ptr<ReaderSocket> socket;
    Time helloBy = Time::max();
    std::string received;  ///< up to the hello's end
    FeedHello hello;
    std::shared_ptr<RingWriter> writer;  ///< after the hello
    bool isDone = false;
};

Status checkState(const FeedServerOptions& options, const FeedHello& hello) {
    if (!hello.state) {
        return okStatus();
    }
    if (hello.stream == "eval") {
        return invalidArgument("hello: evaluation always starts at its beginning, without a state");
    }
    const stream::Cursor& at = hello.state->cursor;
    const auto why = stream::mismatchOf(at, options.streamHash, options.planHash);
    if (!why.empty()) {
        return failedPrecondition("state: of stream '", at.streamHash, "' and plan '", at.planHash,
                                  "', this feed serves ", options.streamHash, " and ",
                                  options.planHash, "; ", why);
    }
    if (hello.next &&
        std::tie(hello.next->epoch, hello.next->number) < std::tie(at.epoch, at.next)) {
        return invalidArgument("hello: 'next' is before the state's cursor");
    }
    return okStatus();
}

Status refusedLast(const FeedHello& hello, const FeedHello& other) {
    return failedPrecondition("hello: rank ", hello.rank, " asks for last=", nameOf(hello.last),
                              ", rank ", other.rank, " for last=", nameOf(other.last),
                              "; all ranks of a stream must ask for the same");
}

Status checkHello(const FeedServerOptions& options, const FeedHello& hello) {
    if (hello.stream != "train" && hello.stream != "eval") {
        return invalidArgument("hello: stream '", hello.stream, "' must be train or eval");
    }
    if (hello.worldSize != options.worldSize || hello.rank < 0 || hello.rank >= options.worldSize) {
        return invalidArgument("hello: rank ", hello.rank, " of ", hello.worldSize,
                               ", this feed serves ", options.worldSize);
    }
    if (hello.attempt != options.attempt) {
        return failedPrecondition("hello: attempt ", hello.attempt, ", this feed serves attempt ",
                                  options.attempt);
    }
    return checkState(options, hello);
}

class PollingServer final : public FeedServer {
 public:
    PollingServer(FeedServerOptions options, OnOpen onOpen, OnClosed onClosed)
        : options_(std::move(options)),
          onOpen_(std::move(onOpen)),
          onClosed_(std::move(onClosed)) {}

    ~PollingServer() override {
        if (thread_.joinable()) {
            thread_.request_stop();
            const std::uint64_t one = 1;
            static_cast<void>(!::write(wake_.get(), &one, sizeof one));
            thread_.join();
            ::unlink(options_.socketPath.c_str());
        }
    }

    Status listen() {
        ASSIGN_OR_RETURN(UnixListener listener, UnixListener::open(options_.socketPath, "feed"));
        listener_.emplace(std::move(listener));
        wake_.reset(::eventfd(0, EFD_CLOEXEC));
        if (!wake_.isOpen()) {
            return errnoStatus(errno, "eventfd");
        }
        thread_ = startThread("feed-socket", [this](std::stop_token stop) { serve(stop); });
        return okStatus();
    }

 private:
    void serve(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const Time now = std::chrono::steady_clock::now();
            Time earliest = listener_->wakeAt(now);
            std::vector<pollfd> items = {{wake_.get(), POLLIN, 0},
                                         {listener_->pollFd(now), POLLIN, 0}};
            for (const Connection& c : connections_) {
                items.push_back({c.socket->fd(), POLLIN, 0});
                earliest = std::min(earliest, c.helloBy);
            }
            if (::poll(items.data(), items.size(), pollTimeout(now, earliest)) < 0) {
                continue;
            }
            std::size_t i = 2;
            for (Connection& c : connections_) {
                if (items[i++].revents != 0) {
                    receive(c);
                }
            }
            if (items[1].revents != 0) {
                accept();
            }
            sweep();
        }
        // Readers reconnect at once: none should wait in the queue of a feed that ends.
        listener_.reset();
        for (Connection& c : connections_) {
            end(c);
        }
        connections_.clear();
    }

    void accept() {
        if (connections_.size() >= options_.maxConnections) {
            listener_->turnAway(connections_.size());
            return;
        }
        if (std::optional<UniqueFd> socket = listener_->accept()) {
            Connection connection;
            connection.socket = std::make_shared<ReaderSocket>(std::move(*socket));
            connection.helloBy = std::chrono::steady_clock::now() + options_.helloLimit;
            connections_.push_back(std::move(connection));
        }
    }

    void receive(Connection& c) {
        char bytes[1 << 16];
        const ssize_t n = ::recv(c.socket->fd(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            c.isDone = true;
            return;
        }
        if (c.writer != nullptr) {
            return;  // a reader sends nothing more
        }
        c.received.append(bytes, static_cast<std::size_t>(n));
        const std::size_t end = c.received.find('\n');
        if (end == std::string::npos) {
            if (c.received.size() > kMaxHelloBytes) {
                refuse(c, invalidArgument("hello: longer than ", kMaxHelloBytes, " bytes"));
            }
            return;
        }
        const Status status = open(c, std::string_view(c.received).substr(0, end));
        c.received.clear();
        if (!status.ok()) {
            refuse(c, status);
        }
    }

    void refuse(Connection& c, const Status& why) {
        logWarn("feed: refused a reader", {{"why", messageOf(why)}});
        c.socket->refuse(messageOf(why));
        c.isDone = true;
    }

    Status open(Connection& c, std::string_view line) {
        ASSIGN_OR_RETURN(FeedHello hello, parseHello(line));
        RETURN_IF_ERROR(checkHello(options_, hello));
        for (Connection& other : connections_) {
            const bool isBeside = &other != &c && other.writer != nullptr && !other.isDone &&
                                  other.hello.stream == hello.stream;
            if (isBeside && other.hello.rank == hello.rank) {
                other.socket->shut(kReplacedLine);
                end(other);
            } else if (isBeside && other.hello.last != hello.last) {
                return refusedLast(hello, other.hello);
            }
        }
        const std::shared_ptr<ReaderSocket> socket = c.socket;
        RingWriterOptions ring = hello.stream == "eval" ? options_.evalRing : options_.ring;
        ring.numaNode = hello.numaNode;
        ring.hangUp = [socket] { socket->shut(kAgainLine); };
        ASSIGN_OR_RETURN(std::shared_ptr<RingWriter> writer,
                         RingWriter::open(std::move(ring), [socket](int fd, std::uint64_t bytes) {
                             return socket->pass(fd, bytes);
                         }));
        RETURN_IF_ERROR(onOpen_(hello, writer));
        const std::string& inputs = hello.stream == "eval" ? options_.evalInputs : options_.inputs;
        c.hello = std::move(hello);
        c.writer = std::move(writer);
        c.helloBy = Time::max();
        return socket->welcome(Json{{"version", kHelloVersion},
                                    {"micro_rows", options_.microRows},
                                    {"step_batches", options_.stepBatches},
                                    {"stream_hash", options_.streamHash},
                                    {"plan_hash", options_.planHash},
                                    {"inputs", inputs}});
    }

    /// The writer is notified before the callback.
    void end(Connection& c) {
        c.isDone = true;
        c.socket->shut();
        if (c.writer != nullptr) {
            c.writer->peerGone();
            c.writer.reset();
            if (onClosed_) {
                onClosed_(c.hello);
            }
        }
    }

    void sweep() {
        const Time now = std::chrono::steady_clock::now();
        for (Connection& c : connections_) {
            if (!c.isDone && now >= c.helloBy) {
                refuse(c, deadlineExceeded("hello: none in time"));
            }
            if (c.isDone) {
                end(c);
            }
        }
        connections_.remove_if([](const Connection& c) { return c.isDone; });
    }

    const FeedServerOptions options_;
    const OnOpen onOpen_;
    const OnClosed onClosed_;
    std::optional<UnixListener> listener_;
    UniqueFd wake_;
    std::list<Connection> connections_;  ///< used by the thread only
    std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<FeedServer>> FeedServer::start(FeedServerOptions options, OnOpen onOpen,
                                                      OnClosed onClosed) {
    auto server =
        std::make_unique<PollingServer>(std::move(options), std::move(onOpen), std::move(onClosed));
    RETURN_IF_ERROR(server->listen());
    return server;
}

}  // namespace millrace::ring
