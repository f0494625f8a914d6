#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#define NCURSES_WIDECHAR 1
#include <unistd.h>

#include <ncurses.h>

#include "app/tui/screen.h"

namespace millrace::tui {
namespace {

// One colour pair per tone, after Okabe and Ito; 8-colour terminals get the nearest.
struct Ink {
    Tone tone;
    short rich, plain;
    attr_t attributes;
};
constexpr Ink kInks[] = {
    {Tone::kPlain, -1, -1, A_NORMAL},        {Tone::kDim, 244, -1, A_NORMAL},
    {Tone::kStrong, -1, -1, A_BOLD},         {Tone::kGood, 36, COLOR_GREEN, A_NORMAL},
    {Tone::kBad, 166, COLOR_RED, A_BOLD},    {Tone::kWarn, 178, COLOR_YELLOW, A_NORMAL},
    {Tone::kInfo, 74, COLOR_CYAN, A_NORMAL}, {Tone::kAccent, 175, COLOR_MAGENTA, A_NORMAL},
    {Tone::kBar, -1, -1, A_REVERSE},
};
static_assert(std::size(kInks) == static_cast<std::size_t>(Tone::kBar) + 1, "found by their tone");

class NcursesScreen final : public Screen {
 public:
    NcursesScreen(SCREEN* screen, bool hasColor, bool isUtf8) : screen_(screen), isUtf8_(isUtf8) {
        ::set_term(screen_);
        ::cbreak();
        ::noecho();
        ::nonl();
        ::keypad(stdscr, TRUE);
        ::set_escdelay(25);
        ::curs_set(0);
        hasColor_ = hasColor && ::has_colors();
        if (hasColor_) {
            ::start_color();
            ::use_default_colors();
            for (const Ink& ink : kInks) {
                ::init_pair(pairOf(ink.tone), COLORS >= 256 ? ink.rich : ink.plain, -1);
            }
        }
    }
    ~NcursesScreen() override {
        ::curs_set(1);
        ::endwin();
        ::delscreen(screen_);
    }

    int width() const override { return COLS; }
    int height() const override { return LINES; }
    bool isUtf8() const override { return isUtf8_; }

    void show(const CellGrid& grid) override {
        ::erase();
        for (int y = 0; y < grid.height() && y < LINES; ++y) {
            drawRow(grid, y);
        }
        ::refresh();
    }

    KeyPress readKey(std::chrono::milliseconds timeout) override {
        ::timeout(static_cast<int>(timeout.count()));
        const int c = ::getch();
        switch (c) {
            case ERR:
                return {};
            case KEY_RESIZE:
                return {Key::kResize};
            case KEY_UP:
                return {Key::kUp};
            case KEY_DOWN:
                return {Key::kDown};
            case KEY_LEFT:
                return {Key::kLeft};
            case KEY_RIGHT:
                return {Key::kRight};
            case KEY_PPAGE:
                return {Key::kPageUp};
            case KEY_NPAGE:
                return {Key::kPageDown};
            case '\t':
                return {Key::kTab};
            case 27:
                return {Key::kEscape};
            default:
                return c > 0 && c < 128 ? KeyPress{Key::kCharacter, static_cast<char>(c)}
                                        : KeyPress{};
        }
    }

 private:
    static short pairOf(Tone tone) { return static_cast<short>(static_cast<int>(tone) + 1); }

    void useTone(Tone tone) const {
        const Ink& ink = kInks[static_cast<int>(tone)];
        attr_t attributes = ink.attributes;
        if (tone == Tone::kDim && !(hasColor_ && COLORS >= 256)) {
            attributes |= A_DIM;
        }
        ::attr_set(attributes, hasColor_ ? pairOf(tone) : 0, nullptr);
    }

    // Writes neighbouring cells of one tone in one call.
    void drawRow(const CellGrid& grid, int y) const {
        std::string text;
        Tone tone = Tone::kPlain;
        ::move(y, 0);
        for (int x = 0; x < grid.width() && x < COLS; ++x) {
            const Cell& cell = grid.at(x, y);
            if (cell.tone != tone) {
                flush(text, tone);
                tone = cell.tone;
            }
            text += cell.text;
        }
        flush(text, tone);
    }
    void flush(std::string& text, Tone tone) const {
        useTone(tone);
        ::addstr(text.c_str());
        text.clear();
    }

    SCREEN* screen_;
    bool hasColor_ = false;
    bool isUtf8_;
};

// False for TERM=dumb and the like, which newterm() accepts.
bool canMoveCursor() {
    const char* cup = ::tigetstr("cup");
    return cup != nullptr && cup != reinterpret_cast<const char*>(-1);
}

}  // namespace

Result<std::unique_ptr<Screen>> openScreen(bool hasColor, bool isUtf8) {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
        return failedPrecondition("there is no terminal here; --plain prints lines");
    }
    if (std::setlocale(LC_CTYPE, "") == nullptr || (isUtf8 && MB_CUR_MAX < 2)) {
        isUtf8 = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr && isUtf8;
    }
    SCREEN* screen = ::newterm(nullptr, stdout, stdin);
    if (screen != nullptr && !canMoveCursor()) {
        ::endwin();
        ::delscreen(screen);
        screen = nullptr;
    }
    if (screen == nullptr) {
        const char* term = std::getenv("TERM");
        return failedPrecondition("TERM='", term != nullptr ? term : "",
                                  "' is not a terminal that can be drawn on; --plain prints lines");
    }
    return std::unique_ptr<Screen>(std::make_unique<NcursesScreen>(screen, hasColor, isUtf8));
}

}  // namespace millrace::tui
