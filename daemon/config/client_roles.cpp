#include "daemon/config/client_roles.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fnmatch.h>

namespace millrace::config {
namespace {

constexpr std::array<std::pair<std::string_view, Role>, 3> kNamed{
    {{"view", Role::kView}, {"run", Role::kRun}, {"admin", Role::kAdmin}}};

}  // namespace

std::string_view roleName(Role role) {
    const auto* found = std::ranges::find_if(kNamed, [&](auto& one) { return one.second == role; });
    return found == kNamed.end() ? "none" : found->first;
}

std::optional<Role> roleNamed(std::string_view name) {
    const auto* found = std::ranges::find_if(kNamed, [&](auto& one) { return one.first == name; });
    return found == kNamed.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> roleNames() {
    std::vector<std::string> names;
    for (const auto& [name, role] : kNamed) {
        names.emplace_back(name);
    }
    return names;
}

Role ClientRoles::roleOf(const std::string& name) const {
    const auto first = [&](auto matches) {
        const auto rule = std::ranges::find_if(rules_, matches);
        return rule == rules_.end() ? std::nullopt : std::optional(rule->role);
    };
    if (rules_.empty()) {
        return Role::kView;
    }
    const auto exact = first([&](const Rule& rule) { return rule.name == name; });
    return exact.has_value() ? *exact
                             : first([&](const Rule& rule) {
                                   return ::fnmatch(rule.name.c_str(), name.c_str(), 0) == 0;
                               }).value_or(Role::kNone);
}

}  // namespace millrace::config
