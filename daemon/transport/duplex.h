#pragma once
// Duplex: one end of a bidirectional stream, on gRPC's callback API.
//
// Messages are sent in the order of send(), one at a time; readNext() asks for the next incoming
// one. close() and the peer's end both lead to onClosed, once; no message follows it. Threads:
// send(), readNext(), finish() and close() from any; the handlers are called on gRPC's threads, one
// onMessage at a time. Owns: itself, until gRPC has released it; holders share it. Bounds: the send
// queue is bounded by what the two sides owe each other (one order or request each), never by this
// class.
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include "backend/core/mutex.h"

namespace millrace::transport {

template <class In, class Out>
struct DuplexHandlers {
    std::function<void(In&)> onMessage;
    std::function<void()> onClosed;
    std::function<void()> onWritten = [] {};  ///< a message has been sent
};

/// `Reactor`: gRPC's of either side, for messages In and Out.
template <class Reactor, class In, class Out>
class Duplex : public Reactor, public std::enable_shared_from_this<Duplex<Reactor, In, Out>> {
 public:
    void send(Out message) {
        MutexLock lock(mutex_);
        if (isOver_ || isBroken_ || isFinished_) {
            return;
        }
        waiting_.push_back(std::move(message));
        if (!isWriting_) {
            writeLocked();
        }
    }
    void readNext() {
        MutexLock lock(mutex_);
        if (!isOver_) {
            this->StartRead(&incoming_);
        }
    }
    std::size_t numWaiting() const {
        MutexLock lock(mutex_);
        return waiting_.size() + (isWriting_ ? 1 : 0);
    }
    bool isOver() const {
        MutexLock lock(mutex_);
        return isOver_;
    }

    void OnReadDone(bool ok) override {
        if (ok) {
            handlers_.onMessage(incoming_);
        } else {
            over(false);
        }
    }
    // A failed write does not end the stream: the peer's last messages are still to be read, and
    // gRPC releases the stream only after that. The read finds the end.
    void OnWriteDone(bool ok) override {
        bool isOpen = false;
        {
            MutexLock lock(mutex_);
            isWriting_ = false;
            if (!ok) {
                isBroken_ = true;
                waiting_.clear();
            } else if (!waiting_.empty()) {
                writeLocked();
            }
            isOpen = ok && !isOver_;
            finishIfDueLocked();
            endIfDueLocked();
        }
        if (isOpen) {
            handlers_.onWritten();
        }
    }

 protected:
    explicit Duplex(DuplexHandlers<In, Out> handlers) : handlers_(std::move(handlers)) {}

    /// Call before anything is started.
    void keep() { self_ = this->shared_from_this(); }
    /// gRPC has released it.
    void letGo() {
        over(false);
        const std::shared_ptr<Duplex> last = std::move(self_);
    }
    /// Accepts nothing more to send or read. Sends what is queued first if this side wants the end
    /// (`isOwn`); otherwise drops it, because the peer no longer reads.
    void over(bool isOwn) {
        {
            MutexLock lock(mutex_);
            if (std::exchange(isOver_, true)) {
                return;
            }
            isEndDue_ = true;
            isOwnEnd_ = isOwn;
            if (!isOwn) {
                waiting_.clear();
            }
            endIfDueLocked();
        }
        handlers_.onClosed();
    }
    /// Sends nothing more, and tells the peer after the queue; still reads from it.
    void finishWrites() {
        MutexLock lock(mutex_);
        isFinishDue_ = isFinishDue_ || !std::exchange(isFinished_, true);
        finishIfDueLocked();
    }
    /// Tells gRPC that this side is done, once; writesDone(): that it sends no more, once.
    virtual void end(bool isOwn) = 0;
    virtual void writesDone() {}

 private:
    void writeLocked() MR_REQUIRES(mutex_) {
        outgoing_ = std::move(waiting_.front());
        waiting_.pop_front();
        isWriting_ = true;
        this->StartWrite(&outgoing_);
    }
    void finishIfDueLocked() MR_REQUIRES(mutex_) {
        if (isFinishDue_ && !isWriting_ && !isOver_ && !isBroken_) {
            isFinishDue_ = false;
            writesDone();
        }
    }
    void endIfDueLocked() MR_REQUIRES(mutex_) {
        if (isEndDue_ && !isWriting_) {
            isEndDue_ = false;
            end(isOwnEnd_);
        }
    }

