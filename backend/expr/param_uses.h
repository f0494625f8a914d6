#pragma once
// Finds `${name}` in an expression's text, where a spec inserts a constant before the text is
// parsed. An expression that still has one does not parse.
//
// Threads: pure. Failure: none; for a text that is not an expression, finds those before its first
// error.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::expr {

struct ParamUse {
    std::size_t offset = 0, size = 0;  ///< bytes of the text, including `${` and `}`
    std::string content;               ///< the text in between
    bool isAfterIn = false;            ///< in `x in ${...}`, where a list is allowed
    bool isInText = false;             ///< inside the quotes of a text literal
};

/// Returns them in the order of the text. `text` is an expression.
std::vector<ParamUse> paramUsesIn(std::string_view text);

/// "'it''s'": a text literal with this value; escapes quotes.
std::string textLiteral(std::string_view value);

}  // namespace millrace::expr
