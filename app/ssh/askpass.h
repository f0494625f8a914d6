#pragma once
// AskpassListener: brings ssh's questions to the process that owns the connection. ssh runs the
// program of SSH_ASKPASS with the question as its argument and reads the answer from its output
// (ssh(1)). That program is this one again, which sends the question over a socket to the owning
// process.
//
// Listens in a directory that only this user can enter, and rejects peers of other users. Threads:
// one ("mr-askpass"), which calls Ask; joined by the destructor. Failure: a question without an
// answer is given up, and ssh reports the consequence.
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

class AskpassListener {
 public:
    /// Listens in `directory` (0700).
    static Result<std::unique_ptr<AskpassListener>> open(const std::string& directory,
                                                         std::string host, Ask ask);
    ~AskpassListener();

    /// The variables that ssh's environment needs; `program`: the path of this program.
    std::vector<std::string> environment(const std::string& program) const;
    /// Whether a question is open right now.
    bool isAsking() const { return isAsking_; }
    /// A question was given up, or a host key not accepted.
    bool wasGivenUp() const { return wasGivenUp_; }

 private:
    AskpassListener(std::string path, UniqueFd listener, std::string host, Ask ask);
    void run(std::stop_token stop);
    void serve(UniqueFd peer, const std::stop_token& stop);

    const std::string path_, host_;
    const Ask ask_;
    UniqueFd listener_, wakeRead_, wakeWrite_;
    std::atomic<bool> isAsking_{false}, wasGivenUp_{false};
    std::jthread thread_;
};

/// Call first in main(): if ssh runs this program to ask a question, asks it and returns the exit
/// code; returns nothing otherwise.
std::optional<int> answerAsAskpass(int argc, char** argv);

}  // namespace millrace::ssh
