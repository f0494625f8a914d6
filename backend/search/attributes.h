#pragma once
// The attributes of runs for filters, apart from metrics, params and tags.
#include <span>
#include <string_view>

namespace millrace::search {

enum class AttributeKind { kText, kState, kNumber, kDuration, kTime };

struct Attribute {
    std::string_view name;
    AttributeKind kind;
};

/// All attributes. Durations are in seconds, times in ms since 1970, UTC.
std::span<const Attribute> attributes();

/// Finds an attribute by its name, or by MLflow's name for it. Null if unknown.
const Attribute* attributeOf(std::string_view name);

}  // namespace millrace::search
