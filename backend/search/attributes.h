#pragma once
// The attributes of runs that filters may name, besides metrics, params and tags.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::search {

enum class AttributeKind { kText, kState, kNumber, kDuration, kTime };

struct Attribute {
    std::string_view name;
    AttributeKind kind;
};

/// All of them. Durations are in seconds, times in ms since 1970, UTC.
std::span<const Attribute> attributes();

/// By its name or another one that MLflow has for it. Null: there is none.
const Attribute* attributeOf(std::string_view name);

}  // namespace millrace::search
