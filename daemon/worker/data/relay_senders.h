#pragma once
// RelaySenders: a data worker's connections to the relays that fetch frames from it. It keeps one
// to each relay that the feed names, and connects again when one breaks. Used by WorkerSession.
//
// Threads: one of its own ("data-relays") connects; calls from any. Owns: its connections. Bounds:
// one connection per relay. Failure: logged; the feed sends the frames of a relay that cannot be
// reached itself.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "daemon/worker/data/frame_sender.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

class RelaySenders {
 public:
    /// `worker`: the number by which relays know this worker. `onChange`: connections opened or
    /// closed; called from any thread.
    RelaySenders(FrameSender::FrameOf frameOf, std::uint64_t worker,
                 std::function<void()> onChange);
    ~RelaySenders() { close(); }
    /// Ends all connections, for good.
    void close();

    /// Replaces the relays to connect to.
    void set(const v1::Relays& relays);
    void forget(const stream::SegmentOrder& order);
    /// Adds the open connections to a report.
    void report(v1::WorkerReport& report) const;

 private:
    struct Link {
        std::string join;  ///< its join file
        std::shared_ptr<FrameSender> sender;
        std::uint32_t connection = 0;
        bool isOpen = false, isClosed = true;
    };
    using Number = std::uint64_t;
    void run(const std::stop_token& stop);
    void connect(Number relay, const std::string& join);
    void told(Number relay, std::uint32_t connection, bool isOpen);

    const FrameSender::FrameOf frameOf_;
    const std::uint64_t worker_;
    const std::function<void()> onChange_;
    mutable Mutex mutex_;
    CondVar changed_;
    bool hasNews_ MR_GUARDED_BY(mutex_) = false;
    std::map<Number, Link> links_ MR_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<FrameSender>> over_ MR_GUARDED_BY(mutex_);  ///< to be destroyed
    std::jthread thread_;
};

}  // namespace millrace::data
