#include "backend/options/option.h"

#include <algorithm>
#include <utility>

#include "backend/text/numbers.h"
#include "backend/text/text.h"

namespace millrace::options {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

Status checkWhole(const OptionSpec& option, const std::string& value, std::int64_t least) {
    const auto number = parseNumber<std::int64_t>(value);
    if (number && *number >= least && *number <= option.most) {
        return okStatus();
    }
    const bool isLimited = option.most < kIntMax;
    return invalidArgument(option.name(), ": '", value, "' is not a whole number from ", least,
                           isLimited ? strCat(" to ", option.most) : "");
}

}  // namespace

Status checkValue(const OptionSpec& option, const std::string& value) {
    switch (option.kind) {
        case ValueKind::kFlag:
        case ValueKind::kText:
            return okStatus();
        case ValueKind::kInteger:
            return checkWhole(option, value, 0);
        case ValueKind::kCount:
            return checkWhole(option, value, 1);
        case ValueKind::kChoice:
            break;
    }
    const bool isKnown = std::ranges::find(option.choices, value) != option.choices.end();
    return isKnown ? okStatus()
                   : invalidArgument(option.name(), ": '", value, "' is not known",
                                     nameHint(value, option.choices));
}

OptionSpec flag(std::string names, std::string help) {
    return {std::move(names), "", std::move(help)};
}

OptionSpec text(std::string names, std::string value, std::string help, bool isRepeatable) {
    return {std::move(names), std::move(value), std::move(help), ValueKind::kText, isRepeatable};
}

OptionSpec integer(std::string names, std::string value, std::string help) {
    OptionSpec option{std::move(names), std::move(value), std::move(help), ValueKind::kInteger};
    option.most = kIntMax;
    return option;
}

OptionSpec count(std::string names, std::string value, std::string help) {
    return {std::move(names), std::move(value), std::move(help), ValueKind::kCount};
}

OptionSpec choice(std::string names, std::string value, std::string help,
                  std::vector<std::string> choices) {
    return {std::move(names),  std::move(value), std::move(help), ValueKind::kChoice, false,
            std::move(choices)};
}

}  // namespace millrace::options
