#pragma once
// A command-line option as data: its names, its help, and its allowed values. The program that
// parses an option and the program that receives it use the same declaration, so checks and texts
// cannot differ.
//
// Threads: values. Failure: kInvalidArgument, one sentence that names the option and the value.
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace::options {

enum class ValueKind {
    kFlag,
    kText,
    kInteger,  ///< a whole number, at least 0
    kCount,    ///< a whole number, at least 1
    kChoice
};

struct OptionSpec {
    std::string names;      ///< "-n,--limit": the last one is its name
    std::string valueName;  ///< "N"; empty for a flag
    std::string help;
    ValueKind kind = ValueKind::kFlag;
    bool isRepeatable = false;
    std::vector<std::string> choices = {};                         ///< for kChoice
    std::int64_t most = std::numeric_limits<std::int64_t>::max();  ///< for whole numbers
    std::string name() const { return names.substr(names.rfind(',') + 1); }
};

/// The typed values, by the options' names; a flag has no values.
using OptionValues = std::map<std::string, std::vector<std::string>, std::less<>>;

Status checkValue(const OptionSpec& option, const std::string& value);

OptionSpec flag(std::string names, std::string help);
OptionSpec text(std::string names, std::string value, std::string help, bool isRepeatable = false);
OptionSpec integer(std::string names, std::string value, std::string help);
OptionSpec count(std::string names, std::string value, std::string help);
OptionSpec choice(std::string names, std::string value, std::string help,
                  std::vector<std::string> choices);

}  // namespace millrace::options
