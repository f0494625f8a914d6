#include "app/gui/models/live/log_matcher.h"

#include <algorithm>
#include <cstring>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

constexpr std::size_t kPlacesMax = 64;

bool isAscii(const QString& text) {
    return std::ranges::all_of(text, [](QChar c) { return c.unicode() < 128; });
}

bool equalsAt(const char* at, const std::string& lower, const std::string& upper) {
    for (std::size_t i = 0; i < lower.size(); ++i) {
        if (at[i] != lower[i] && at[i] != upper[i]) {
            return false;
        }
    }
    return true;
}

// The next byte that is a or b, by memchr.
const char* nextOf(const char* from, const char* end, char a, char b) {
    const auto find = [&](char c, const char* to) {
        const void* hit = std::memchr(from, c, static_cast<std::size_t>(to - from));
        return hit == nullptr ? to : static_cast<const char*>(hit);
    };
    const char* first = find(a, end);
    return a == b ? first : find(b, first);
}

}  // namespace

TextMatcher::TextMatcher(const QString& text, bool isRegex, bool isCaseSensitive)
    : isCaseSensitive_(isCaseSensitive), text_(text) {
    if (text.isEmpty()) {
        return;
    }
    if (isRegex) {
        regex_ =
            QRegularExpression(text, isCaseSensitive ? QRegularExpression::NoPatternOption
                                                     : QRegularExpression::CaseInsensitiveOption);
        if (!regex_.isValid()) {
            error_ = QStringLiteral("at character %1: %2")
                         .arg(regex_.patternErrorOffset() + 1)
                         .arg(regex_.errorString());
            return;
        }
        regex_.optimize();
        kind_ = Kind::kRegex;
    } else if (isAscii(text)) {
        kind_ = Kind::kBytes;
        lower_ = (isCaseSensitive ? text : text.toLower()).toStdString();
        upper_ = (isCaseSensitive ? text : text.toUpper()).toStdString();
    } else {
        kind_ = Kind::kText;
    }
}

bool TextMatcher::matches(std::string_view utf8) const {
    switch (kind_) {
        case Kind::kAll:
            return true;
        case Kind::kRegex:
            return regex_.match(qtext(utf8)).hasMatch();
        case Kind::kText:
            return qtext(utf8).contains(text_,
                                        isCaseSensitive_ ? Qt::CaseSensitive : Qt::CaseInsensitive);
        case Kind::kBytes:
            break;
    }
    if (utf8.size() < lower_.size()) {
        return false;
    }
    const char* end = utf8.data() + (utf8.size() - lower_.size() + 1);
    for (const char* at = utf8.data(); at < end; ++at) {
        at = nextOf(at, end, lower_[0], upper_[0]);
        if (at < end && equalsAt(at, lower_, upper_)) {
            return true;
        }
    }
    return false;
}

std::vector<std::pair<int, int>> TextMatcher::places(const QString& text) const {
    std::vector<std::pair<int, int>> found;
    if (kind_ == Kind::kRegex) {
        QRegularExpressionMatchIterator matches = regex_.globalMatch(text);
        while (matches.hasNext() && found.size() < kPlacesMax) {
            const QRegularExpressionMatch match = matches.next();
            if (match.capturedLength() > 0) {
                found.emplace_back(static_cast<int>(match.capturedStart()),
                                   static_cast<int>(match.capturedLength()));
            }
        }
    } else if (kind_ != Kind::kAll) {
        const auto rule = isCaseSensitive_ ? Qt::CaseSensitive : Qt::CaseInsensitive;
        qsizetype at = text.indexOf(text_, 0, rule);
        while (at >= 0 && found.size() < kPlacesMax) {
            found.emplace_back(static_cast<int>(at), static_cast<int>(text_.size()));
            at = text.indexOf(text_, at + text_.size(), rule);
        }
    }
    return found;
}

}  // namespace millrace::gui
