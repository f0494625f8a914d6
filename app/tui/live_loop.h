#pragma once
// The loop of a full-screen view: takes events, draws at most 20 times a second, reads keys.
//
// Threads: one. It returns when the user leaves, when the process is asked to end, or (leaveAtEnd)
// when everything that is followed has ended. The Screen owns the terminal.
#include <atomic>

#include "app/session/follower.h"
#include "app/session/live_model.h"
#include "app/tui/screen.h"

namespace millrace::tui {

class View {
 public:
    virtual ~View() = default;
    virtual void draw(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs) = 0;
    /// Returns false if this view does not use the key.
    virtual bool press(const KeyPress& key, const session::LiveModel& model) = 0;
};

enum class LoopEnd { kLeft, kInterrupted, kAllEnded };

struct LoopOptions {
    bool leaveAtEnd = false;
};

LoopEnd runLiveLoop(Screen& screen, session::Follower& follower, session::LiveModel& model,
                    View& view, const Clock& clock, const std::atomic<int>& interrupts,
                    const LoopOptions& options);

}  // namespace millrace::tui
