#include "backend/rank/rank_client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/rank/line_queue.h"
#include "backend/system/unix_socket.h"

namespace millrace::rank {
namespace {
constexpr std::size_t kSendBytes = std::size_t{256} << 10;
}

class RankClient::Impl {
 public:
    explicit Impl(RankClientOptions options)
        : options_(std::move(options)),
          queue_(strCat(options_.directory, "/rank-lines-", options_.sender.role,
                        options_.sender.rank, ".spill"),
                 options_.memoryBytes, options_.spillBytes),
          nextSeq_(options_.firstSeq) {}

    ~Impl() {
        if (thread_.joinable()) {
            thread_.request_stop();
            raise(wake_);
            thread_.join();
        }
    }

    Status start(const std::vector<std::string>& preload) {
        wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        stopEvent_.reset(::eventfd(0, EFD_CLOEXEC));
        if (!wake_.isOpen() || !stopEvent_.isOpen()) {
            return errnoStatus(errno, "eventfd");
        }
        {
            MutexLock lock(mutex_);
            for (const std::string& text : preload) {
                RETURN_IF_ERROR(preloadLocked(text));
            }
        }
        thread_ = startThread("rank-socket", [this](std::stop_token stop) { run(stop); });
        return okStatus();
    }

    Result<std::uint64_t> send(Body body) {
        if (!isKept(body)) {
            return invalidArgument("rank line: ", typeOf(body), " is said by the client itself");
        }
        RankLine line{0, options_.sender.attempt, std::move(body)};
        {
            MutexLock lock(mutex_);
            line.seq = nextSeq_;
            std::string text = formatLine(line);
            if (text.size() >= kMaxLineBytes) {
                return invalidArgument("rank line: ", typeOf(line.body), " of ", text.size(),
                                       " bytes, at most ", kMaxLineBytes);
            }
            RETURN_IF_ERROR(queue_.push({options_.sender.attempt, line.seq, std::move(text)}));
            ++nextSeq_;
        }
        raise(wake_);
        return line.seq;
    }

