#pragma once
// How much of a JSON text is taken: for everything that comes over a socket or from a file.
//
// parseJson() (core/json.h) has bounds for this machine's own documents: 256 MB, 64 deep.
#include <cstddef>
#include <string_view>

#include "backend/core/json.h"

namespace millrace {

/// The depth is of brackets within brackets: values are printed, copied and compared by recursion,
/// so without a limit a nested text ends the process.
struct JsonBounds {
    std::size_t bytes;
    int depth = 64;
};

/// kInvalidArgument with "PLACE: ..." for a text over the bounds, and with the byte position for a
/// malformed one.
Result<Json> parseBounded(std::string_view text, std::string_view place, JsonBounds bounds);

}  // namespace millrace
