#pragma once
// What a piece of text means, not which colour it has: the writers (ANSI, ncurses) choose that from
// a palette that colour-blind eyes can tell apart (after Okabe and Ito).

namespace millrace::tui {

enum class Tone {
    kPlain,
    kDim,     ///< labels, rules, what matters less
    kStrong,  ///< names, headings
    kGood,    ///< bluish green
    kBad,     ///< vermillion
    kWarn,    ///< orange
    kInfo,    ///< sky blue
    kAccent,  ///< reddish purple
    kBar,     ///< a title bar: inverse
};

}  // namespace millrace::tui
