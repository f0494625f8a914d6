#include "app/gui/models/spec/spec_analysis.h"

#include <algorithm>

namespace millrace::gui {

SpecAnalysis::SpecAnalysis(const QString& text) : syntax_(text), meanings_(meaningsOf(syntax_)) {
    splitTokens(specTokens(syntax_, meanings_));
    hashLines();
}

void SpecAnalysis::splitTokens(const std::vector<SpecToken>& tokens) {
    const QString& text = syntax_.text();
    const int size = static_cast<int>(text.size());
    std::size_t next = 0;
    int start = 0;
    while (start <= size) {
        const auto found = text.indexOf(u'\n', start);
        const int end = static_cast<int>(found < 0 ? size : found);
        lines_.push_back({tokens_.size(), 0});
        while (next < tokens.size() && tokens[next].begin < end) {
            const SpecToken& token = tokens[next];
            const int begin = std::max(token.begin, start) - start;
            tokens_.push_back({begin, std::min(token.end, end) - start, token.kind});
            if (token.end > end) {
                break;  // continues on the next line
            }
            ++next;
        }
        start = end + 1;
    }
}

void SpecAnalysis::hashLines() {
    std::size_t hash = 17;
    for (std::size_t line = lines_.size(); line-- > 0;) {
        lines_[line].hashBehind = hash;
        hash = hash * 1099511628211U + 7;
        for (const SpecToken& token : tokensOf(static_cast<int>(line))) {
            const auto piece = static_cast<std::size_t>(token.begin) * 4099 +
                               static_cast<std::size_t>(token.end) * 31 +
                               static_cast<std::size_t>(token.kind);
            hash = (hash ^ piece) * 1099511628211U;
        }
    }
}

std::span<const SpecToken> SpecAnalysis::tokensOf(int line) const {
    if (line < 0 || line >= numLines()) {
        return {};
    }
    const auto at = static_cast<std::size_t>(line);
    const std::size_t end = at + 1 < lines_.size() ? lines_[at + 1].firstToken : tokens_.size();
    return std::span(tokens_).subspan(lines_[at].firstToken, end - lines_[at].firstToken);
}

int SpecAnalysis::stateBehind(int line) const {
    if (line < 0 || line >= numLines()) {
        return 0;
    }
    const std::size_t hash = lines_[static_cast<std::size_t>(line)].hashBehind;
    return static_cast<int>((hash ^ (hash >> 32)) & 0x7fffffff);
}

}  // namespace millrace::gui
