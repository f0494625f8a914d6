#pragma once
// Whether a log line passes a filter; and where in a line a search text stands.
//
// Plain texts are searched as bytes where they are ASCII, so that 200,000 lines cost some
// milliseconds. Threads: any, one matcher a thread.
#include <QRegularExpression>
#include <QString>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::gui {

class TextMatcher {
 public:
    /// Finds everything.
    TextMatcher() = default;
    TextMatcher(const QString& text, bool isRegex, bool isCaseSensitive);

    /// Why the expression cannot be read; empty: it can. It then matches everything.
    const QString& error() const { return error_; }
    bool isTrivial() const { return kind_ == Kind::kAll; }
    bool matches(std::string_view utf8) const;
    /// First and length of every match, in UTF-16 units of `text`; at most 64.
    std::vector<std::pair<int, int>> places(const QString& text) const;

 private:
    enum class Kind { kAll, kBytes, kText, kRegex };
    Kind kind_ = Kind::kAll;
    bool isCaseSensitive_ = false;
    QString text_, error_;
    std::string lower_, upper_;  ///< of an ASCII text; equal where the case counts
    QRegularExpression regex_;
};

}  // namespace millrace::gui
