#include "backend/checkpoint/checkpoint_name.h"

#include <charconv>
#include <cstdio>

namespace millrace::checkpoint {
namespace {

constexpr std::string_view kStem = "step-", kAttempt = ".a";

std::string_view textOf(CheckpointName::Ending ending) {
    return ending == CheckpointName::Ending::kCkpt ? ".ckpt" : ".safetensors";
}

// Takes a number off the front of `text`.
template <class Number>
bool take(std::string_view& text, Number& value) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    return end.ec == std::errc() && value >= 0;
}

}  // namespace

std::string CheckpointName::text() const {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%08lld", static_cast<long long>(step));
    std::string name = std::string(kStem) + digits;
    if (attempt >= 0) {
        name += std::string(kAttempt) + std::to_string(attempt);
    }
    return name.append(textOf(ending));
}

std::optional<CheckpointName> CheckpointName::parse(std::string_view name) {
    if (!name.starts_with(kStem)) {
        return std::nullopt;
    }
    std::string_view rest = name.substr(kStem.size());
    CheckpointName parsed;
    bool isName = take(rest, parsed.step);
    if (isName && rest.starts_with(kAttempt)) {
        rest.remove_prefix(kAttempt.size());
        isName = take(rest, parsed.attempt);
    }
    parsed.ending = rest == textOf(Ending::kCkpt) ? Ending::kCkpt : Ending::kSafetensors;
    isName = isName && (parsed.attempt >= 0 || parsed.ending == Ending::kCkpt);
    return isName && parsed.text() == name ? std::optional(parsed) : std::nullopt;
}

bool isLeftover(std::string_view name) {
    const std::size_t end = name.rfind(".tmp-");
    return end != std::string_view::npos && CheckpointName::parse(name.substr(0, end)).has_value();
}

}  // namespace millrace::checkpoint
