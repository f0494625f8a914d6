#pragma once
// SocketPump: moves bytes between local sockets and links to another machine, both ways, until
// either side ends. What tunnels of rank lines and of a group's sockets are made of.
//
// Threads: one of its own ("tunnel"); all methods, a Port's too, from any. A link is called on the
// pump's thread only.
// Owns: sockets and links. The destructor ends both and waits for the links to have let go.
// Bounded: a socket is read only while its link takes more, a link only when its socket has taken
// what came before; at most kConnectionsMost at once, further ones are closed at once.
// Failure: none that is told; a side that ends or breaks ends the other, behind what it said.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::transport {

/// One end of a stream of bytes to another machine (DuplexLink below).
class ByteLink {
 public:
    virtual ~ByteLink() = default;
    /// Does not wait.
    virtual void send(std::string bytes) = 0;
    /// Little enough of what was sent waits to go out.
    virtual bool takesMore() const = 0;
    /// Asks for what comes next, once: the answer is Port::received() or Port::closed().
    virtual void readNext() = 0;
    /// This side ends, behind what was sent; the other side's end comes as Port::closed(), when it
    /// has read all.
    virtual void finish() = 0;
    /// Ends it at once.
    virtual void close() = 0;
    /// After close(): nothing of it is left.
    virtual void waitDone() = 0;
};

class SocketPump {
 public:
    static constexpr std::size_t kConnectionsMost = 4096;

    struct Inbox;
    /// What a link's handlers say of it; may outlive the pump, which then hears nothing.
    class Port {
     public:
        Port(std::shared_ptr<Inbox> inbox, std::uint64_t id) : inbox_(std::move(inbox)), id_(id) {}
        void received(std::string bytes) const;
        /// takesMore() may have become true.
        void written() const;
        void closed() const;

     private:
        friend class SocketPump;
        const std::shared_ptr<Inbox> inbox_;
        const std::uint64_t id_;
    };

    static Result<std::unique_ptr<SocketPump>> start();
    ~SocketPump();

    /// `socket` is connected; nothing is moved before attach().
    std::shared_ptr<const Port> open(UniqueFd socket);
    void attach(const Port& port, std::shared_ptr<ByteLink> link);

 private:
    class Impl;
    explicit SocketPump(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A Duplex (duplex.h) as a link, whose messages have `bytes data`. `Close` and `Wait`: how its
/// side of a call is closed, and waited for.
template <class Message, class Stream, class Close, class Wait>
class DuplexLink final : public ByteLink {
 public:
    DuplexLink(std::shared_ptr<Stream> stream, Close close, Wait wait)
        : stream_(std::move(stream)), close_(std::move(close)), wait_(std::move(wait)) {}
    void send(std::string bytes) override {
        Message message;
        message.set_data(std::move(bytes));
        stream_->send(std::move(message));
    }
    bool takesMore() const override { return stream_->numWaiting() < kWaitingMost; }
    void readNext() override { stream_->readNext(); }
    void finish() override { stream_->finish(); }
    void close() override { close_(*stream_); }
    void waitDone() override { wait_(*stream_); }

 private:
    static constexpr std::size_t kWaitingMost = 4;
    const std::shared_ptr<Stream> stream_;
    const Close close_;
    const Wait wait_;
};

template <class Message, class Stream, class Close, class Wait>
std::shared_ptr<ByteLink> makeLink(std::shared_ptr<Stream> stream, Close close, Wait wait) {
    return std::make_shared<DuplexLink<Message, Stream, Close, Wait>>(
        std::move(stream), std::move(close), std::move(wait));
}

}  // namespace millrace::transport
