#include "daemon/agent/run/rank_listener.h"

#include <variant>

#include "backend/job/attempt_paths.h"
#include "backend/text/utf8.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kMostRanks = 4096;
constexpr std::size_t kMostRoleShown = 40;

class RankSocketListener final : public RankListener {
 public:
    static Result<std::unique_ptr<RankListener>> open(const std::string& socketPath,
                                                      const std::string& run, int attempt,
                                                      RankCallbacks listener) {
        auto made = std::make_unique<RankSocketListener>();
        made->listener_ = std::move(listener);
        rank::RankServerOptions options;
        options.socketPath = socketPath;
        options.onHello = [run, attempt, self = made.get()](rank::ConnectionId id,
                                                            const rank::Sender& sender) {
            if (sender.run != run || sender.attempt != attempt) {
                return failedPrecondition("hello of run ", sender.run, " attempt ", sender.attempt,
                                          "; this socket is for ", run, " attempt ", attempt);
            }
            // Each (attempt, worker) costs memory and a row in the store.
            const bool isRank =
                sender.role == "rank" && sender.rank >= 0 && sender.rank < kMostRanks;
            const bool isFeed = sender.role == job::kFeed && sender.rank < kMostRanks;
            if (!isRank && !isFeed) {
                return invalidArgument("hello of ", toUtf8(sender.role, kMostRoleShown), " ",
                                       sender.rank, "; a worker is a feed, or a rank from 0 to ",
                                       kMostRanks - 1);
            }
            self->listener_.onHello(id, sender);
            return okStatus();
        };
        options.onLine = [self = made.get()](rank::ConnectionId id, const rank::Sender& sender,
                                             const rank::RankLine& line) {
            return self->listener_.onLine(id, sender, line);
        };
        options.onClosed = [self = made.get()](rank::ConnectionId id, const rank::Sender& sender,
                                               const std::string& why) {
            self->listener_.onClosed(id, sender, why);
        };
        ASSIGN_OR_RETURN(made->server_, rank::RankServer::start(std::move(options)));
        return made;
    }

    ~RankSocketListener() override { server_.reset(); }
    void ack(rank::ConnectionId id, std::int64_t attempt, std::uint64_t seq) override {
        server_->ack(id, attempt, seq);
    }
    void stop(rank::ConnectionId id, const rank::Stop& how) override { server_->stop(id, how); }
    void close(rank::ConnectionId id) override { server_->close(id); }

 private:
    RankCallbacks listener_;
    // Callbacks may come from its thread before this is set: they must not use it.
    std::unique_ptr<rank::RankServer> server_;
};

}  // namespace

Result<std::unique_ptr<RankListener>> RankListenerMaker::open(const std::string& socketPath,
                                                              const std::string& run, int attempt,
                                                              RankCallbacks listener) {
    return RankSocketListener::open(socketPath, run, attempt, std::move(listener));
}

Result<std::string> workerOfHello(std::string_view line) {
    ASSIGN_OR_RETURN(const rank::RankLine read, rank::parseLine(line));
    const auto* hello = std::get_if<rank::Hello>(&read.body);
    return hello != nullptr ? Result<std::string>(workerNameOf(hello->sender))
                            : invalidArgument("a line before hello");
}

std::string workerNameOf(const rank::Sender& sender) {
    return sender.role == "rank" ? job::rankName(sender.rank)
           : sender.rank > 0     ? job::feedName(sender.rank)
                                 : sender.role;
}

}  // namespace millrace::agent
