#pragma once
// A mistake in a spec or a dataset, with its place.
#include <string>

namespace millrace::client {

struct SpecError {
    std::string message, code, file, path;  ///< path: of the key, "recipe.sample.keep"
    int line = 0, column = 0;               ///< from 1; 0: no place
};

}  // namespace millrace::client
