#pragma once
// TcpGate: listens on HOST:PORT and passes each connection to a server once the peer has sent its
// first bytes (of TLS or HTTP/2), which honest clients send at once.
//
// It limits what strangers can occupy before the server knows them, in three ways:
// - silent connections (number and time)
// - connections passed on a moment ago (number; the server ends those that do not finish their
//   handshake within handshakeTime)
// - descriptors (the process's last kReserved are for its other listeners and files)
//
// Connections without room wait in the kernel's queue. Threads: one of its own ("tcp-gate").
// Owns: the listening and the silent sockets. Failure: of open(), an error with the address;
// refused connections are logged, once per minute.
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

/// Time for a TCP connection to identify its peer.
inline constexpr std::chrono::milliseconds kHandshakeTime{5'000};

struct TcpGateOptions {
    std::size_t silentMost = 128;
    std::chrono::milliseconds silentTime = kHandshakeTime;
    /// A connection silent for longer than this is closed if others wait for its place.
    std::chrono::milliseconds silentTimeInCrowd{500};
    /// Limit of connections passed on within the last handshakeTime; half of the descriptors if
    /// that is less.
    std::size_t shakingMost = 2'048;
    std::chrono::milliseconds handshakeTime = kHandshakeTime;
};

class TcpGate {
 public:
    /// Descriptors of the process that connections never use; a quarter of all if that is less.
    static constexpr int kReserved = 256;

    /// `port` 0: any free port. `take` gets a connected, non-blocking socket and owns it.
    static Result<std::unique_ptr<TcpGate>> open(const std::string& host, int port,
                                                 std::function<void(int fd)> take,
                                                 TcpGateOptions options = {});
    ~TcpGate();
    int port() const { return port_; }

 private:
    using Time = std::chrono::steady_clock::time_point;
    struct Silent {
        UniqueFd socket;
        Time since;
    };

    TcpGate(std::vector<UniqueFd> listeners, int port, UniqueFd wake, std::function<void(int)> take,
            TcpGateOptions options);
    void loop(const std::stop_token& stop);
    void wait(Time now);
    /// Passes on the connections that sent bytes and closes those that were silent for too long.
    void look(Time now);
    void accept(int listener, Time now);
    bool isShakingFull(Time now);
    /// Whether one more silent connection fits, perhaps by replacing the oldest.
    bool hasRoom(Time now);
    void refused(const char* why, Time now);

    const std::vector<UniqueFd> listeners_;
    const int port_;
    const UniqueFd wake_;
    const std::function<void(int)> take_;
    const TcpGateOptions options_;
    const std::size_t shakingMost_;
    std::deque<Silent> silent_;  ///< oldest first
    std::deque<Time> shaking_;   ///< when they were passed on, oldest first
    Time restsUntil_{};          ///< pause after no descriptor was free
    Time logsAt_{};
    std::size_t numRefused_ = 0;  ///< since the last log line
    std::jthread thread_;
};

}  // namespace millrace
