#pragma once
// Decides whether a log line passes a filter, and finds the positions of a search text in a line.
//
// ASCII texts are searched as bytes, so that 200,000 lines cost some milliseconds. Threads: any,
// one matcher per thread.
#include <QRegularExpression>
#include <QString>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::gui {

class TextMatcher {
 public:
    /// Matches everything.
    TextMatcher() = default;
    TextMatcher(const QString& text, bool isRegex, bool isCaseSensitive);

    /// The error in the expression; empty: none. An invalid expression matches everything.
    const QString& error() const { return error_; }
    bool isTrivial() const { return kind_ == Kind::kAll; }
    bool matches(std::string_view utf8) const;
    /// Start and length of every match, in UTF-16 units of `text`; at most 64.
    std::vector<std::pair<int, int>> places(const QString& text) const;

 private:
    enum class Kind { kAll, kBytes, kText, kRegex };
    Kind kind_ = Kind::kAll;
    bool isCaseSensitive_ = false;
    QString text_, error_;
    std::string lower_, upper_;  ///< for an ASCII text; equal if case matters
    QRegularExpression regex_;
};

}  // namespace millrace::gui
