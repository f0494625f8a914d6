#pragma once
// TcpGate: listens on HOST:PORT and hands each connection on to a server once the other end has
// sent its first bytes (of TLS or HTTP/2), which no honest client keeps back.
//
// It bounds what strangers can hold before the server knows them, in three ways: connections that
// are silent (number and time), connections that were handed on a moment ago (number; the server
// ends those that do not finish their handshake, within handshakeTime), and descriptors (the last
// kReserved of the process are for its other doors and files). What finds no room waits in the
// kernel's queue. Threads: one of its own ("tcp-gate"). Owns: the listening and the silent sockets.
// Failure: of open(), a sentence with the address; refused connections are logged, once a minute.
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

/// How long a connection over TCP may take to show who is there.
inline constexpr std::chrono::milliseconds kHandshakeTime{5'000};

struct TcpGateOptions {
    std::size_t silentMost = 128;
    std::chrono::milliseconds silentTime = kHandshakeTime;
    /// One that has been silent for longer is ended when others wait for its place.
    std::chrono::milliseconds silentTimeInCrowd{500};
    /// Handed on within the last handshakeTime; half of the descriptors where that is less.
    std::size_t shakingMost = 2'048;
    std::chrono::milliseconds handshakeTime = kHandshakeTime;
};

class TcpGate {
 public:
    /// Descriptors of the process that no connection here gets; a quarter of all where that is
    /// less.
    static constexpr int kReserved = 256;

    /// `port` 0: a free one. `take` gets a connected, non-blocking socket that is then its own.
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
    /// Hands on those that have spoken and closes those that were silent for too long.
    void look(Time now);
    void accept(int listener, Time now);
    bool isShakingFull(Time now);
    /// For one more silent one, perhaps instead of the oldest.
    bool hasRoom(Time now);
    void refused(const char* why, Time now);

    const std::vector<UniqueFd> listeners_;
    const int port_;
    const UniqueFd wake_;
    const std::function<void(int)> take_;
    const TcpGateOptions options_;
    const std::size_t shakingMost_;
    std::deque<Silent> silent_;  ///< the oldest first
    std::deque<Time> shaking_;   ///< when they were handed on, the oldest first
    Time restsUntil_{};          ///< no descriptor was free
    Time logsAt_{};
    std::size_t numRefused_ = 0;  ///< since the last line of the log
    std::jthread thread_;
};

}  // namespace millrace
