#include "backend/rank/rank_server.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"

namespace millrace::rank {
namespace {

// Bytes of acknowledgements and stops that wait for a worker that does not read.
constexpr std::size_t kMaxUnsentBytes = std::size_t{1} << 20;

using Time = UnixListener::Time;

struct Connection {
    UniqueFd socket;
    Time helloBy = Time::max();
    std::string in, out;
    Sender sender;
    bool isKnown = false;  ///< set by hello
    bool isDone = false;
    std::string why;  ///< why it is closed; empty: a clean end
};

class PollingServer final : public RankServer {
 public:
    explicit PollingServer(RankServerOptions options) : options_(std::move(options)) {}

    ~PollingServer() override {
        if (thread_.joinable()) {
            thread_.request_stop();
            wake();
            thread_.join();
            ::unlink(options_.socketPath.c_str());
        }
    }

    Status open() {
        ASSIGN_OR_RETURN(UnixListener listener, UnixListener::open(options_.socketPath, "rank"));
        listener_.emplace(std::move(listener));
        wakeEvent_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!wakeEvent_.isOpen()) {
            return errnoStatus(errno, "eventfd");
        }
        thread_ = startThread("rank-server", [this](std::stop_token stop) { serve(stop); });
        return okStatus();
    }

    void ack(ConnectionId id, std::int64_t attempt, std::uint64_t seq) override {
        post(id, formatCommand(Ack{seq, attempt}));
    }

    void stop(ConnectionId id, const Stop& how) override { post(id, formatCommand(how)); }

    void close(ConnectionId id) override {
        {
            MutexLock lock(mutex_);
            closing_.insert(id);
        }
        wake();
    }

 private:
    void post(ConnectionId id, std::string line) {
        {
            MutexLock lock(mutex_);
            // A connection that has ended is not in known_: ids are never reused, so a late ack
            // cannot reach another worker.
            if (known_.count(id) == 0) {
                return;
            }
            outbox_[id] += line + "\n";
        }
        wake();
    }

    void wake() const {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(wakeEvent_.get(), &one, sizeof one));
    }

