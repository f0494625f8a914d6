#pragma once
// Changes to a spec by path: the `set` of a variation, and --set on the command line.
#include <string>
#include <string_view>
#include <vector>

#include "backend/spec/spec_reader.h"

namespace millrace::spec {

/// One change. A path is keys joined by dots; below `recipe` (and `eval.recipe`) the next part is a
/// step's name, or its kind if that occurs once. A part in double quotes may contain dots.
struct Change {
    std::string path;
    std::string value;  ///< YAML
};

/// "batch.rows=512" -> {"batch.rows", "512"}. kInvalidArgument without a key or '='.
Result<Change> parseSet(std::string_view text);
/// `a."b.c".d` -> {a, b.c, d}. kInvalidArgument for an empty part or an open quote.
Result<std::vector<std::string>> splitPath(std::string_view path);

}  // namespace millrace::spec
