#pragma once
// openStream(): a server stream with messages from a source, one at a time.
//
// The source is called on the pump's thread, only when the previous message has been sent. Only the
// pump's thread starts writes and finishes, so the call still exists whenever the source is called.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <grpcpp/grpcpp.h>

#include "backend/core/status.h"
#include "daemon/rpc/call_pool.h"
#include "daemon/rpc/stream_pump.h"

namespace millrace::rpc {

/// When to ask a source again that had nothing, or nothing more.
struct Pace {
    std::chrono::milliseconds interval{0};  ///< not earlier
    bool isOnNews = false;  ///< and not before StreamPump::tellNews(); else after the interval
};

/// A source's answer. Without a message and an end: ask again at the stream's pace.
template <class Message>
struct Produced {
    std::optional<Message> message;
    bool isEnd = false;        ///< the stream ends after `message`
    bool isMoreReady = false;  ///< ask again as soon as `message` has been sent
};

template <class Message>
using Source = std::function<Result<Produced<Message>>()>;

template <class Message>
class StreamWriter final : public grpc::ServerWriteReactor<Message> {
 public:
    explicit StreamWriter(StreamPump& pump) : pump_(pump), flags_(std::make_shared<Flags>()) {}

    struct Flags {
        std::atomic<bool> isWriting{false}, isCancelled{false};
    };
    std::shared_ptr<Flags> flags() const { return flags_; }

    void OnWriteDone(bool ok) override {
        if (!ok) {
            flags_->isCancelled = true;
        }
        flags_->isWriting = false;
        pump_.poke();
    }
    void OnCancel() override {
        flags_->isCancelled = true;
        pump_.poke();
    }
    void OnDone() override { delete this; }

 private:
    StreamPump& pump_;
    std::shared_ptr<Flags> flags_;
};

template <class Message>
class WriterTurns final : public PumpedStream {
 public:
    WriterTurns(StreamWriter<Message>* writer, Source<Message> source, Pace pace)
        : writer_(writer), flags_(writer->flags()), source_(std::move(source)), pace_(pace) {}

    bool turn(SteadyTime now, bool isEnding, std::uint64_t news) override {
        if (flags_->isWriting) {
            due_ = SteadyTime::max();
            return true;
        }
        if (flags_->isCancelled) {
            return finish(grpc::Status::CANCELLED);
        }
        if (isEnding) {
            return finish(toGrpc(unavailable("the daemon is ending")));
        }
        if (isLastSent_) {
            return finish(grpc::Status::OK);
        }
        if (pace_.isOnNews && news == heardNews_ && !isMoreReady_) {
            due_ = SteadyTime::max();
            return true;
        }
        if (now < notBefore_) {
            due_ = notBefore_;
            return true;
        }
        heardNews_ = news;
        return produce(now);
    }
    SteadyTime due() const override { return due_; }

 private:
    bool produce(SteadyTime now) {
        Result<Produced<Message>> produced = source_();
        if (!produced.ok()) {
            return finish(toGrpc(produced.status()));
        }
        isLastSent_ = produced->isEnd;
        isMoreReady_ = produced->isMoreReady;
        notBefore_ = produced->isMoreReady || produced->isEnd ? now : now + pace_.interval;
        due_ = pace_.isOnNews && !produced->isMoreReady ? SteadyTime::max() : notBefore_;
        if (!produced->message.has_value()) {
            return produced->isEnd ? finish(grpc::Status::OK) : true;
        }
        outgoing_ = std::move(*produced->message);
        flags_->isWriting = true;
        due_ = SteadyTime::max();
        writer_->StartWrite(&outgoing_);
        return true;
    }
    // The writer deletes itself in OnDone: do not use it after this.
    bool finish(const grpc::Status& status) {
        writer_->Finish(status);
        return false;
    }

    StreamWriter<Message>* writer_;
    std::shared_ptr<typename StreamWriter<Message>::Flags> flags_;
    Source<Message> source_;
    const Pace pace_;
    Message outgoing_;
    SteadyTime notBefore_{}, due_{};
    std::uint64_t heardNews_ = UINT64_MAX;  // so that the first turn asks the source
    bool isLastSent_ = false, isMoreReady_ = false;
};

template <class Message>
grpc::ServerWriteReactor<Message>* openStream(StreamPump& pump, Source<Message> source, Pace pace) {
    auto* writer = new StreamWriter<Message>(pump);
    pump.add(std::make_shared<WriterTurns<Message>>(writer, std::move(source), pace));
    return writer;
}

/// A stream that ends at once with the error of its request.
template <class Message>
grpc::ServerWriteReactor<Message>* refuse(StreamPump& pump, const Status& status) {
    return openStream<Message>(
        pump, [status]() -> Result<Produced<Message>> { return status; }, Pace{});
}

/// A stream whose source is made by `open` on `pool`, because that reads the store. The stream ends
/// with the error of `open`, or if the pool is full.
template <class Message>
grpc::ServerWriteReactor<Message>* openStream(CallPool& pool, StreamPump& pump,
                                              std::function<Result<Source<Message>>()> open,
                                              Pace pace) {
    auto* writer = new StreamWriter<Message>(pump);
    const auto begin = [writer, &pump, pace](Result<Source<Message>> source) {
        if (!source.ok()) {
            source = Source<Message>(
                [why = source.status()]() -> Result<Produced<Message>> { return why; });
        }
        pump.add(std::make_shared<WriterTurns<Message>>(writer, std::move(*source), pace));
    };
    const bool isTaken = pool.tryRun([begin, open = std::move(open)](bool isEnding) {
        begin(isEnding ? unavailable("the daemon is ending") : open());
    });
    if (!isTaken) {
        begin(unavailable("the daemon is busy; try again"));
    }
    return writer;
}

}  // namespace millrace::rpc
