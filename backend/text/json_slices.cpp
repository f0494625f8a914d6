#include "backend/text/json_slices.h"

#include <algorithm>

#include "backend/core/status.h"

namespace millrace {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

std::size_t skipSpace(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

bool isAt(std::string_view text, std::size_t at, char c) {
    return at < text.size() && text[at] == c;
}

// Position after the string whose first quote is at `at`.
std::size_t skipString(std::string_view text, std::size_t at) {
    for (std::size_t i = at + 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            return i + 1;
        }
        i += text[i] == '\\' ? 1 : 0;
    }
    return kNowhere;
}

// Position after the list or object that begins at `at`.
std::size_t skipNested(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            const std::size_t end = skipString(text, i);
            if (end == kNowhere) {
                return kNowhere;
            }
            i = end - 1;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return i + 1;
        }
    }
    return kNowhere;
}

// Position after the value that begins at `at`.
std::size_t skipValue(std::string_view text, std::size_t at) {
    if (isAt(text, at, '"')) {
        return skipString(text, at);
    }
    return isAt(text, at, '[') || isAt(text, at, '{')
               ? skipNested(text, at)
               : std::min(text.find_first_of(",]} \t\r\n", at), text.size());
}

}  // namespace

std::optional<std::string_view> jsonMemberText(std::string_view object, std::string_view key) {
    std::size_t at = skipSpace(object, 0);
    if (!isAt(object, at, '{')) {
        return std::nullopt;
    }
    do {
        const std::size_t name = skipSpace(object, at + 1);
        const std::size_t nameEnd = isAt(object, name, '"') ? skipString(object, name) : kNowhere;
        const std::size_t colon = nameEnd == kNowhere ? kNowhere : skipSpace(object, nameEnd);
        if (colon == kNowhere || !isAt(object, colon, ':')) {
            return std::nullopt;
        }
        const std::size_t value = skipSpace(object, colon + 1);
        const std::size_t end = skipValue(object, value);
        if (end == kNowhere || end == value) {
            return std::nullopt;
        }
        if (object.substr(name + 1, nameEnd - name - 2) == key) {
            return object.substr(value, end - value);
        }
        at = skipSpace(object, end);
    } while (isAt(object, at, ','));
    return std::nullopt;
}

std::string withJsonMember(std::string_view object, std::string_view key, std::string_view value) {
    const std::optional<std::string_view> member = jsonMemberText(object, key);
    if (!member.has_value()) {
        return std::string(object);
    }
    const auto at = static_cast<std::size_t>(member->data() - object.data());
    return strCat(object.substr(0, at), value, object.substr(at + member->size()));
}

JsonElements::JsonElements(std::string_view array) : text_(array) {
    at_ = skipSpace(text_, 0);
    at_ = isAt(text_, at_, '[') ? at_ : text_.size();
}

std::optional<std::string_view> JsonElements::next() {
    std::size_t at = isFirst_ ? at_ : skipSpace(text_, at_);
    if (!isFirst_ && !isAt(text_, at, ',')) {
        return std::nullopt;
    }
    at = skipSpace(text_, at + 1);
    if (at >= text_.size() || text_[at] == ']') {
        return std::nullopt;
    }
    const std::size_t end = skipValue(text_, at);
    if (end == kNowhere || end == at) {
        return std::nullopt;
    }
    isFirst_ = false;
    at_ = end;
    return text_.substr(at, end - at);
}

}  // namespace millrace