    Status waitAcked(std::chrono::milliseconds timeout) {
        const auto end = std::chrono::steady_clock::now() + timeout;
        MutexLock lock(mutex_);
        while (!queue_.isEmpty()) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                return deadlineExceeded(options_.socketPath, ": ", queue_.size(),
                                        " lines were not acknowledged by the daemon");
            }
            acked_.waitFor(mutex_, left);
        }
        return okStatus();
    }

    Result<std::vector<std::string>> unacked() const {
        MutexLock lock(mutex_);
        return queue_.all();
    }

    void setTrouble(const std::string& what, std::string sentence) {
        {
            MutexLock lock(mutex_);
            if (sentence.empty() ? troubles_.erase(what) == 0
                                 : std::exchange(troubles_[what], sentence) == sentence) {
                return;
            }
            isAliveDue_ = true;
        }
        raise(wake_);
    }

    std::uint64_t ackedSeq() const { return ackedSeq_.load(); }
    bool stopRequested() const { return stopRequested_.load(); }
    bool takeCheckpointRequest() { return checkpointRequested_.exchange(false); }
    int stopFd() const { return stopEvent_.get(); }
    bool isConnected() const { return connected_.load(); }

 private:
    static void raise(const UniqueFd& event) {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(event.get(), &one, sizeof one));
    }

    Status preloadLocked(const std::string& text) MR_REQUIRES(mutex_) {
        ASSIGN_OR_RETURN(const RankLine line, parseLine(text));
        if (line.attempt < 0) {
            return invalidArgument("rank line: a line of an older attempt does not say which");
        }
        if (line.attempt == options_.sender.attempt) {
            nextSeq_ = std::max(nextSeq_, line.seq + 1);
        }
        return queue_.push({line.attempt, line.seq, text});
    }

    void run(const std::stop_token& stop) {
        std::chrono::milliseconds backoff = options_.backoffFirst;
        while (!stop.stop_requested()) {
            Result<UniqueFd> socket = connectOwnUnix(options_.socketPath);
            if (socket.ok()) {
                const bool heard = talk(*socket, stop);
                connected_ = false;
                backoff = heard ? options_.backoffFirst : backoff;
            }
            if (stop.stop_requested()) {
                break;
            }
            pause(backoff, stop);
            backoff = std::min(backoff * 2, options_.backoffMax);
        }
    }

    /// Waits out the back-off; new lines do not shorten it, the end does.
    void pause(std::chrono::milliseconds time, const std::stop_token& stop) {
        const auto end = std::chrono::steady_clock::now() + time;
        while (!stop.stop_requested()) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                return;
            }
            pollfd item{wake_.get(), POLLIN, 0};
            ::poll(&item, 1, static_cast<int>(left.count()));
            drainWake();
        }
    }

    void drainWake() const {
        std::uint64_t count = 0;
        static_cast<void>(!::read(wake_.get(), &count, sizeof count));
    }

    /// One connection; true when the daemon answered something on it.
    bool talk(const UniqueFd& socket, const std::stop_token& stop) {
        Hello hello{options_.sender};
        hello.sender.aliveMs = options_.alivePeriod.count();
        std::string out = formatLine({0, -1, std::move(hello)}) + "\n";
        std::string in;
        bool heard = false;
        {
            MutexLock lock(mutex_);
            queue_.rewind();
            isAliveDue_ = true;
        }
        connected_ = true;
        while (!stop.stop_requested()) {
            fill(out);
            const int untilAlive = addAlive(out);
            const short events = static_cast<short>(POLLIN | (out.empty() ? 0 : POLLOUT));
            pollfd items[2] = {{socket.get(), events, 0}, {wake_.get(), POLLIN, 0}};
            if (::poll(items, 2, untilAlive) < 0 && errno != EINTR) {
                break;
            }
            if (items[1].revents != 0) {
                drainWake();
            }
            if ((items[0].revents & POLLOUT) != 0 && !write(socket, out)) {
                break;
            }
            if ((items[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
                if (!read(socket, in)) {
                    break;
                }
                heard = true;
            }
        }
        return heard;
    }

    void fill(std::string& out) {
        MutexLock lock(mutex_);
        for (const LineQueue::Line* line = queue_.nextUnsent();
             line != nullptr && out.size() < kSendBytes; line = queue_.nextUnsent()) {
            out += line->text;
            out += '\n';
            queue_.markSent();
        }
    }

    /// Adds an Alive when one is due; the milliseconds until the next one.
    int addAlive(std::string& out) {
        const auto now = std::chrono::steady_clock::now();
        Alive alive;
        {
            MutexLock lock(mutex_);
            if (!std::exchange(isAliveDue_, false) && now < nextAlive_) {
                const auto left =
                    std::chrono::duration_cast<std::chrono::milliseconds>(nextAlive_ - now);
                return static_cast<int>(left.count()) + 1;
            }
            for (const auto& [what, sentence] : troubles_) {
                strAppend(&alive.trouble, alive.trouble.empty() ? "" : "; ", sentence);
            }
        }
        nextAlive_ = now + options_.alivePeriod;
        // A daemon that does not read hears nothing new from more of them.
        if (out.size() < kSendBytes) {
            out += formatLine({0, -1, std::move(alive)}) + "\n";
        }
        return static_cast<int>(options_.alivePeriod.count());
    }

    static bool write(const UniqueFd& socket, std::string& out) {
        const ssize_t n = ::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        out.erase(0, static_cast<std::size_t>(n));
        return true;
    }

    bool read(const UniqueFd& socket, std::string& in) {
        char bytes[1 << 14];
        const ssize_t n = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        if (n == 0 || in.size() + static_cast<std::size_t>(n) > kMaxLineBytes) {
            return false;
        }
        in.append(bytes, static_cast<std::size_t>(n));
        std::size_t from = 0;
        for (std::size_t end = in.find('\n'); end != std::string::npos; end = in.find('\n', from)) {
            const Result<Command> command =
                parseCommand(std::string_view(in).substr(from, end - from));
            if (!command.ok()) {
                logWarn("rank: the daemon's line is unreadable",
                        {{"why", messageOf(command.status())}});
                return false;
            }
            obey(*command);
            from = end + 1;
        }
        in.erase(0, from);
        return true;
    }

    void obey(const Command& command) {
        if (const Ack* ack = std::get_if<Ack>(&command)) {
            acknowledge(*ack);
        } else if (std::holds_alternative<Stop>(command)) {
            if (!stopRequested_.exchange(true)) {
                raise(stopEvent_);
                if (options_.onStop) {
                    options_.onStop();
                }
            }
        } else {
            checkpointRequested_ = true;
            if (options_.onCheckpointNow) {
                options_.onCheckpointNow();
            }
        }
    }

    void acknowledge(const Ack& ack) {
        const std::int64_t attempt = ack.attempt < 0 ? options_.sender.attempt : ack.attempt;
        if (attempt == options_.sender.attempt) {
            ackedSeq_ = std::max(ackedSeq_.load(), ack.seq);
        }
        Status status;
        {
            MutexLock lock(mutex_);
            status = queue_.acknowledge(attempt, ack.seq);
            if (queue_.isEmpty()) {
                acked_.notifyAll();
            }
        }
        if (!status.ok()) {
            logError("rank: spilled lines are lost", {{"why", messageOf(status)}});
        }
    }

    const RankClientOptions options_;
    UniqueFd wake_, stopEvent_;
    mutable Mutex mutex_;
    CondVar acked_;
    LineQueue queue_ MR_GUARDED_BY(mutex_);
    std::uint64_t nextSeq_ MR_GUARDED_BY(mutex_);
    std::map<std::string, std::string> troubles_ MR_GUARDED_BY(mutex_);  ///< by what they are of
    bool isAliveDue_ MR_GUARDED_BY(mutex_) = false;
    std::chrono::steady_clock::time_point nextAlive_;  ///< the thread's own
    std::atomic<std::uint64_t> ackedSeq_{0};           // written by the thread alone
    std::atomic<bool> stopRequested_{false}, checkpointRequested_{false}, connected_{false};
    std::jthread thread_;
};

Result<std::unique_ptr<RankClient>> RankClient::start(RankClientOptions options,
                                                      const std::vector<std::string>& preload) {
    auto impl = std::make_unique<Impl>(std::move(options));
    RETURN_IF_ERROR(impl->start(preload));
    return std::unique_ptr<RankClient>(new RankClient(std::move(impl)));
}

RankClient::RankClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RankClient::~RankClient() = default;

Result<std::uint64_t> RankClient::send(Body body) {
    return impl_->send(std::move(body));
}

Status RankClient::waitAcked(std::chrono::milliseconds timeout) {
    return impl_->waitAcked(timeout);
}

Status RankClient::finish(Body body, std::chrono::milliseconds lease) {
    RETURN_IF_ERROR(impl_->send(std::move(body)).status());
    return impl_->waitAcked(lease);
}

void RankClient::setTrouble(const std::string& what, std::string sentence) {
    impl_->setTrouble(what, std::move(sentence));
}

Result<std::vector<std::string>> RankClient::unacked() const {
    return impl_->unacked();
}

std::uint64_t RankClient::ackedSeq() const {
    return impl_->ackedSeq();
}

bool RankClient::stopRequested() const {
    return impl_->stopRequested();
}

bool RankClient::takeCheckpointRequest() {
    return impl_->takeCheckpointRequest();
}

int RankClient::stopFd() const {
    return impl_->stopFd();
}

bool RankClient::isConnected() const {
    return impl_->isConnected();
}

}  // namespace millrace::rank
