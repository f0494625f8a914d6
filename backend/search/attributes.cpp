#include "backend/search/attributes.h"

#include <algorithm>
#include <utility>

namespace millrace::search {
namespace {

constexpr Attribute kAttributes[] = {
    {"id", AttributeKind::kText},          {"run_id", AttributeKind::kText},
    {"name", AttributeKind::kText},        {"state", AttributeKind::kState},
    {"status", AttributeKind::kText},      {"variation", AttributeKind::kText},
    {"project", AttributeKind::kText},     {"owner", AttributeKind::kText},
    {"host", AttributeKind::kText},        {"note", AttributeKind::kText},
    {"base_run_id", AttributeKind::kText}, {"spec_hash", AttributeKind::kText},
    {"stream_hash", AttributeKind::kText}, {"git_commit", AttributeKind::kText},
    {"created", AttributeKind::kTime},     {"started", AttributeKind::kTime},
    {"end_time", AttributeKind::kTime},    {"duration", AttributeKind::kDuration},
    {"attempt", AttributeKind::kNumber},   {"step", AttributeKind::kNumber},
    {"epoch", AttributeKind::kNumber},     {"rows_trained", AttributeKind::kNumber},
    {"seed", AttributeKind::kNumber},
};

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"run_name", "name"},   {"run name", "name"},      {"Run name", "name"},
    {"Run Name", "name"},   {"user_id", "owner"},      {"start_time", "created"},
    {"Created", "created"}, {"created_ms", "created"}, {"ended", "end_time"},
};

}  // namespace

std::span<const Attribute> attributes() {
    return kAttributes;
}

const Attribute* attributeOf(std::string_view name) {
    for (const auto& [alias, target] : kAliases) {
        name = alias == name ? target : name;
    }
    const auto* it = std::ranges::find(kAttributes, name, &Attribute::name);
    return it == std::end(kAttributes) ? nullptr : it;
}

}  // namespace millrace::search
