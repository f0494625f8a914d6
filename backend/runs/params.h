#pragma once
// The parameters of a run: every scalar of its resolved spec under a dotted name.
#include <map>
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::runs {

/// "batch.rows" -> "1024". Elements of a list of objects go by their `name` ("recipe.spam.on"),
/// else by their index; a list of scalars is one value in JSON. Null and empty values are left out.
Result<std::map<std::string, std::string>> flattenParams(std::string_view resolvedSpec);

}  // namespace millrace::runs
