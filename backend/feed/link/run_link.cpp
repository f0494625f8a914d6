#include "backend/feed/link/run_link.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "backend/feed/c_wall.h"
#include "backend/feed/feed_reader.h"
#include "backend/feed/link/checkpoint_in.h"
#include "backend/feed/link/checkpoint_out.h"
#include "backend/feed/link/page_link.h"

struct millrace_run {
    const pid_t owner = ::getpid();
    std::int64_t rank = 0;
    millrace::ring::StepPage page;
    std::unique_ptr<millrace::ring::LineLink> link;  // its thread writes to the page

    /// False in a forked child: it lacks the thread, and the socket is the parent's.
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
    link.spillPath = options.spill_path;
    agreeThrough(run->page, link);
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
                             options->page_path != nullptr && options->spill_path != nullptr &&
                             options->rank >= 0;
        if (!isWhole) {
            ring::writeError("a run needs its name, its socket, its page, a file and a rank", error,
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

int millrace_run_preload(millrace_run* run, const char* path, char* error,
                         std::size_t error_bytes) {
    if (run == nullptr || !run->isOwn() || path == nullptr) {
        ring::writeError("a run's checkpoint needs its path", error, error_bytes);
        return MILLRACE_FEED_INVALID;
    }
    const auto preload = [&]() -> int {
        ring::CheckpointIn in(path);
        std::vector<std::string> lines;
        int result = in.read(false);
        result = result != 0 ? result : in.lines(lines);
        for (std::size_t i = 0; result == 0 && i < lines.size(); ++i) {
            result = run->link->preload(std::move(lines[i]), in.why) ? 0 : MILLRACE_FEED_FAILED;
        }
        ring::writeError(in.why, error, error_bytes);
        return result;
    };
    return ring::walled(preload, [&] {
        ring::writeError("no memory for lines of a checkpoint", error, error_bytes);
        return MILLRACE_FEED_FAILED;
    });
}

std::int64_t millrace_run_send(millrace_run* run, const char* line, char* error,
                               std::size_t error_bytes) {
    if (run == nullptr || !run->isOwn() || line == nullptr || line[0] != '{') {
        return MILLRACE_FEED_INVALID;
    }
    const auto send = [&]() -> std::int64_t {
        const std::string text = line;
        constexpr std::size_t kSeqBytes = 128;
        if (text.size() + kSeqBytes >= ring::LineLink::kLineBytesMax) {
            return MILLRACE_FEED_INVALID;
        }
        std::string why;
        const std::uint64_t seq = run->link->send(text, why);
        ring::writeError(why, error, error_bytes);
        return seq > 0 ? static_cast<std::int64_t>(seq) : std::int64_t{MILLRACE_FEED_FAILED};
    };
    return ring::walled(send, [&] {
        ring::writeError("no memory for a line", error, error_bytes);
        return std::int64_t{MILLRACE_FEED_FAILED};
    });
}

int millrace_run_wait(millrace_run* run, std::int64_t timeout_ms) {
    if (run == nullptr || !run->isOwn()) {
        return MILLRACE_FEED_INVALID;
    }
    return run->link->waitEmpty(timeout_ms) ? 0 : MILLRACE_FEED_TIMEOUT;
}

std::int64_t millrace_run_checkpoint(millrace_run* run, const millrace_run_file* file,
                                     char checksum[33], char* error, std::size_t error_bytes) {
    const auto write = [&]() -> std::int64_t {
        if (run == nullptr || !run->isOwn() || file == nullptr ||
            file->struct_size != sizeof *file || file->facts == nullptr ||
            file->directory == nullptr || file->name == nullptr) {
            ring::writeError("a checkpoint needs its run, directory, name and facts", error,
                             error_bytes);
            return MILLRACE_FEED_INVALID;
        }
        ring::CheckpointOut out(file->directory, file->name);
        std::vector<std::string> lines;
        if (!run->link->unacked(lines, out.why) || !out.write(*file, lines)) {
            ring::writeError(out.why, error, error_bytes);
            return MILLRACE_FEED_FAILED;
        }
        std::memcpy(checksum, out.checksum().c_str(), out.checksum().size() + 1);
        return static_cast<std::int64_t>(out.bytes());
    };
    return ring::walled(write, [&] {
        ring::writeError("no memory for a checkpoint", error, error_bytes);
        return std::int64_t{MILLRACE_FEED_FAILED};
    });
}

int millrace_checkpoint_read(const char* path, std::int32_t is_whole, char** header,
                             std::uint64_t* values, char* error, std::size_t error_bytes) {
    if (path == nullptr || header == nullptr || values == nullptr) {
        ring::writeError("a checkpoint needs its path", error, error_bytes);
        return MILLRACE_FEED_INVALID;
    }
    *header = nullptr;
    const auto noMemory = [&]() -> int {
        ring::writeError("no memory to read a checkpoint", error, error_bytes);
        return MILLRACE_FEED_FAILED;
    };
    const auto read = [&]() -> int {
        ring::CheckpointIn in(path);
        if (const int result = in.read(is_whole != 0)) {
            ring::writeError(in.why, error, error_bytes);
            return result;
        }
        *values = in.values();
        *header = ring::copyText(in.header());
        return *header != nullptr ? 0 : noMemory();
    };
    return ring::walled(read, noMemory);
}

int millrace_run_begin(millrace_run* run, std::int64_t step) {
    if (run == nullptr || !run->isOwn() || step < 1) {
        return MILLRACE_FEED_INVALID;
    }
    using Answer = ring::StepPage::Answer;
    switch (ring::beginStep(run->page, run->rank, step)) {
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
    return ring::isOverBefore(run->page, run->rank, step) ? 1 : 0;
}

std::int64_t millrace_run_acked(const millrace_run* run) {
    return run == nullptr || !run->isOwn() ? 0 : static_cast<std::int64_t>(run->link->acked());
}

int millrace_run_checkpoint_due(millrace_run* run, std::int64_t step, std::int64_t every,
                                std::int64_t excess) {
    if (run == nullptr || !run->isOwn() || step < 1 || every < 1 || step % every != 0) {
        return 0;
    }
    if (run->rank == 0) {
        run->page.setExcess(static_cast<std::uint64_t>(std::max<std::int64_t>(excess, 0)));
    }
    const bool isDue = run->page.isCheckpointDue(static_cast<std::uint64_t>(step),
                                                 static_cast<std::uint64_t>(every));
    return isDue ? 1 : 0;
}

}  // extern "C"
