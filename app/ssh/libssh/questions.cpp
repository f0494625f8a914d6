#include "app/ssh/libssh/questions.h"

#include <cerrno>
#include <cstdlib>

#include <unistd.h>

#include "backend/system/pipe.h"
#include "backend/system/subprocess.h"

namespace millrace::libssh {
namespace {

// Reads the program's output to its end; drops what does not fit.
std::optional<Secret> readAnswer(int fd) {
    Secret answer;
    char bytes[512];
    while (true) {
        const ssize_t n = ::read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n > 0) {
            answer.append({bytes, static_cast<std::size_t>(n)});
            continue;
        }
        wipe(bytes, sizeof bytes);
        if (n < 0) {
            return std::nullopt;
        }
        answer.cutAt('\n');
        answer.cutAt('\r');
        return answer;
    }
}

}  // namespace

AskPass AskPass::ofEnvironment() {
    const char* program = std::getenv("SSH_ASKPASS");
    return AskPass(program == nullptr ? "" : program);
}

std::optional<Secret> AskPass::ask(const std::string& prompt) {
    if (program_.empty()) {
        sayOnStderr("millrace-ssh: nobody can be asked: SSH_ASKPASS names no program");
        return std::nullopt;
    }
    UniqueFd readEnd, writeEnd;
    if (!makePipe(readEnd, writeEnd).ok()) {
        return std::nullopt;
    }
    SubprocessOptions options;
    options.argv = {program_, prompt};
    options.stdoutFd = writeEnd.get();
    options.dieWithParent = true;
    Result<Subprocess> child = Subprocess::start(options);
    writeEnd.reset();
    if (!child.ok()) {
        sayOnStderr(strCat("ssh_askpass: ", messageOf(child.status())));
        return std::nullopt;
    }
    std::optional<Secret> answer = readAnswer(readEnd.get());
    const Result<int> code = child->wait();
    if (!code.ok() || *code != 0) {
        return std::nullopt;
    }
    return answer;
}

std::optional<Secret> NoQuestions::ask(const std::string&) {
    return std::nullopt;
}

void sayOnStderr(const std::string& line) {
    const std::string whole = line + "\n";
    // Ignores a failed write: a caller that closed its stderr does not want the message.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

}  // namespace millrace::libssh
