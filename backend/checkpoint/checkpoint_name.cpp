#include "backend/checkpoint/checkpoint_name.h"

#include <charconv>
#include <cstdio>

namespace millrace::checkpoint {
namespace {

constexpr std::string_view kStem = "step-", kAttempt = ".a", kEnding = ".safetensors";

// Removes a number from the front of `text`.
template <class Number>
bool take(std::string_view& text, std::string_view before, Number& value) {
    if (!text.starts_with(before)) {
        return false;
    }
    text.remove_prefix(before.size());
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    return end.ec == std::errc() && value >= 0;
}

}  // namespace

std::string CheckpointName::text() const {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%08lld", static_cast<long long>(step));
    return std::string(kStem)
        .append(digits)
        .append(kAttempt)
        .append(std::to_string(attempt))
        .append(kEnding);
}

std::optional<CheckpointName> CheckpointName::parse(std::string_view name) {
    std::string_view rest = name;
    CheckpointName parsed;
    const bool isName = take(rest, kStem, parsed.step) && take(rest, kAttempt, parsed.attempt);
    return isName && parsed.text() == name ? std::optional(parsed) : std::nullopt;
}

bool isLeftover(std::string_view name) {
    const std::size_t end = name.rfind(".tmp-");
    return end != std::string_view::npos && CheckpointName::parse(name.substr(0, end)).has_value();
}

}  // namespace millrace::checkpoint
