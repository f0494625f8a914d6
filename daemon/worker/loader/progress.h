#pragma once
// Progress for people while a role works, and its reaction to Ctrl-C.
//
// On a terminal, one line with a bar, rate and remaining time; otherwise a line at intervals. All
// of it on stderr: stdout is for the answer.
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "backend/core/status.h"
#include "backend/core/thread.h"
#include "backend/core/unique_fd.h"

namespace millrace::loader {

/// The terminal of a descriptor: its width (COLUMNS overrides; 0: none, nothing is cut) and whether
/// it can show block characters (by LC_ALL, LC_CTYPE, LANG).
struct Screen {
    bool isTty = false;
    int width = 0;
    bool isUtf8 = false;
    static Screen of(int fd);
};

/// Threads: one.
class ProgressLine {
 public:
    /// `unit`: "rows", "row groups".
    ProgressLine(std::int64_t total, std::string unit);
    ~ProgressLine();  ///< wipes the line
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    void show(std::int64_t done, double seconds);
    void setNote(std::string note) { note_ = std::move(note); }
    /// Shows a sentence instead of the bar if the total is not known; only on a
    /// terminal.
    void say(const std::string& sentence);

    /// The line, at most `width` characters.
    std::string text(std::int64_t done, double seconds, int width) const;

 private:
    const std::int64_t total_;
    const std::string unit_;
    const Screen screen_;
    std::string note_;
    bool isShown_ = false;
    double lastLine_ = 0;
};

/// SIGINT and SIGTERM as events. Create it before the first thread, so that threads inherit the
/// blocked signals.
class Watch {
 public:
    Watch();
    /// Returns true if a signal arrived within the time.
    bool wait(int timeoutMs) const;
    /// Discards the signals that arrived.
    void drain() const;

    /// Runs `body` (until it ends or a signal asks it to stop) and meanwhile calls `tick` with the
    /// seconds since its start.
    Status run(const std::function<Status(std::stop_token)>& body,
               const std::function<void(double)>& tick) const;

 private:
    UniqueFd signals_;
};

}  // namespace millrace::loader
