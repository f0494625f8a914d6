#pragma once
// The way of ssh's questions to this process: ssh runs the program of SSH_ASKPASS with the question
// as its argument and reads the answer from its output (ssh(1)). That program is this one again; it
// hands the question over a socket to the process whose connection it is.
//
// A door in a directory of this user's alone; peers of another user are turned away. Threads: one
// ("mr-askpass"), which calls Ask; joined by the destructor. Failure: a question that nobody can
// answer is given up, and ssh says what came of it.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/ssh/questions.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::ssh {

class AskpassDoor {
 public:
    /// Listens in `directory` (0700).
    static Result<std::unique_ptr<AskpassDoor>> open(const std::string& directory, std::string host,
                                                     Ask ask);
    ~AskpassDoor();
    AskpassDoor(const AskpassDoor&) = delete;
    AskpassDoor& operator=(const AskpassDoor&) = delete;

    /// What ssh's environment needs; `program`: this one.
    std::vector<std::string> environment(const std::string& program) const;
    /// Somebody is being asked right now.
    bool isAsking() const { return isAsking_; }
    /// A question was given up, or a host key not accepted.
    bool wasGivenUp() const { return wasGivenUp_; }

 private:
    AskpassDoor(std::string path, UniqueFd listener, std::string host, Ask ask);
    void run(std::stop_token stop);
    void serve(UniqueFd peer, const std::stop_token& stop);

    const std::string path_, host_;
    const Ask ask_;
    UniqueFd listener_, wakeRead_, wakeWrite_;
    std::atomic<bool> isAsking_{false}, wasGivenUp_{false};
    std::jthread thread_;
};

/// In main(), before anything else: when ssh runs this program to ask something, asks it and
/// returns the exit code; nothing otherwise.
std::optional<int> answerAsAskpass(int argc, char** argv);

}  // namespace millrace::ssh
