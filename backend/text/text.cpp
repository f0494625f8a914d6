#include "backend/text/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include "backend/core/status.h"
#include "backend/text/json.h"

namespace millrace {
namespace {

// Optimal string alignment distance: insert, delete, replace, or swap two neighbours. Ignores case.
std::size_t editDistance(std::string_view a, std::string_view b) {
    const auto isSame = [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) ==
               std::tolower(static_cast<unsigned char>(y));
    };
    std::vector<std::size_t> before, last, row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before = std::exchange(last, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (isSame(a[i - 1], b[j - 1]) ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && isSame(a[i - 1], b[j - 2]) && isSame(a[i - 2], b[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

}  // namespace

std::string nearestName(std::string_view name, const std::vector<std::string>& candidates) {
    std::string best;
    std::size_t bestDistance = std::max<std::size_t>(1, name.size() / 3) + 1;
    if (name.size() > 200) {
        return best;
    }
    for (const std::string& candidate : candidates) {
        const std::size_t distance = editDistance(name, candidate);
        if (distance < bestDistance) {
            bestDistance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string nameHint(std::string_view name, const std::vector<std::string>& candidates) {
    const std::string near = nearestName(name, candidates);
    if (!near.empty()) {
        return strCat("; did you mean '", near, "'?");
    }
    if (candidates.empty() || candidates.size() > 8) {
        return "";
    }
    return strCat("; known: ", absl::StrJoin(candidates, ", "));
}

std::string formatBytes(double bytes) {
    constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    int unit = 0;
    while (std::fabs(bytes) >= 999.5 && unit < 5) {
        bytes /= 1000;
        ++unit;
    }
    return unit == 0 || bytes >= 99.5 ? absl::StrFormat("%.0f %s", bytes, kUnits[unit])
                                      : absl::StrFormat("%.1f %s", bytes, kUnits[unit]);
}

std::string formatCount(std::int64_t count) {
    std::string digits = std::to_string(count);
    const int first = count < 0 ? 1 : 0;
    for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

std::string yamlScalar(const std::string& text, bool isInBraces) {
    const bool isPlain =
        !text.empty() && text.find(": ") == std::string::npos &&
        text.find(" #") == std::string::npos && text.find('\n') == std::string::npos &&
        std::string_view("\"'!&*|>%@`-?[]{}, ").find(text.front()) == std::string_view::npos &&
        text.back() != ':' && text.back() != ' ' &&
        (!isInBraces || text.find_first_of(",[]{}") == std::string::npos);
    return isPlain ? text : dumpJson(text);
}

int displayWidth(std::string_view text) {
    int width = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto c = static_cast<unsigned char>(text[i]);
        const std::size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        std::uint32_t point = c;
        if (length > 1 && i + length <= text.size()) {
            point = c & (0xffU >> (length + 1));
            for (std::size_t k = 1; k < length; ++k) {
                point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
            }
        }
        const bool isWide =
            (point >= 0x1100 && point <= 0x115f) || (point >= 0x2e80 && point <= 0xa4cf) ||
            (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
            (point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xff60) ||
            (point >= 0x1f300 && point <= 0x1faff);
        const bool isCombining = point >= 0x300 && point <= 0x36f;
        width += isCombining ? 0 : isWide ? 2 : 1;
        i += length;
    }
    return width;
}

}  // namespace millrace
