#pragma once
// RankListener: the rank socket of one attempt, as the controller sees it. Tests replace it with
// fakes.
//
// Threads: the listener's callbacks come on its own thread. Its methods may be called from any
// thread and never wait for a callback, except the destructor, which waits for the last one.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/rank/rank_server.h"

namespace millrace::agent {

class RankListener {
 public:
    virtual ~RankListener() = default;
    virtual void ack(rank::ConnectionId connection, std::int64_t attempt, std::uint64_t seq) = 0;
    virtual void stop(rank::ConnectionId connection, const rank::Stop& how) = 0;
    virtual void close(rank::ConnectionId connection) = 0;
};

/// Callbacks for input. onLine returns false when there is no room: the listener then drops the
/// connection, and with it every later line; the worker sends them again.
struct RankCallbacks {
    std::function<void(rank::ConnectionId, const rank::Sender&)> onHello;
    std::function<bool(rank::ConnectionId, const rank::Sender&, const rank::RankLine&)> onLine;
    std::function<void(rank::ConnectionId, const rank::Sender&, const std::string& why)> onClosed;
};

class ListenerMaker {
 public:
    virtual ~ListenerMaker() = default;
    /// `run` and `attempt`: the workers that may connect.
    virtual Result<std::unique_ptr<RankListener>> open(const std::string& socketPath,
                                                       const std::string& run, int attempt,
                                                       RankCallbacks listener) = 0;
};

/// The real one: a rank::RankServer for each attempt.
class RankListenerMaker final : public ListenerMaker {
 public:
    Result<std::unique_ptr<RankListener>> open(const std::string& socketPath,
                                               const std::string& run, int attempt,
                                               RankCallbacks listener) override;
};

/// Returns workerNameOf() the sender of this line, which must be a hello; an error if it is not.
Result<std::string> workerOfHello(std::string_view line);

/// Returns "rank0", "feed": the worker's folder and its name in the store.
std::string workerNameOf(const rank::Sender& sender);

}  // namespace millrace::agent
