#include "daemon/worker/relay/relay_ring.h"

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include <grpcpp/generic/generic_stub.h>

#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "daemon/transport/duplex.h"
#include "daemon/transport/raw_buffer.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/relay/follow_link.h"

namespace millrace::relay {
namespace {

// For the feed to confirm that the rank has taken the end, or to end the call.
constexpr std::chrono::seconds kEndTime{5};

/// The first failure of a ring's frames; ends the waits of its thread.
struct Breakage {
    std::stop_source stop;
    Mutex mutex;
    Status why MR_GUARDED_BY(mutex);
    std::uint64_t worker MR_GUARDED_BY(mutex) = 0;

    void tell(const Status& of, std::uint64_t from) {
        {
            MutexLock lock(mutex);
            why = of;
            worker = from;
        }
        stop.request_stop();
    }
    std::pair<Status, std::uint64_t> seen() {
        MutexLock lock(mutex);
        return {why, worker};
    }
};

/// Waits until the time is over or a stop is requested.
void rest(const std::stop_token& stop, std::chrono::milliseconds time) {
    Mutex mutex;
    CondVar changed;
    const std::stop_callback wake(stop, [&] {
        MutexLock lock(mutex);
        changed.notifyAll();
    });
    MutexLock lock(mutex);
    if (!stop.stop_requested()) {
        changed.waitFor(mutex, time);
    }
}

}  // namespace

/// The call; at most two of its messages wait here, one of them with gRPC.
class RelayRing::Call {
 public:
    Call() {
        duplex_ = Duplex::make({[this](grpc::ByteBuffer& message) {
                                    MutexLock lock(mutex_);
                                    message_ = std::move(message);
                                    changed_.notifyAll();
                                },
                                [this] {
                                    MutexLock lock(mutex_);
                                    isClosed_ = true;
                                    changed_.notifyAll();
                                }});
    }
    ~Call() {
        if (isStarted_) {
            duplex_->close();
            duplex_->waitDone();
        }
    }

    Status start(const transport::JoinFile& file, const v1::RingWord& first) {
        ASSIGN_OR_RETURN(const auto channel, transport::openChannel(file));
        duplex_->start([&channel](grpc::ClientContext* context, auto* reactor) {
            grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(channel);
            stub.PrepareBidiStreamingCall(context, "/millrace.v1.Data/Ring", {}, reactor);
        });
        isStarted_ = true;
        send(first);
        duplex_->readNext();
        return okStatus();
    }
    void send(const v1::RingWord& word) { duplex_->send(transport::bufferOf(word)); }

    /// The next message; nothing when the call is over or a stop was requested.
    std::optional<grpc::ByteBuffer> take(const std::stop_token& stop) {
        const std::stop_callback wake(stop, [this] {
            MutexLock lock(mutex_);
            changed_.notifyAll();
        });
        std::optional<grpc::ByteBuffer> message;
        {
            MutexLock lock(mutex_);
            while (!message_ && !isClosed_ && !stop.stop_requested()) {
                changed_.wait(mutex_);
            }
            message.swap(message_);
        }
        if (message) {
            duplex_->readNext();
        }
        return message;
    }
    /// The same, regardless of a stop.
    bool takeWithin(std::chrono::milliseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        MutexLock lock(mutex_);
        while (!message_ && !isClosed_ && std::chrono::steady_clock::now() < end) {
            changed_.waitFor(mutex_, time);
        }
        return message_.has_value();
    }
    /// Blocks until the call's end, at most for this time; drops what still arrives, behind which
    /// the end comes.
    void awaitEndFor(std::chrono::milliseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            {
                MutexLock lock(mutex_);
                if (!message_ && !isClosed_) {
                    changed_.waitFor(mutex_, time);
                }
                if (isClosed_) {
                    return;
                }
                if (!message_) {
                    continue;
                }
                message_.reset();
            }
            duplex_->readNext();
        }
    }
    /// Blocks until the call's end, or a stop.
    void awaitEnd(const std::stop_token& stop) {
        const std::stop_callback wake(stop, [this] {
            MutexLock lock(mutex_);
            changed_.notifyAll();
        });
        MutexLock lock(mutex_);
        while (!isClosed_ && !stop.stop_requested()) {
            changed_.wait(mutex_);
        }
    }
    /// Valid for a call that is over.
    Status status() {
        duplex_->waitDone();
        return transport::toStatus(duplex_->status());
    }

