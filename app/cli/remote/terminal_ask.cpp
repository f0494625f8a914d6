#include "app/cli/remote/terminal_ask.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "app/tui/glyphs.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::cli {
namespace {

constexpr int kLookMs = 100;

// Switches echo off for the lifetime of this object.
class Unseen {
 public:
    explicit Unseen(int fd) : fd_(fd), isSet_(::tcgetattr(fd, &before_) == 0) {
        if (isSet_) {
            termios quiet = before_;
            quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
            quiet.c_lflag |= ECHONL;
            ::tcsetattr(fd_, TCSAFLUSH, &quiet);
        }
    }
    ~Unseen() {
        if (isSet_) {
            ::tcsetattr(fd_, TCSADRAIN, &before_);
        }
    }
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;

 private:
    const int fd_;
    termios before_{};
    const bool isSet_;
};

void say(int fd, const std::string& text) {
    (void)!::write(fd, text.data(), text.size());
}

// The question without control characters, and without ssh's own last line if ours replaces it.
std::string shownText(const ssh::Question& question) {
    std::string text;
    for (std::string_view rest = question.text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string line = tui::printable(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const bool isReplaced = question.kind == ssh::QuestionKind::kHostKey && rest.empty();
        text += isReplaced ? "" : line + (rest.empty() ? "" : "\n");
    }
    return text;
}

class TerminalAsk {
 public:
    TerminalAsk(UniqueFd terminal, const std::atomic<int>& interrupts,
                const std::atomic<bool>& isTaken)
        : terminal_(std::move(terminal)), interrupts_(interrupts), isTaken_(isTaken) {}

    std::optional<Secret> ask(const ssh::Question& question, const std::stop_token& stop)
        MR_EXCLUDES(mutex_) {
        MutexLock one(mutex_);
        if (isTaken_) {
            return std::nullopt;
        }
        // Before the question is printed: an answer that was typed ahead is not echoed either.
        std::optional<Unseen> unseen;
        if (question.kind == ssh::QuestionKind::kSecret) {
            unseen.emplace(terminal_.get());
        }
        say(terminal_.get(), shownText(question));
        switch (question.kind) {
            case ssh::QuestionKind::kNotice:
                say(terminal_.get(), "\n");
                waitFor(stop);
                return std::nullopt;
            case ssh::QuestionKind::kHostKey:
                say(terminal_.get(), "Trust this key and go on? (yes, no, or its fingerprint) ");
                return keyAnswer(stop);
            case ssh::QuestionKind::kSecret:
            case ssh::QuestionKind::kCode:
            case ssh::QuestionKind::kConfirm:
                break;
        }
        return line(stop);
    }

 private:
    // An empty line trusts no key.
    std::optional<Secret> keyAnswer(const std::stop_token& stop) {
        std::optional<Secret> answer = line(stop);
        return answer.has_value() && answer->view().empty() ? std::optional(Secret("no"))
                                                            : std::move(answer);
    }

    bool isOver(const std::stop_token& stop) const {
        return stop.stop_requested() || interrupts_ > 0;
    }

    void waitFor(const std::stop_token& stop) {
        while (!isOver(stop)) {
            ::poll(nullptr, 0, kLookMs);
        }
    }

    // Reads to the end of the line; returns nothing if it is given up.
    std::optional<Secret> line(const std::stop_token& stop) {
        Secret typed;
        while (true) {
            pollfd input{terminal_.get(), POLLIN, 0};
            const int ready = ::poll(&input, 1, kLookMs);
            if (isOver(stop)) {
                say(terminal_.get(), "\n");
                return std::nullopt;
            }
            if (ready <= 0) {
                continue;
            }
            char byte = 0;
            const ssize_t n = ::read(terminal_.get(), &byte, 1);
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                return std::nullopt;
            }
            if (byte == '\n') {
                return typed;
            }
            typed.append({&byte, 1});
        }
    }

    UniqueFd terminal_;
    const std::atomic<int>& interrupts_;
    const std::atomic<bool>& isTaken_;
    Mutex mutex_;
};

}  // namespace

ssh::Ask terminalAsk(const std::atomic<int>& interrupts, const std::atomic<bool>& isTaken) {
    UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal.isOpen()) {
        return {};
    }
    const auto asker = std::make_shared<TerminalAsk>(std::move(terminal), interrupts, isTaken);
    return [asker](const ssh::Question& question, const std::stop_token& stop) {
        return asker->ask(question, stop);
    };
}

}  // namespace millrace::cli
