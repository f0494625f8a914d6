#pragma once
// `${name}` in the text of an expression: where a spec puts a constant in before the text is
// parsed. An expression that still holds one does not parse.
//
// Threads: pure. Failure: none; a text that is not an expression has those up to its first error.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::expr {

struct ParamUse {
    std::size_t offset = 0, size = 0;  ///< bytes of the text, `${` and `}` included
    std::string content;               ///< what stands between them
    bool isAfterIn = false;            ///< `x in ${...}`: a list may stand there
    bool isInText = false;             ///< within the quotes of a text literal
};

/// In the order of the text. `text` is an expression.
std::vector<ParamUse> paramUsesIn(std::string_view text);

/// "'it''s'": a text literal of that value, whatever it holds.
std::string textLiteral(std::string_view value);

}  // namespace millrace::expr
