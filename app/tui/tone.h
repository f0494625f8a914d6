#pragma once
// The meaning of a piece of text, not its colour: the writers (ANSI, ncurses) choose colours from a
// palette that colour-blind eyes can tell apart (after Okabe and Ito).

namespace millrace::tui {

enum class Tone {
    kPlain,
    kDim,     ///< labels, rules, less important text
    kStrong,  ///< names, headings
    kGood,    ///< bluish green
    kBad,     ///< vermillion
    kWarn,    ///< orange
    kInfo,    ///< sky blue
    kAccent,  ///< reddish purple
    kBar,     ///< a title bar: inverse
};

}  // namespace millrace::tui
