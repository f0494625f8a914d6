#pragma once
// Asks the person questions as ssh(1) does: runs the program that SSH_ASKPASS names with the prompt
// as its one argument, and takes its first line as the answer.
//
// Threads: one, which must be long-lived (the program dies with it). Failure: no answer, if the
// program is missing, it ends with a code other than 0, or BatchMode forbids questions.
#include <optional>
#include <string>

#include "backend/system/secrets.h"

namespace millrace::libssh {

class Questions {
 public:
    virtual ~Questions() = default;
    virtual std::optional<Secret> ask(const std::string& prompt) = 0;
};

class AskPass : public Questions {
 public:
    /// Reads this process's environment; without a program every question stays unanswered.
    static AskPass ofEnvironment();
    explicit AskPass(std::string program) : program_(std::move(program)) {}
    std::optional<Secret> ask(const std::string& prompt) override;

 private:
    std::string program_;
};

/// BatchMode: nobody can be asked.
class NoQuestions : public Questions {
 public:
    std::optional<Secret> ask(const std::string& prompt) override;
};

/// Writes a line to this process's stderr, in one write.
void sayOnStderr(const std::string& line);

}  // namespace millrace::libssh
