#pragma once
// Changes to the YAML tree. Private to spec (variation.h has the public part).
#include <string_view>

#include "backend/spec/variation.h"
#include "backend/spec/yaml/yaml_tree.h"

namespace millrace::spec {

/// Sets `path` to `value`; adds missing keys (the reader later checks whether they are allowed).
/// Unknown steps, and paths through plain values, are errors.
Status applyChange(YamlNode& root, std::string_view path, const YamlNode& value,
                   expr::Position keyPosition);

}  // namespace millrace::spec