    const DuplexHandlers<In, Out> handlers_;
    std::shared_ptr<Duplex> self_;
    mutable Mutex mutex_;
    std::deque<Out> waiting_ MR_GUARDED_BY(mutex_);
    bool isWriting_ MR_GUARDED_BY(mutex_) = false;
    bool isBroken_ MR_GUARDED_BY(mutex_) = false;  ///< nothing can be sent any more
    bool isFinished_ MR_GUARDED_BY(mutex_) = false, isFinishDue_ MR_GUARDED_BY(mutex_) = false;
    bool isOver_ MR_GUARDED_BY(mutex_) = false;
    bool isEndDue_ MR_GUARDED_BY(mutex_) = false, isOwnEnd_ MR_GUARDED_BY(mutex_) = false;
    Out outgoing_;  ///< gRPC's while isWriting_
    In incoming_;   ///< gRPC's between readNext() and OnReadDone()
};

template <class In, class Out>
class ServerDuplex final : public Duplex<grpc::ServerBidiReactor<In, Out>, In, Out> {
    using Base = Duplex<grpc::ServerBidiReactor<In, Out>, In, Out>;

 public:
    /// The reactor for gRPC; it keeps itself.
    static std::shared_ptr<ServerDuplex> start(DuplexHandlers<In, Out> handlers) {
        std::shared_ptr<ServerDuplex> stream(new ServerDuplex(std::move(handlers)));
        stream->keep();
        return stream;
    }
    /// The peer gets this as the call's status.
    void close(const grpc::Status& status) {
        {
            MutexLock lock(statusMutex_);
            status_ = status;
        }
        this->over(true);
    }
    void finish() { close(grpc::Status::OK); }  ///< after the queue is sent

    void OnCancel() override { this->over(false); }
    void OnDone() override { this->letGo(); }

 private:
    using Base::Base;
    void end(bool) override {
        MutexLock lock(statusMutex_);
        this->Finish(status_);
    }
    Mutex statusMutex_;
    grpc::Status status_ MR_GUARDED_BY(statusMutex_);
};

template <class In, class Out>
class ClientDuplex final : public Duplex<grpc::ClientBidiReactor<Out, In>, In, Out> {
    using Base = Duplex<grpc::ClientBidiReactor<Out, In>, In, Out>;

 public:
    static std::shared_ptr<ClientDuplex> make(DuplexHandlers<In, Out> handlers) {
        return std::shared_ptr<ClientDuplex>(new ClientDuplex(std::move(handlers)));
    }
    /// `prepare` hands the context and this reactor to a stub.
    template <class Prepare>
    void start(const Prepare& prepare) {
        this->keep();
        prepare(&context_, static_cast<grpc::ClientBidiReactor<Out, In>*>(this));
        this->AddHold();  // operations are started outside of reactions
        this->StartCall();
    }
    grpc::ClientContext& context() { return context_; }
    void close() { this->over(true); }  ///< at once: what has not arrived may be lost
    /// After the queue is sent: the peer sees the end after reading everything, and ends the call.
    void finish() { this->finishWrites(); }
    /// How the call ended, once gRPC has released it.
    grpc::Status status() const {
        MutexLock lock(statusMutex_);
        return status_;
    }
    /// Blocks until gRPC has released it.
    void waitDone() const {
        MutexLock lock(statusMutex_);
        while (!isDone_) {
            done_.wait(statusMutex_);
        }
    }

    void OnDone(const grpc::Status& status) override {
        {
            MutexLock lock(statusMutex_);
            status_ = status;
            isDone_ = true;
            done_.notifyAll();
        }
        this->letGo();
    }

 private:
    using Base::Base;
    void end(bool isOwn) override {
        if (isOwn) {
            context_.TryCancel();
        }
        this->RemoveHold();
    }
    void writesDone() override { this->StartWritesDone(); }
    grpc::ClientContext context_;
    mutable Mutex statusMutex_;
    mutable CondVar done_;
    grpc::Status status_ MR_GUARDED_BY(statusMutex_);
    bool isDone_ MR_GUARDED_BY(statusMutex_) = false;
};

}  // namespace millrace::transport
