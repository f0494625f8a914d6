#pragma once
// Splits an expression into tokens. Private to expr.
//
// Failure: at the first invalid text the list ends with kError and a message.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::expr {

enum class TokenKind {
    kEnd,
    kName,
    kQuotedName,
    kInteger,
    kReal,
    kString,
    kParamUse,  ///< `${...}`
    kSymbol,
    kError
};

struct Token {
    TokenKind kind = TokenKind::kEnd;
    std::string text;   ///< names as written, strings without quotes, symbols, the content of
                        ///< `${...}`; kError: the message
    std::string lower;  ///< kName in lower case
    std::uint32_t offset = 0, size = 0;  ///< bytes of the text
};

/// The tokens of `text`; the last one is kEnd or kError.
std::vector<Token> tokenize(std::string_view text);

/// "'x'", "number 3", "the end": for messages.
std::string describeToken(const Token& token);

}  // namespace millrace::expr
