#include "app/cli/frame/command.h"

#include <charconv>

namespace millrace::cli {

Status checkSets(const ParsedArgs& args) {
    for (const std::string& set : args.list("--set")) {
        if (set.find('=') == std::string::npos || set.front() == '=') {
            return asUsage(invalidArgument("--set: '", set,
                                           "' is not KEY=VALUE, as train.learning_rate=0.01"));
        }
    }
    return okStatus();
}

bool ParsedArgs::has(std::string_view option) const {
    return options.find(option) != options.end();
}

std::string ParsedArgs::text(std::string_view option, std::string_view fallback) const {
    const auto found = options.find(option);
    return found == options.end() || found->second.empty() ? std::string(fallback)
                                                           : found->second.back();
}

int ParsedArgs::number(std::string_view option, int fallback) const {
    const std::string value = text(option);
    int number = fallback;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
}

std::vector<std::string> ParsedArgs::list(std::string_view option) const {
    const auto found = options.find(option);
    return found == options.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace millrace::cli
