#pragma once
// GangListener: the listener of the current attempt, and the workers that are connected to it. Used
// by ActiveRun.
//
// Threads: one owner (the controller's). Owns: the listener; a new one closes the old. Without a
// listener nothing is sent to any worker. Failure: open() returns why there is none.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/agent/run/committed_line.h"
#include "daemon/agent/run/rank_listener.h"
#include "daemon/agent/run/stop_agreement.h"

namespace millrace::agent {

class GangListener {
 public:
    /// `maker` outlives it. `agreeing`: number of ranks, on several machines, that must stop after
    /// the same step but cannot agree on it by themselves; 0: they can.
    explicit GangListener(ListenerMaker& maker, int agreeing = 0)
        : maker_(maker), agreeing_(agreeing) {}

    /// `done`: ranks of the attempt that have done all of their steps already.
    Status open(const std::string& socketPath, const std::string& runId, int attempt,
                RankCallbacks listener, std::set<std::int64_t> done = {});
    void close();
    bool isOpen() const { return listener_ != nullptr; }
    /// Whether no worker is connected.
    bool isEmpty() const { return connections_.empty(); }

    void hello(rank::ConnectionId connection, const rank::Sender& sender);
    void closed(rank::ConnectionId connection);
    /// Drops a connection that has no room for its lines. Further input from it is ignored; the
    /// worker sends everything again over its next connection.
    void drop(rank::ConnectionId connection);
    bool accepts(rank::ConnectionId connection) const { return !dropped_.contains(connection); }

    void stop(rank::ConnectionId connection);
    void stopRanks();
    /// Takes a rank's line that may be an answer.
    void heard(const rank::Sender& sender, const rank::RankLine& line);
    /// Acknowledges a line. While `isHeld`, keeps the newest acknowledgement of each worker, and
    /// sends it afterwards.
    void ack(const AckOrder& order, bool isHeld);
    void releaseAcks();

 private:
    ListenerMaker& maker_;
    const int agreeing_;
    std::unique_ptr<RankListener> listener_;
    int attempt_ = 0;
    std::map<rank::ConnectionId, rank::Sender> connections_;
    std::set<rank::ConnectionId> dropped_;
    std::optional<StopAgreement> agreement_;
    std::set<std::int64_t> done_;  ///< ranks that have done all of their steps
    std::map<std::pair<rank::ConnectionId, std::int64_t>, AckOrder> held_;
};

}  // namespace millrace::agent
