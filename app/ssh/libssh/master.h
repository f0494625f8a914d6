#pragma once
// Master: one session with a host, its command, and a control socket through which this user's
// other processes reach that host.
//
// It ends with its command, with a signal, with "exit" on the control socket, or with the
// connection. Then its sockets are removed: the control socket and those of all forwards. Threads:
// one, the pump's. Failure: open() in ssh(1)'s words.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/ssh/libssh/pump.h"
#include "backend/core/unique_fd.h"
#include "backend/system/unix_listener.h"

namespace millrace::libssh {

class Master : public PumpGuest {
 public:
    /// Listens on `controlPath`. `signals`: a pipe that receives the number of each signal.
    static Result<std::unique_ptr<Master>> open(Pump& pump, const std::string& controlPath,
                                                int signals);
    ~Master() override;

    /// Runs the master's own command, with this process's stdin, stdout and stderr.
    void start(const std::string& command);
    int exitCode() const { return exitCode_; }

    void wish(PollSet& fds) override;
    void act(const PollSet& fds) override;
    bool isOver() const override { return isOver_; }
    Time wakeAt() const override;

 private:
    // A process connected to the control socket.
    struct Client {
        UniqueFd fd;
        std::string bytes;            // of the request, so far
        std::vector<UniqueFd> given;  // the descriptors that came with it
        std::string answer;           // not sent yet
        Stream* stream = nullptr;     // its command's
        bool isAsked = false;         // the request is complete
        bool isGone = false;
        Time since;
        int polled = -1;
    };
    struct Forward {
        UnixListener listener;
        std::string remote;
        int polled = -1;
    };

    Master(Pump& pump, UnixListener listener, int signals)
        : pump_(pump), listener_(std::move(listener)), signals_(signals) {}
    void acceptClient();
    void hear(Client& client);
    void serve(Client& client, const std::vector<std::string>& words);
    void exec(Client& client, const std::string& command);
    void forward(Client& client, const std::string& local, const std::string& remote);
    void connectForward(Forward& forward);
    void answer(Client& client, const std::vector<std::string>& words);
    void speak(Client& client);
    void leave(Client& client);
    void end(int exitCode, const std::string& sentence);

    Pump& pump_;
    UnixListener listener_;
    int signals_;
    int polledListener_ = -1, polledSignals_ = -1;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<Forward> forwards_;
    int numChannels_ = 0;  // numbers the channels in messages
    int exitCode_ = 255;
    bool isOver_ = false;
};

}  // namespace millrace::libssh
