#include "app/ssh/libssh/control.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include "app/ssh/libssh/frames.h"
#include "app/ssh/libssh/questions.h"
#include "backend/system/unix_socket.h"

namespace millrace::libssh {
namespace {

constexpr std::size_t kFirstBytes = 32 << 10;
// Words of a message have no such byte.
constexpr absl::string_view kBetweenWords("\0", 1);

std::vector<std::string> requestOf(const Invocation& invocation) {
    switch (invocation.mode) {
        case Mode::kForward:
            return {"forward", invocation.local, invocation.remote};
        case Mode::kExit:
            return {"exit"};
        case Mode::kExec:
            return {"exec", invocation.command};
        default:
            return {"check"};
    }
}

// Sends the descriptors with the first bytes; the rest of a long command follows.
Status sendRequest(int fd, const std::string& message, bool withStreams) {
    if (!withStreams) {
        return sendFrame(fd, message);
    }
    const std::string bytes = lengthBytes(message.size()) + message;
    const std::size_t first = std::min(bytes.size(), kFirstBytes);
    RETURN_IF_ERROR(sendWithFds(fd, std::string_view(bytes).substr(0, first),
                                {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}));
    return sendBytes(fd, std::string_view(bytes).substr(first));
}

}  // namespace

std::string joinWords(const std::vector<std::string>& words) {
    return absl::StrJoin(words, kBetweenWords);
}

std::vector<std::string> splitWords(const std::string& message) {
    return absl::StrSplit(message, kBetweenWords);
}

Result<int> askMaster(const Invocation& invocation) {
    const std::string message = joinWords(requestOf(invocation));
    if (message.size() > kRequestBytes) {
        return invalidArgument("a command of ", message.size(), " bytes; at most ", kRequestBytes);
    }
    Result<UniqueFd> master = connectOwnUnix(invocation.controlPath);
    if (!master.ok()) {
        return unavailable("Control socket connect(", invocation.controlPath,
                           "): ", messageOf(master.status()));
    }
    RETURN_IF_ERROR(annotate(sendRequest(master->get(), message, invocation.mode == Mode::kExec),
                             "control socket"));
    const Result<std::string> answer = receiveFrame(master->get(), kRequestBytes);
    if (!answer.ok() || answer->empty()) {
        return unavailable("the master at ", invocation.controlPath,
                           " has ended before it answered");
    }
    const std::vector<std::string> words = splitWords(*answer);
    const std::string text = words.size() > 1 ? words[1] : "";
    if (words[0] == "ended") {
        return std::atoi(text.c_str());
    }
    if (words[0] != "ok") {
        return unavailable(text);
    }
    if (!text.empty()) {
        sayOnStderr(text);
    }
    return 0;
}

}  // namespace millrace::libssh
