#include "backend/text/json_text.h"

#include <algorithm>

#include "backend/text/json.h"

namespace millrace {

void appendJsonText(std::string_view text, std::string* out) {
    const bool isPlain = std::ranges::all_of(
        text, [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (!isPlain) {
        *out += dumpJson(std::string(text));
        return;
    }
    *out += '"';
    *out += text;
    *out += '"';
}

}  // namespace millrace
