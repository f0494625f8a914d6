#include "app/ssh/askpass.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/thread.h"
#include "backend/core/whole_io.h"
#include "backend/system/pipe.h"
#include "backend/system/unix_socket.h"

namespace millrace::ssh {
namespace {

constexpr const char* kSocketVariable = "MILLRACE_ASKPASS_SOCKET";
constexpr std::size_t kQuestionBytesMax = 16'384;
constexpr int kRestMs = 100;
// Precedes an answer; without it, the question was given up.
constexpr char kAnswered = '+';

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

bool hasOneOf(const std::string& text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(
        words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// Reads until the peer closes its end or `wake` is closed; at most kQuestionBytesMax.
std::string readQuestion(int fd, int wake) {
    std::string text;
    char buffer[1'024];
    while (text.size() < kQuestionBytesMax) {
        pollfd fds[2] = {{fd, POLLIN, 0}, {wake, POLLIN, 0}};
        if (::poll(fds, 2, -1) < 0) {
            continue;
        }
        if (fds[1].revents != 0) {
            break;
        }
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
}

// The listener's answer, "+ANSWER", byte by byte into memory that is wiped.
std::optional<Secret> readAnswer(int fd) {
    Secret answer;
    bool isFirst = true, isAnswered = false;
    for (char byte = 0;;) {
        const ssize_t n = ::read(fd, &byte, 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        if (isFirst) {
            isAnswered = byte == kAnswered;
            isFirst = false;
        } else if (!answer.append({&byte, 1})) {
            return std::nullopt;
        }
    }
    return isAnswered ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace

QuestionKind kindOf(std::string_view text, std::string_view hint) {
    const std::string words = lower(text);
    if (hint == "none") {
        return QuestionKind::kNotice;
    }
    if (hasOneOf(words, {"authenticity of host", "or the fingerprint", "yes/no/[fingerprint]"})) {
        return QuestionKind::kHostKey;
    }
    if (hint == "confirm" || hasOneOf(words, {"(yes/no)"})) {
        return QuestionKind::kConfirm;
    }
    const bool isHidden = hasOneOf(words, {"passphrase", "password", "pin"});
    const bool isCode = hasOneOf(words, {"code", "token", "otp", "one-time", "verification"});
    return isCode && !isHidden ? QuestionKind::kCode : QuestionKind::kSecret;
}

Result<std::unique_ptr<AskpassListener>> AskpassListener::open(const std::string& directory,
                                                               std::string host, Ask ask) {
    const std::string path = directory + "/ask";
    ASSIGN_OR_RETURN(UniqueFd listener, listenUnix(path, 8));
    UniqueFd wakeRead, wakeWrite;
    RETURN_IF_ERROR(makePipe(wakeRead, wakeWrite));
    std::unique_ptr<AskpassListener> made(
        new AskpassListener(path, std::move(listener), std::move(host), std::move(ask)));
    made->wakeRead_ = std::move(wakeRead);
    made->wakeWrite_ = std::move(wakeWrite);
    made->thread_ = startThread(
        "mr-askpass", [raw = made.get()](std::stop_token stop) { raw->run(std::move(stop)); });
    return made;
}

AskpassListener::AskpassListener(std::string path, UniqueFd listener, std::string host, Ask ask)
    : path_(std::move(path)),
      host_(std::move(host)),
      ask_(std::move(ask)),
      listener_(std::move(listener)) {}

AskpassListener::~AskpassListener() {
    thread_.request_stop();
    wakeWrite_.reset();
    thread_.join();
    ::unlink(path_.c_str());
}

std::vector<std::string> AskpassListener::environment(const std::string& program) const {
    // ssh before 8.4 does not know SSH_ASKPASS_REQUIRE; it asks the program only if DISPLAY is set.
    const char* display = std::getenv("DISPLAY");
    return {"SSH_ASKPASS=" + program, "SSH_ASKPASS_REQUIRE=force",
            strCat("DISPLAY=", display != nullptr && *display != '\0' ? display : "none"),
            strCat(kSocketVariable, "=", path_)};
}

void AskpassListener::run(std::stop_token stop) {
    while (!stop.stop_requested()) {
        pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {wakeRead_.get(), POLLIN, 0}};
        if (::poll(fds, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        if (stop.stop_requested() || fds[0].revents == 0) {
            continue;
        }
        UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
        if (!peer.isOpen()) {
            // Out of descriptors: pause, because poll() would report the waiting peer again at
            // once.
            pollfd ourEnd{wakeRead_.get(), POLLIN, 0};
            ::poll(&ourEnd, 1, kRestMs);
            continue;
        }
        const Result<uid_t> uid = peerUid(peer.get());
        if (uid.ok() && isOwnUid(*uid)) {
            serve(std::move(peer), stop);
        }
    }
}

void AskpassListener::serve(UniqueFd peer, const std::stop_token& stop) {
    const std::string said = readQuestion(peer.get(), wakeRead_.get());
    if (stop.stop_requested()) {
        return;
    }
    const std::size_t end = std::min(said.find('\n'), said.size());
    Question question;
    question.host = host_;
    question.text = said.substr(std::min(end + 1, said.size()));
    question.kind = kindOf(question.text, said.substr(0, end));
    // A notice is over when the process that asked closes this connection.
    std::stop_source over;
    const std::stop_callback onStop(stop, [&over] { over.request_stop(); });
    const std::jthread watcher = startThread("mr-asker", [&](std::stop_token done) {
        while (!done.stop_requested() && !over.stop_requested()) {
            pollfd gone{peer.get(), POLLHUP | POLLERR, 0};
            if (::poll(&gone, 1, 100) > 0) {
                over.request_stop();
            }
        }
    });
    isAsking_ = true;
    const std::optional<Secret> answer = ask_(question, over.get_token());
    isAsking_ = false;
    const bool isRefusedKey =
        question.kind == QuestionKind::kHostKey && answer.has_value() && answer->view() == "no";
    if (question.kind != QuestionKind::kNotice && (!answer.has_value() || isRefusedKey)) {
        wasGivenUp_ = true;
    }
    if (answer.has_value() && writeAll(peer.get(), {&kAnswered, 1})) {
        writeAll(peer.get(), answer->view());
    }
}

std::optional<int> answerAsAskpass(int argc, char** argv) {
    const char* socket = std::getenv(kSocketVariable);
    if (socket == nullptr || *socket == '\0' || argc != 2) {
        return std::nullopt;
    }
    std::signal(SIGPIPE, SIG_IGN);
    const char* hint = std::getenv("SSH_ASKPASS_PROMPT");
    const Result<UniqueFd> made = connectOwnUnix(socket);
    if (!made.ok() || !writeAll(made->get(), strCat(hint == nullptr ? "" : hint, "\n", argv[1])) ||
        ::shutdown(made->get(), SHUT_WR) != 0) {
        return 1;
    }
    const std::optional<Secret> answer = readAnswer(made->get());
    if (!answer.has_value()) {
        return 1;
    }
    if (hint != nullptr && std::string_view(hint) == "confirm") {
        return answer->view() == "yes" ? 0 : 1;
    }
    return writeAll(STDOUT_FILENO, answer->view()) && writeAll(STDOUT_FILENO, "\n") ? 0 : 1;
}

}  // namespace millrace::ssh
