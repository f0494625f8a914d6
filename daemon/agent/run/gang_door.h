#pragma once
// GangDoor: the door of the present attempt, and who came in by it.
//
// Threads: one owner (the controller's). Owns: the door; a new one closes the old. Without a door
// nothing is said to anybody. Failure: open() says why there is none.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "daemon/agent/run/committed_line.h"
#include "daemon/agent/run/worker_door.h"

namespace millrace::agent {

class GangDoor {
 public:
    /// `maker` outlives it.
    explicit GangDoor(DoorMaker& maker) : maker_(maker) {}

    Status open(const std::string& socketPath, const std::string& runId, int attempt,
                DoorListener listener);
    void close();
    bool isOpen() const { return door_ != nullptr; }
    /// Whether nobody is connected.
    bool isEmpty() const { return connections_.empty(); }

    void hello(rank::ConnectionId connection, const rank::Sender& sender);
    void closed(rank::ConnectionId connection);
    /// No room for its lines: what still comes over it is ignored; the worker sends all of it again
    /// over the next one.
    void drop(rank::ConnectionId connection);
    bool accepts(rank::ConnectionId connection) const { return !dropped_.contains(connection); }

    void stop(rank::ConnectionId connection);
    void stopRanks();
    /// Held back while `isHeld`, the newest of each worker, and sent once it is not.
    void ack(const AckOrder& order, bool isHeld);
    void releaseAcks();

 private:
    DoorMaker& maker_;
    std::unique_ptr<WorkerDoor> door_;
    int attempt_ = 0;
    std::map<rank::ConnectionId, rank::Sender> connections_;
    std::set<rank::ConnectionId> dropped_;
    std::map<std::pair<rank::ConnectionId, std::int64_t>, AckOrder> held_;
};

}  // namespace millrace::agent
