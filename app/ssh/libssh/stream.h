#pragma once
// Stream: one channel of a session and its descriptors at this end. Bytes go both ways, each as
// fast as the other side takes them, so that no stream holds up another.
//
// Bounded: bytes read here wait for the channel's window, one piece at a time; bytes from the host
// wait in a buffer of kHighBytes and, behind it, in libssh's window (1.3 MB a channel). A
// descriptor of another process keeps its flags: it is written to only when poll() allows it, and
// then no more than cannot block. Threads: the pump's. Owns: channel and descriptors. Failure:
// passed to the stream's `onEnd`.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include "app/ssh/libssh/poll_set.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

/// The target at the other end.
struct StreamGoal {
    enum class Kind { kCommand, kUnixSocket, kTcp };
    Kind kind = Kind::kCommand;
    std::string text;  ///< the command, the path or the host
    int port = 0;
};

/// The descriptors at this end. For a socket only `in` is set, which goes both ways.
struct StreamEnds {
    UniqueFd in, out, error;
    bool isSocket = false;
};

struct StreamEnd {
    bool isOpened = false;
    std::string failure;  ///< "connect failed: open failed", as ssh(1) prints it; empty: none
    int exitCode = 255;   ///< of a command
};

class Stream {
 public:
    using OnEnd = std::function<void(const StreamEnd&)>;
    static constexpr std::size_t kHighBytes = 256 << 10;

    Stream(ssh_session session, StreamGoal goal, StreamEnds ends, OnEnd onEnd);
    ~Stream();

    /// Adds the descriptors to poll; reads nothing while the session has bytes left to send.
    void wish(PollSet& fds, bool sessionTakes);
    /// Moves all bytes that can be moved, after poll().
    void act(const PollSet& fds);
    bool isOver() const { return isOver_; }
    /// Called once, by the pump, when the stream is over.
    void tellEnd();
    /// Ends it from this end without calling onEnd: its requester is gone.
    void abandon() {
        onEnd_ = nullptr;
        isOver_ = true;
    }

 private:
    // Bytes from the channel on their way to a descriptor.
    struct Sink {
        UniqueFd fd;
        std::string bytes;
        std::size_t at = 0;      // written so far
        int polled = -1;         // its place in the poll set
        bool isRefused = false;  // libssh holds more
        bool isDead = false;     // nobody reads it any more
        bool isEmpty() const { return at == bytes.size() && !isRefused; }
    };

    void open();
    int openChannel();
    void fail(const std::string& why);
    void readLocal(const PollSet& fds);
    void sendPending();
    void writeSink(Sink& sink, bool isError, const PollSet& fds);
    bool writePiece(Sink& sink);
    void refill(Sink& sink, bool isError);
    void settle();
    int take(const char* data, std::size_t size, Sink& sink);
    int sinkFd(const Sink& sink) const { return ends_.isSocket ? ends_.in.get() : sink.fd.get(); }

    ssh_session session_;
    StreamGoal goal_;
    StreamEnds ends_;
    OnEnd onEnd_;
    ssh_channel channel_;
    ssh_channel_callbacks_struct callbacks_{};
    enum class State { kOpening, kAsking, kRunning } state_ = State::kOpening;
    Sink out_, error_;
    std::string pending_;  // read here, not yet taken by the channel
    int polledIn_ = -1;
    bool isInEnded_ = false, isEofSent_ = false;
    bool isRemoteEof_ = false, isRemoteClosed_ = false, isOutShut_ = false;
    bool isOver_ = false;
    StreamEnd end_;
};

/// ssh(1)'s message for the failure of its channel with this number.
std::string sentenceOf(int number, const StreamEnd& end);

/// Turns libssh's "Channel opening failure: channel 1 error (2) open failed" into "connect failed:
/// open failed".
std::string openFailureOf(const std::string& error);

}  // namespace millrace::libssh