    void serve(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const Time now = std::chrono::steady_clock::now();
            Time earliest = listener_->wakeAt(now);
            std::vector<pollfd> items = {{wakeEvent_.get(), POLLIN, 0},
                                         {listener_->pollFd(now), POLLIN, 0}};
            for (const auto& [id, c] : connections_) {
                const short events = static_cast<short>(POLLIN | (c.out.empty() ? 0 : POLLOUT));
                items.push_back({c.socket.get(), events, 0});
                earliest = std::min(earliest, c.helloBy);
            }
            if (::poll(items.data(), items.size(), pollTimeout(now, earliest)) < 0) {
                continue;
            }
            if (items[0].revents != 0) {
                std::uint64_t count = 0;
                static_cast<void>(!::read(wakeEvent_.get(), &count, sizeof count));
                collectPosts();
            }
            // connections_ is the same as when `items` was filled: only accept() and sweep() below
            // change it. collectPosts() and the callbacks only mark connections as done.
            std::size_t i = 2;
            for (auto& [id, c] : connections_) {
                attend(id, c, items[i++].revents);
            }
            if (items[1].revents != 0) {
                accept();
            }
            sweep();
        }
        for (auto& [id, c] : connections_) {
            end(id, c);
        }
        connections_.clear();
    }

    void accept() {
        if (connections_.size() >= options_.maxConnections) {
            listener_->turnAway(connections_.size());
            return;
        }
        if (std::optional<UniqueFd> socket = listener_->accept()) {
            Connection& c = connections_[nextId_++];
            c.socket = std::move(*socket);
            c.helloBy = std::chrono::steady_clock::now() + options_.helloLimit;
        }
    }

    // Takes what other threads posted, and sends it without the lock: mutex_ is never held during a
    // system call on a socket, nor during a callback, which may call ack() or stop() itself.
    void collectPosts() {
        std::map<ConnectionId, std::string> posts;
        std::set<ConnectionId> closing;
        {
            MutexLock lock(mutex_);
            posts.swap(outbox_);
            closing.swap(closing_);
        }
        for (auto& [id, text] : posts) {
            if (const auto it = connections_.find(id); it != connections_.end()) {
                it->second.out += text;
                write(it->second);
            }
        }
        for (const ConnectionId id : closing) {
            if (const auto it = connections_.find(id); it != connections_.end()) {
                it->second.isDone = true;
            }
        }
    }

    void attend(ConnectionId id, Connection& c, short revents) {
        if ((revents & POLLOUT) != 0) {
            write(c);
        }
        if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !c.isDone) {
            read(id, c);
        }
    }

    static void drop(Connection& c, std::string why) {
        c.isDone = true;
        c.why = std::move(why);
    }

    static void write(Connection& c) {
        const ssize_t n =
            ::send(c.socket.get(), c.out.data(), c.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            c.out.erase(0, static_cast<std::size_t>(n));
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            c.isDone = true;
        } else if (c.out.size() > kMaxUnsentBytes) {
            drop(c, "the worker does not read its answers");
        }
    }

    void read(ConnectionId id, Connection& c) {
        char bytes[1 << 16];
        const ssize_t n = ::recv(c.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            c.isDone = true;
            return;
        }
        // Searches only the new bytes for a line's end: a long line arrives in many reads.
        const std::size_t searched = c.in.size();
        c.in.append(bytes, static_cast<std::size_t>(n));
        std::size_t from = 0;
        for (std::size_t end = c.in.find('\n', searched); end != std::string::npos && !c.isDone;
             end = c.in.find('\n', from)) {
            hear(id, c, std::string_view(c.in).substr(from, end - from));
            from = end + 1;
        }
        c.in.erase(0, from);
        if (c.in.size() > kMaxLineBytes) {
            drop(c, strCat("a line longer than ", kMaxLineBytes, " bytes"));
        }
    }

    void hear(ConnectionId id, Connection& c, std::string_view text) {
        Result<RankLine> line = parseLine(text);
        if (!line.ok()) {
            // Closing would not help: the worker sends the same line again, and none behind it.
            std::optional<RankLine> dropped =
                c.isKnown ? droppedLine(text, line.status()) : std::nullopt;
            if (!dropped) {
                drop(c, std::string(messageOf(line.status())));
                return;
            }
            line = *std::move(dropped);
        }
        const Hello* hello = std::get_if<Hello>(&line->body);
        if ((hello != nullptr) == c.isKnown) {
            drop(c, c.isKnown ? "a second hello" : "a line before hello");
            return;
        }
        if (hello == nullptr) {
            line->attempt = line->attempt < 0 ? c.sender.attempt : line->attempt;
            // A line of an older attempt is valid: its checkpoint kept the lines that were not yet
            // acknowledged, and the next attempt sends them first.
            if (line->attempt > c.sender.attempt) {
                drop(c, strCat("a line of attempt ", line->attempt, " from a worker of attempt ",
                               c.sender.attempt));
                return;
            }
            if (!options_.onLine(id, c.sender, *line)) {
                drop(c, "no room for its lines; the worker sends them again");
            }
            return;
        }
        // Known before onHello, because onHello may already send a stop to this worker.
        c.sender = hello->sender;
        {
            MutexLock lock(mutex_);
            known_.insert(id);
        }
        const Status welcome = options_.onHello ? options_.onHello(id, c.sender) : okStatus();
        if (!welcome.ok()) {
            forget(id);
            drop(c, std::string(messageOf(welcome)));
            return;
        }
        c.isKnown = true;
        c.helloBy = Time::max();
    }

    void forget(ConnectionId id) {
        MutexLock lock(mutex_);
        known_.erase(id);
        outbox_.erase(id);
    }

    void end(ConnectionId id, Connection& c) {
        forget(id);
        if (!c.why.empty()) {
            logWarn("rank: closed a connection",
                    {{"run", c.sender.run}, {"rank", c.sender.rank}, {"why", c.why}});
        }
        if (c.isKnown && options_.onClosed) {
            options_.onClosed(id, c.sender, c.why);
        }
    }

    void sweep() {
        const Time now = std::chrono::steady_clock::now();
        for (auto& [id, c] : connections_) {
            if (!c.isDone && now >= c.helloBy) {
                drop(c, "no hello in time");
            }
        }
        for (auto it = connections_.begin(); it != connections_.end();) {
            if (it->second.isDone) {
                end(it->first, it->second);
                it = connections_.erase(it);
            } else {
                ++it;
            }
        }
    }

    const RankServerOptions options_;
    std::optional<UnixListener> listener_;
    UniqueFd wakeEvent_;
    std::map<ConnectionId, Connection> connections_;  ///< used only by the server's thread
    ConnectionId nextId_ = 1;
    mutable Mutex mutex_;
    std::set<ConnectionId> known_ MR_GUARDED_BY(mutex_);
    std::map<ConnectionId, std::string> outbox_ MR_GUARDED_BY(mutex_);
    std::set<ConnectionId> closing_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<RankServer>> RankServer::start(RankServerOptions options) {
    auto server = std::make_unique<PollingServer>(std::move(options));
    RETURN_IF_ERROR(server->open());
    return server;
}

}  // namespace millrace::rank
