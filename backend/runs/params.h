#pragma once
// The parameters of a run: every scalar of its resolved spec under a dotted name.
#include <map>
#include <string>

#include "backend/text/json.h"

namespace millrace::runs {

/// For example "batch.rows" -> "1024". Elements of a list of objects are named by their `name`
/// ("recipe.spam.on"), else by their index; a list of scalars is one value in JSON, and so are the
/// columns of `features.dense`. Omits null and empty values.
std::map<std::string, std::string> flattenParams(const Json& resolvedSpec);

}  // namespace millrace::runs
