#pragma once
// What a person sees while a role works, and how Ctrl-C reaches it.
//
// On a terminal one line with a bar, rate and time left; otherwise a line now and then. All of it
// on stderr: stdout is for the answer.
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "backend/core/status.h"
#include "backend/core/thread.h"
#include "backend/core/unique_fd.h"

namespace millrace::loader {

/// The terminal behind a descriptor: its width (COLUMNS decides; 0: none, nothing is cut) and
/// whether it shows block characters (by LC_ALL, LC_CTYPE, LANG).
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
    ~ProgressLine();  ///< the line is wiped
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    void show(std::int64_t done, double seconds);
    void setNote(std::string note) { note_ = std::move(note); }
    /// Where there is no end to count towards: a sentence in place of the bar, on a terminal alone.
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

/// SIGINT and SIGTERM as events. Made before the first thread, which inherits the blocked signals.
class Watch {
 public:
    Watch();
    /// True when a signal came within the time.
    bool wait(int timeoutMs) const;
    /// The signals that came count no more.
    void drain() const;

    /// Runs `body` (until it ends or a signal asks it to stop) and meanwhile calls `tick` with the
    /// seconds since its start.
    Status run(const std::function<Status(std::stop_token)>& body,
               const std::function<void(double)>& tick) const;

 private:
    UniqueFd signals_;
};

}  // namespace millrace::loader
