#pragma once
// The top-level keys of a resolved spec that specHash leaves out: they do not change what is
// trained. Who says in what two hashes differ leaves them out as well.
#include <array>
#include <string_view>

namespace millrace::spec {

inline constexpr std::array<std::string_view, 8> kKeysOutsideHash = {
    "name", "notes", "owner", "project", "tags", "variation", "base_dir", "resources"};

}  // namespace millrace::spec
