#pragma once
// One channel of a session and the descriptors at its end here: bytes go both ways, each as far as
// the other side takes them, so that no stream holds up another.
//
// Bounded: what is read here waits for the channel's window, one piece at a time; what comes from
// there waits in a buffer of kHighBytes and, behind it, in libssh's window (1.3 MB a channel).
// A descriptor that was given by another process keeps its flags: it is written to when poll() says
// so, and then no more than cannot block.
// Threads: the pump's. Owns: channel and descriptors. Failure: told to the stream's `onEnd`.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include "app/ssh/libssh/poll_set.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

/// What is at the other end.
struct StreamGoal {
    enum class Kind { kCommand, kUnixSocket, kTcp };
    Kind kind = Kind::kCommand;
    std::string text;  ///< the command, the path or the host
    int port = 0;
};

/// What is at this end. Of a socket only `in` is set, which goes both ways.
struct StreamEnds {
    UniqueFd in, out, error;
    bool isSocket = false;
};

struct StreamEnd {
    bool isOpened = false;
    std::string failure;  ///< "connect failed: open failed", as ssh(1) says it; empty: none
    int exitCode = 255;   ///< of a command
};

class Stream {
 public:
    using OnEnd = std::function<void(const StreamEnd&)>;
    static constexpr std::size_t kHighBytes = 256 << 10;

    Stream(ssh_session session, StreamGoal goal, StreamEnds ends, OnEnd onEnd);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// What is to be polled; nothing is read while the session has bytes left to send.
    void wish(PollSet& fds, bool sessionTakes);
    /// Moves what can be moved, after poll().
    void act(const PollSet& fds);
    bool isOver() const { return isOver_; }
    /// Told once, by the pump, when it is over.
    void tellEnd();
    /// Ends it from here, and tells nobody: whoever wanted it is gone.
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
        bool isDead = false;     // nobody reads any more
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

/// What ssh(1) says of the failure of its channel with this number.
std::string sentenceOf(int number, const StreamEnd& end);

/// "connect failed: open failed" of libssh's "Channel opening failure: channel 1 error (2) open
/// failed".
std::string openFailureOf(const std::string& error);

}  // namespace millrace::libssh
