#pragma once
// Screen: a terminal in full-screen mode, for the terminal views. Shows grids, reads keys, and
// restores the terminal.
//
// Threads: one. Owns: the terminal's modes; the destructor restores them and the previous text.
// Failure: openScreen() is kFailedPrecondition without a terminal or if TERM is unknown.
#include <chrono>
#include <memory>

#include "app/tui/cell_grid.h"
#include "backend/core/status.h"

namespace millrace::tui {

enum class Key {
    kNone,
    kResize,
    kCharacter,
    kUp,
    kDown,
    kLeft,
    kRight,
    kPageUp,
    kPageDown,
    kTab,
    kEscape
};

struct KeyPress {
    Key key = Key::kNone;
    char character = 0;  ///< for kCharacter
};

class Screen {
 public:
    virtual ~Screen() = default;
    virtual int width() const = 0;
    virtual int height() const = 0;
    virtual bool isUtf8() const = 0;
    virtual void show(const CellGrid& grid) = 0;
    /// Waits at most `timeout`.
    virtual KeyPress readKey(std::chrono::milliseconds timeout) = 0;
};

/// The terminal of stdin and stdout, through ncurses.
Result<std::unique_ptr<Screen>> openScreen(bool hasColor, bool isUtf8);

}  // namespace millrace::tui
