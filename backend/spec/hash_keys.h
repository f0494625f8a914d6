#pragma once
// The top-level keys of a resolved spec that specHash ignores: they do not change what is trained.
// Comparisons that explain why two hashes differ ignore them as well.
#include <array>
#include <string_view>

namespace millrace::spec {

inline constexpr std::array<std::string_view, 8> kKeysOutsideHash = {
    "name", "notes", "owner", "project", "tags", "variation", "base_dir", "resources"};

}  // namespace millrace::spec
