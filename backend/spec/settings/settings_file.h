#pragma once
// A program's own settings: a YAML file that is one map of names to a text or a list of texts, or
// to a map of such.
//
// Pure. Failure: kInvalidArgument, a line for each mistake with its place. Bounds as a spec's.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::spec {

struct Setting {
    std::string name;                 ///< in a map below: "map.name"
    std::vector<std::string> values;  ///< one, or the items of a list
    std::string place;                ///< "FILE:LINE:COLUMN", of the name
};

/// In the order of the text; an empty text has none. `fileName` is for messages only.
Result<std::vector<Setting>> readSettings(std::string_view text, std::string_view fileName);

}  // namespace millrace::spec
