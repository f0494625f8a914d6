#pragma once
// A program's own settings: a YAML file with one map from names to a text, a list of texts, or a
// map of these.
//
// Pure. Failure: kInvalidArgument, with a line and a position for each error. Limits as for a spec.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::spec {

struct Setting {
    std::string name;                 ///< below a map: "map.name"
    std::vector<std::string> values;  ///< one text, or the items of a list
    std::string place;                ///< "FILE:LINE:COLUMN" of the name
};

/// Returns settings in the order of the text; none for an empty text. `fileName` is for messages
/// only.
Result<std::vector<Setting>> readSettings(std::string_view text, std::string_view fileName);

}  // namespace millrace::spec
