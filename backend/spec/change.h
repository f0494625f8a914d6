#pragma once
// Changes to the YAML tree. Private to spec (variation.h has the public part).
#include <string>
#include <string_view>
#include <vector>

#include "backend/spec/variation.h"
#include "backend/spec/yaml/yaml_tree.h"

namespace millrace::spec {

/// Sets `path` to `value`; adds missing keys (the reader later checks whether they are allowed).
/// Unknown steps, and paths through plain values, are errors.
Status applyChange(YamlNode& root, std::string_view path, const YamlNode& value,
                   expr::Position keyPosition);

/// The values of model.type that the base and its variations set; "" stands for the default.
std::vector<std::string> modelTypes(const YamlNode& base, const YamlNode& variations);

}  // namespace millrace::spec
