#pragma once
// The Slot's interfaces to the head: Uplink, the connection; PartTunnel, the ranks' connections;
// HeadFiles, transfers of checkpoints and scores.
//
// While it is open, the connection sends a sign of life each second by itself, even while its owner
// is busy: starting many workers takes a while. Threads: one owner. Failure: no failure ends it; it
// reconnects whenever the connection ends.
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/values/hand_over.h"
#include "millrace/v1/agent.pb.h"

namespace millrace::nodes {

class Uplink {
 public:
    virtual ~Uplink() = default;
    virtual bool isOpen() const = 0;
    /// Not open, and a retry is due.
    virtual bool isDue() const = 0;
    /// Returns why the head does not accept this agent and would not if asked again; OK: no reason
    /// is known.
    virtual Status refusal() const = 0;
    /// Calls the head; `first` is sent with the token. The head's first orders mean that it
    /// accepted.
    virtual void open(v1::AgentReport first) = 0;
    /// Whether the connection can take more.
    virtual bool isReady() const = 0;
    virtual void send(v1::AgentReport report) = 0;
    /// Returns the received orders. Notices the connection's end: isOpen() is false then.
    virtual std::vector<v1::HeadOrders> take() = 0;
};

/// The connections from the workers of one part to their attempt's listener at the head;
/// implemented by RankTunnel. They exist as long as the object does.
class PartTunnel {
 public:
    virtual ~PartTunnel() = default;
};

/// Checkpoints and scores of the parts here that are sent to the head or fetched from it;
/// implemented by FileMover. No call waits for the head.
class HeadFiles {
 public:
    virtual ~HeadFiles() = default;
    /// Fetches the files that the gang's job reads. OK: they are here. kUnavailable: they are on
    /// their way, or cannot be fetched now: a sentence. Another error: the head does not have them.
    virtual Status fetch(const std::string& key) = 0;
    /// Sends what part 0 of an attempt has written to the head. Returns the file that is being
    /// sent; nothing: the head has all files, or does not want them.
    virtual std::optional<values::HandOver> handOver(const std::string& key) = 0;
    /// Call before the gang's files are removed.
    virtual void drop(const std::string& key) = 0;
};

}  // namespace millrace::nodes
