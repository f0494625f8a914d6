#pragma once
// RingPump: one ring of a rank behind a relay, on the leading feed's side. It reads the rank's ring
// like the rank would, and sends its contents on. Used by Followers.
//
// The ring's end is taken only when the rank has taken it, and the ring is closed when the rank has
// closed: so the feed knows the same about it as about a local rank. An entry returns to the ring
// when gRPC has its bytes; few are being sent at a time, so that a stopped rank only fills its
// ring. Threads: one of its own ("ring-pump") from the first message on; gRPC's pass on what
// arrives. Owns: its call and its connection to the feed. Failure: the call's status.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/core/unique_fd.h"
#include "backend/feed/feed_link.h"
#include "backend/ring/frame_ledger.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/relay/ring_entries.h"
#include "daemon/worker/wire/busy_clock.h"

namespace millrace::relay {

using RingCall = transport::ServerDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;

struct PumpOptions {
    std::string feedSocket;
    bool isHashed = false;
    std::function<Status(const v1::JoinRequest&)> admits;
    ring::FrameLedger* ledger = nullptr;  ///< as FollowersOptions
    /// The number of a relay by its session; 0: it fetches no frames. Nothing: it does not follow
    /// this feed.
    std::function<std::optional<std::uint64_t>(const std::string& session)> relayOf;
    std::function<void(std::uint64_t worker, const std::string& why)> badFrame;
    std::function<void(std::uint64_t relay, const ring::FrameLedger::Moved&)> moved;
    /// Runs while messages are on their way to the relay with this session; null: it is unknown.
    std::function<std::shared_ptr<wire::BusyClock>(const std::string& session)> sendingOf;
};

class RingPump final : public std::enable_shared_from_this<RingPump> {
 public:
    /// The call waits for its first message.
    static std::shared_ptr<RingPump> start(PumpOptions options);
    ~RingPump();
    RingCall& call() { return *call_; }
    /// Whether no thread of it runs any more.
    bool isOver() const { return isOver_; }
    /// The relay that fetches frames for it; 0: none.
    std::uint64_t relay() const { return relay_; }
    /// Ends the call and with it the rank's ring.
    void close(const grpc::Status& status);
    /// The same, and waits until no thread of it runs. Its owner calls it before releasing it: the
    /// pump's own thread must not release the last reference.
    void finish();

 private:
    explicit RingPump(PumpOptions options);
    void heard(const grpc::ByteBuffer& buffer);
    Status begin(const v1::RingWord& word);
    Status openLedger(const v1::RingWord& word);
    Status heardOfFrames(const v1::RingWord& word);
    void ended();
    Status pump();
    Status openLink();
    Status takeEntry();
    Status put(const ring::RingEntry& entry, std::span<const std::byte> payload,
               const std::shared_ptr<const void>& owner);
    Status flush();
    Status sendEnd();
    Status whyOverLocked() const MR_REQUIRES(mutex_);
    void setSendingLocked(bool isSending) MR_REQUIRES(mutex_);

    const PumpOptions options_;
    std::shared_ptr<RingCall> call_;
    UniqueFd abort_;  ///< readable: the call is over
    std::string hello_;
    ring::FrameLedger::RingId ledgerRing_ = 0;  ///< 0: the relay fetches no frames for it
    std::atomic<std::uint64_t> relay_{0};
    std::unique_ptr<ring::FeedLink> link_;  ///< used by its thread only
    EntriesWriter writer_;                  ///< likewise
    std::atomic<bool> isOver_{false};

    Mutex mutex_;
    CondVar changed_;
    bool isBegun_ MR_GUARDED_BY(mutex_) = false, isClosed_ MR_GUARDED_BY(mutex_) = false;
    bool isEndTaken_ MR_GUARDED_BY(mutex_) = false;
    std::shared_ptr<wire::BusyClock> sending_ MR_GUARDED_BY(mutex_);  ///< may be null
    bool isSending_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::relay
