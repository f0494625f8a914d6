#include "app/tui/live_loop.h"

namespace millrace::tui {
namespace {

constexpr std::chrono::milliseconds kFrame{50};
constexpr std::int64_t kIdleRedrawMs = 1'000;  // clocks and ages advance
constexpr int kEventsAFrame = 5'000;

bool isLeaving(const KeyPress& key) {
    return key.key == Key::kEscape ||
           (key.key == Key::kCharacter && (key.character == 'q' || key.character == 'Q'));
}

bool takeEvents(session::Follower& follower, session::LiveModel& model, std::int64_t nowMs) {
    bool hasChanged = false;
    for (int i = 0; i < kEventsAFrame; ++i) {
        const auto event = follower.next(std::chrono::milliseconds(0));
        if (!event) {
            break;
        }
        model.apply(*event, nowMs);
        hasChanged = true;
    }
    return hasChanged;
}

}  // namespace

LoopEnd runLiveLoop(Screen& screen, session::Follower& follower, session::LiveModel& model,
                    View& view, const Clock& clock, const std::atomic<int>& interrupts,
                    const LoopOptions& options) {
    const int interruptsBefore = interrupts.load();
    std::int64_t lastDrawMs = 0;
    bool isDirty = true;
    for (;;) {
        const std::int64_t nowMs = clock.wallMs();
        isDirty = takeEvents(follower, model, nowMs) || isDirty;
        if (isDirty || nowMs - lastDrawMs >= kIdleRedrawMs) {
            CellGrid grid(screen.width(), screen.height(), screen.isUtf8());
            view.draw(grid, model, nowMs);
            screen.show(grid);
            lastDrawMs = nowMs;
            isDirty = false;
        }
        if (model.hasEnded && options.leaveAtEnd) {
            return LoopEnd::kAllEnded;
        }
        if (interrupts.load() != interruptsBefore) {
            return LoopEnd::kInterrupted;
        }
        const KeyPress key = screen.readKey(kFrame);
        if (isLeaving(key)) {
            return LoopEnd::kLeft;
        }
        isDirty = (key.key != Key::kNone && (key.key == Key::kResize || view.press(key, model)));
    }
}

}  // namespace millrace::tui
