#include "backend/ring/run_link.h"

#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "backend/ring/c_wall.h"
#include "backend/ring/feed_reader.h"
#include "backend/ring/line_link.h"
#include "backend/ring/step_page.h"

struct millrace_run {
    const pid_t owner = ::getpid();
    std::int64_t rank = 0;
    millrace::ring::StepPage page;
    std::unique_ptr<millrace::ring::LineLink> link;  // its thread writes to the page

    /// Not in a forked child: the thread is not there, the socket is the parent's.
    bool isOwn() const { return ::getpid() == owner; }
};

namespace millrace::ring {
namespace {

std::unique_ptr<millrace_run> openRun(const millrace_run_options& options, std::string& error) {
    auto run = std::make_unique<millrace_run>();
    if (!run->page.open(options.page_path, error)) {
        return nullptr;
    }
    run->rank = options.rank;
    LineLinkOptions link;
    link.socketPath = options.socket_path;
    link.run = options.run;
    link.attempt = options.attempt;
    link.rank = options.rank;
    link.aliveMs = options.alive_ms > 0 ? options.alive_ms : link.aliveMs;
    link.memoryBytes = options.memory_bytes > 0 ? options.memory_bytes : link.memoryBytes;
    link.ended = [run = run.get()] { return run->page.ended(run->rank); };
    link.onStop = [&page = run->page] { page.stop(); };
    link.onCheckpoint = [&page = run->page] { page.wantCheckpoint(); };
    link.onHold = [&page = run->page] { return static_cast<std::int64_t>(page.hold()); };
    link.onStopBehind = [&page = run->page](std::int64_t step) {
        page.stopBehind(static_cast<std::uint64_t>(step));
    };
    run->link = std::make_unique<LineLink>(std::move(link));
    return run;
}

}  // namespace
}  // namespace millrace::ring

namespace ring = millrace::ring;

extern "C" {

int millrace_run_open(const millrace_run_options* options, millrace_run** run, char* error,
                      std::size_t error_bytes) {
    *run = nullptr;
    const auto open = [&]() -> int {
        const bool isWhole = options != nullptr && options->struct_size == sizeof *options &&
                             options->run != nullptr && options->socket_path != nullptr &&
                             options->page_path != nullptr && options->rank >= 0;
        if (!isWhole) {
            ring::writeError("a run needs its name, its socket, its page and a rank", error,
                             error_bytes);
            return MILLRACE_FEED_INVALID;
        }
        std::string why;
        std::unique_ptr<millrace_run> opened = ring::openRun(*options, why);
        if (opened == nullptr || !opened->link->start()) {
            ring::writeError(why.empty() ? "no descriptor is left for the run's link" : why, error,
                             error_bytes);
            return MILLRACE_FEED_FAILED;
        }
        *run = opened.release();
        return 0;
    };
    return ring::walled(open, [&] {
        ring::writeError("no memory, or no thread, for the run's link", error, error_bytes);
        return MILLRACE_FEED_FAILED;
    });
}

void millrace_run_close(millrace_run* run) {
    if (run != nullptr && run->isOwn()) {
        delete run;
    }
}

int millrace_run_preload(millrace_run* run, std::int64_t attempt, std::uint64_t seq,
                         const char* line) {
    if (run == nullptr || !run->isOwn() || line == nullptr) {
        return MILLRACE_FEED_INVALID;
    }
    const auto preload = [&]() -> int {
        run->link->preload(attempt, seq, line);
        return 0;
    };
    return ring::walled(preload, [] { return MILLRACE_FEED_FAILED; });
}

std::int64_t millrace_run_send(millrace_run* run, const char* line) {
    if (run == nullptr || !run->isOwn() || line == nullptr || line[0] != '{') {
        return MILLRACE_FEED_INVALID;
    }
    const auto send = [&]() -> std::int64_t {
        const std::string text = line;
        constexpr std::size_t kSeqBytes = 128;
        if (text.size() + kSeqBytes >= ring::LineLink::kLineBytesMax) {
            return MILLRACE_FEED_INVALID;
        }
        const std::uint64_t seq = run->link->send(text);
        return seq > 0 ? static_cast<std::int64_t>(seq) : std::int64_t{MILLRACE_FEED_FAILED};
    };
    return ring::walled(send, [] { return std::int64_t{MILLRACE_FEED_FAILED}; });
}

int millrace_run_wait(millrace_run* run, std::int64_t timeout_ms) {
    if (run == nullptr || !run->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    return run->link->waitEmpty(timeout_ms) ? 0 : MILLRACE_FEED_TIMEOUT;
}

char* millrace_run_unacked(millrace_run* run) {
    if (run == nullptr || !run->isOwn()) {
        return nullptr;
    }
    return ring::walled([&] { return ring::copyText(run->link->unacked()); },
                        []() -> char* { return nullptr; });
}

std::uint64_t millrace_run_acked(const millrace_run* run) {
    return run != nullptr && run->isOwn() ? run->link->acked() : 0;
}

int millrace_run_begin(millrace_run* run, std::int64_t step, std::int32_t* is_due) {
    if (run == nullptr || !run->isOwn() || step < 1 || is_due == nullptr) {
        return MILLRACE_FEED_INVALID;
    }
    constexpr std::int64_t kHeldNs = 100'000'000;
    using Answer = ring::StepPage::Answer;
    bool isDue = false;
    run->page.end(run->rank, static_cast<std::uint64_t>(step - 1));
    const Answer answer = run->page.beginWithin(static_cast<std::uint64_t>(step), kHeldNs, isDue);
    *is_due = answer == Answer::kGo && isDue ? 1 : 0;
    switch (answer) {
        case Answer::kGo:
            return 0;
        case Answer::kOver:
            return MILLRACE_FEED_ABORTED;
        case Answer::kHeld:
            return MILLRACE_FEED_TIMEOUT;
    }
    return MILLRACE_FEED_FAILED;
}

int millrace_run_is_over(const millrace_run* run, std::int64_t step) {
    if (run == nullptr || !run->isOwn() || step < 1) {
        return 0;
    }
    run->page.end(run->rank, static_cast<std::uint64_t>(step - 1));
    return run->page.isOver(static_cast<std::uint64_t>(step)) ? 1 : 0;
}

}  // extern "C"