 private:
    using Duplex = transport::ClientDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;
    std::shared_ptr<Duplex> duplex_;
    bool isStarted_ = false;
    Mutex mutex_;
    CondVar changed_;
    std::optional<grpc::ByteBuffer> message_ MR_GUARDED_BY(mutex_);
    bool isClosed_ MR_GUARDED_BY(mutex_) = false;
};

RelayRing::RelayRing(RelayRingOptions options) : options_(std::move(options)) {
    thread_ = startThread("relay-ring", [this](const std::stop_token& stop) { run(stop); });
}

RelayRing::~RelayRing() = default;

void RelayRing::run(const std::stop_token& stop) {
    RingCopy to(*options_.writer);
    for (;;) {
        const Status status = copy(to, stop);
        if (status.ok() || stop.stop_requested()) {
            return;
        }
        // If the feed no longer knows this relay, the relay ends separately.
        const bool isLinks = isPassing(status) ||
                             status.code() == absl::StatusCode::kUnauthenticated ||
                             status.code() == absl::StatusCode::kDataLoss;
        if (!isLinks) {
            logWarn("relay: a rank's ring ends", {{"why", messageOf(status)}});
            const Status told = options_.writer->error(status, stop);
            static_cast<void>(told);  // a rank that is gone may come back
            return;
        }
        if (to.hasBegun()) {
            logWarn("relay: hangs up on a rank", {{"why", messageOf(status)}});
            options_.writer->hangUp();
            return;
        }
        rest(stop, kTryAgain);
    }
}

Status RelayRing::copy(RingCopy& to, const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const transport::JoinFile file, transport::JoinFile::read(options_.joinPath));
    v1::RingWord first;
    *first.mutable_join() = requestOf(file, options_.buildId);
    first.mutable_join()->set_relay(options_.session);
    first.set_hello(options_.hello);
    Call call;
    RETURN_IF_ERROR(call.start(file, first));
    Breakage breakage;
    const std::stop_callback outer(stop, [&breakage] { breakage.stop.request_stop(); });
    PartsFiller filler(
        *options_.writer, options_.fetcher,
        {[&call](std::uint64_t frames) {
             v1::RingWord written;
             written.set_written_frames(frames);
             call.send(written);
         },
         [&call](std::uint64_t worker, std::uint32_t connection) {
             v1::RingWord lost;
             lost.set_lost_worker(worker);
             lost.set_lost_connection(connection);
             call.send(lost);
         },
         [&breakage](const Status& why, std::uint64_t worker) { breakage.tell(why, worker); }});
    const Status status = copy(to, call, filler, breakage.stop.get_token());
    const auto [why, worker] = breakage.seen();
    return why.ok() || stop.stop_requested() ? status : report(call, why, worker);
}

Status RelayRing::copy(RingCopy& to, Call& call, PartsFiller& filler, const std::stop_token& stop) {
    while (!to.hasEnd()) {
        const std::optional<grpc::ByteBuffer> message = call.take(stop);
        if (!message) {
            return stop.stop_requested() ? cancelled("the rank is gone") : call.status();
        }
        options_.counters->bytes += message->Length();
        const wire::BusyClock::Busy busy(options_.counters->busy);
        RETURN_IF_ERROR(to.take(*message, filler, stop));
    }
    return tellEnd(call, stop);
}

/// Tells the leading feed whose frame cannot be used; the feed then ends the call.
Status RelayRing::report(Call& call, const Status& why, std::uint64_t worker) {
    if (worker == 0 || why.code() != absl::StatusCode::kDataLoss) {
        return why;
    }
    v1::RingWord bad;
    bad.set_lost_worker(worker);
    bad.set_bad_frame(std::string(messageOf(why)));
    call.send(bad);
    call.awaitEndFor(kEndTime);
    return unavailable(messageOf(why));
}

/// A rank leaves when it has taken the end: the feed must be told despite the stop that follows.
Status RelayRing::tellEnd(Call& call, const std::stop_token& stop) {
    const Status drained = options_.writer->drain(stop);
    if (!options_.writer->hasTakenEnd()) {
        return drained.ok() ? cancelled("the rank is gone") : drained;
    }
    v1::RingWord taken;
    taken.set_is_end_taken(true);
    call.send(taken);
    if (!call.takeWithin(kEndTime)) {
        logWarn("relay: the feed did not hear that a rank has come to the end");
        return okStatus();
    }
    call.awaitEnd(stop);
    return okStatus();
}

}  // namespace millrace::relay
