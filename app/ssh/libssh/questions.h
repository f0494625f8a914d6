#pragma once
// Questions to the person, put as ssh(1) puts them: the program that SSH_ASKPASS names is run with
// the prompt as its one argument, and its first line is the answer.
//
// Threads: one, a lasting one (the program dies with it). Failure: no answer, when there is no
// program, it ends with another code than 0, or nothing may be asked (BatchMode).
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
    /// Of this process's environment; without a program nothing is ever answered.
    static AskPass ofEnvironment();
    explicit AskPass(std::string program) : program_(std::move(program)) {}
    std::optional<Secret> ask(const std::string& prompt) override;

 private:
    std::string program_;
};

/// BatchMode: nobody is there.
class NoQuestions : public Questions {
 public:
    std::optional<Secret> ask(const std::string& prompt) override;
};

/// A line on this process's stderr, as one write.
void sayOnStderr(const std::string& line);

}  // namespace millrace::libssh
