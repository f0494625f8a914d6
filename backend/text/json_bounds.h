#pragma once
// Parses JSON text from sockets and files within limits of size and depth.
//
// parseJson() (core/json.h) has larger limits, for this machine's own documents: 256 MB, 64 levels.
#include <cstddef>
#include <string_view>

#include "backend/text/json.h"

namespace millrace {

/// `depth` is that of nested brackets: values are printed, copied and compared recursively, so a
/// deeply nested text could overflow the stack.
struct JsonBounds {
    std::size_t bytes;
    int depth = 64;
};

/// kInvalidArgument with "PLACE: ..." for a text over the limits, and with the byte position for a
/// malformed one.
Result<Json> parseBounded(std::string_view text, std::string_view place, JsonBounds bounds);

}  // namespace millrace
