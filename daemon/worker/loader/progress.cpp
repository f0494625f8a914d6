#include "daemon/worker/loader/progress.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/stream/explain.h"

namespace millrace::loader {

namespace {

constexpr double kSecondsPerPlainLine = 10;
constexpr double kTickSeconds = 0.2;
constexpr int kLeastBar = 8, kMostBar = 30;

bool isUtf8Locale() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr && *value != 0) {
            std::string text = value;
            std::transform(text.begin(), text.end(), text.begin(),
                           [](unsigned char c) { return std::tolower(c); });
            return text.find("utf-8") != std::string::npos ||
                   text.find("utf8") != std::string::npos;
        }
    }
    return false;
}

}  // namespace

Screen Screen::of(int fd) {
    Screen screen;
    screen.isTty = ::isatty(fd) != 0;
    screen.isUtf8 = isUtf8Locale();
    const char* const columns = std::getenv("COLUMNS");
    const int given = columns == nullptr ? 0 : std::atoi(columns);
    winsize size{};
    if (given > 0) {
        screen.width = std::clamp(given, 20, 1000);
    } else if (screen.isTty) {
        const bool isKnown = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
        screen.width = isKnown ? std::max<int>(20, size.ws_col) : 80;
    }
    return screen;
}

ProgressLine::ProgressLine(std::int64_t total, std::string unit)
    : total_(total), unit_(std::move(unit)), screen_(Screen::of(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
    if (isShown_) {
        std::fputs("\r\x1b[K", stderr);
    }
}

std::string ProgressLine::text(std::int64_t done, double seconds, int width) const {
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 0;
    const std::string percent = strCat(static_cast<int>(100 * std::clamp(share, 0.0, 1.0)), " %");
    std::string left;
    if (rate > 0 && total_ > done) {
        left = strCat("  ", formatDuration(static_cast<double>(total_ - done) / rate), " left");
    }
    // The least important parts are dropped first if the line is short.
    const std::string note = note_.empty() ? "" : strCat("  ", note_);
    char slow[32];
    std::snprintf(slow, sizeof slow, "%.1f", rate);
    const std::string speed =
        strCat("  ", rate < 10 ? std::string(slow) : formatCount(static_cast<std::int64_t>(rate)),
               " ", unit_, "/s");
    const std::string count =
        strCat("  ", formatCount(done), " of ", formatCount(total_), " ", unit_);
    std::string line = percent;
    for (const std::string& part : {left, speed, count, note}) {
        if (width == 0 || displayWidth(line) + displayWidth(part) <= width) {
            line += part;
        }
    }
    const int room = width == 0 ? 0 : width - displayWidth(line) - 3;
    if (room < kLeastBar) {
        return line;
    }
    const int bar = std::min(room, kMostBar);
    std::string drawn = barText(share, bar, screen_.isUtf8);
    drawn.append(static_cast<std::size_t>(std::max(0, bar - displayWidth(drawn))),
                 screen_.isUtf8 ? ' ' : '.');
    return strCat("[", drawn, "] ", line);
}

void ProgressLine::show(std::int64_t done, double seconds) {
    if (seconds <= 0 || total_ <= 0) {
        return;
    }
    if (screen_.isTty) {
        // One column stays free: some terminals wrap a line that fills the last one.
        std::fprintf(stderr, "\r%s\x1b[K", text(done, seconds, screen_.width - 1).c_str());
        std::fflush(stderr);
        isShown_ = true;
        return;
    }
    if (seconds - lastLine_ >= kSecondsPerPlainLine) {
        lastLine_ = seconds;
        std::fprintf(stderr, "%s\n", text(done, seconds, 0).c_str());
    }
}

void ProgressLine::say(const std::string& sentence) {
    if (screen_.isTty) {
        std::fprintf(stderr, "\r%s\x1b[K",
                     sentence.substr(0, static_cast<std::size_t>(screen_.width - 1)).c_str());
        std::fflush(stderr);
        isShown_ = true;
    }
}

Watch::Watch() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool Watch::wait(int timeoutMs) const {
    pollfd fds{signals_.get(), POLLIN, 0};
    return ::poll(&fds, 1, timeoutMs) > 0;
}

void Watch::drain() const {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    }
}

Status Watch::run(const std::function<Status(std::stop_token)>& body,
                  const std::function<void(double)>& tick) const {
    // The body's end wakes this thread: otherwise a short stream would wait for the next look, some
    // milliseconds later.
    const UniqueFd ended(::eventfd(0, EFD_CLOEXEC));
    if (!ended.isOpen()) {
        return errnoStatus(errno, "eventfd");
    }
    Status result;
    const double start = secondsSinceStart();
    std::jthread runner = startThread("stream", [&](std::stop_token stop) {
        result = body(std::move(stop));
        ::eventfd_write(ended.get(), 1);
    });
    pollfd fds[2] = {{ended.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    for (double nextTick = start + kTickSeconds;;) {
        const double leftMs = 1e3 * (nextTick - secondsSinceStart());
        const int ready = ::poll(fds, 2, static_cast<int>(std::ceil(std::max(0.0, leftMs))));
        if (ready > 0 && fds[0].revents != 0) {
            break;
        }
        if (ready > 0 && fds[1].revents != 0) {
            runner.request_stop();
            fds[1].fd = -1;  // asked once; the body ends by itself
        }
        if (const double now = secondsSinceStart(); now >= nextTick) {
            tick(now - start);
            nextTick = now + kTickSeconds;
        }
    }
    runner.join();
    return result;
}

}  // namespace millrace::loader
