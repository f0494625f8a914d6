#pragma once
// SocketPump: moves bytes between local sockets and links to another machine, both ways, until
// either side ends. Used by the tunnels of rank lines and of groups' sockets.
//
// Threads: one of its own ("tunnel"); all methods, a Port's too, from any. A link is called on the
// pump's thread only. Owns: sockets and links. The destructor ends both and waits until the links
// are released. Bounded: a socket is read only while its link takes more, a link only when its
// socket has taken the previous bytes; at most kConnectionsMost connections, further ones are
// closed at once. Failure: none is reported; a side that ends or breaks ends the other after its
// last bytes.
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
    /// Whether the send queue has room.
    virtual bool takesMore() const = 0;
    /// Asks once for the next bytes: the answer is Port::received() or Port::closed().
    virtual void readNext() = 0;
    /// Ends this side after the send queue. The other side's end arrives as Port::closed(), when it
    /// has read everything.
    virtual void finish() = 0;
    /// Ends it at once.
    virtual void close() = 0;
    /// After close(): waits until the link is released.
    virtual void waitDone() = 0;
};

class SocketPump {
 public:
    static constexpr std::size_t kConnectionsMost = 4096;

    struct Inbox;
    /// The interface that a link's handlers call. It may outlive the pump; its calls then do
    /// nothing.
    class Port {
     public:
        Port(std::shared_ptr<Inbox> inbox, std::uint64_t id) : inbox_(std::move(inbox)), id_(id) {}
        void received(std::string bytes) const;
        /// takesMore() may have become true.
        void written() const;
        void closed() const;

        std::uint64_t id() const { return id_; }

     private:
        const std::shared_ptr<Inbox> inbox_;
        const std::uint64_t id_;
    };

    static Result<std::unique_ptr<SocketPump>> start();
    virtual ~SocketPump() = default;

    /// `socket` is connected; no byte is moved before attach().
    virtual std::shared_ptr<const Port> open(UniqueFd socket) = 0;
    virtual void attach(const Port& port, std::shared_ptr<ByteLink> link) = 0;
};

/// A Duplex (duplex.h) as a link; its messages have `bytes data`. `Close` and `Wait`: how its side
/// of a call is closed, and waited for.
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
