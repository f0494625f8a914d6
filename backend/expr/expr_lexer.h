#pragma once
// Tokens of an expression. Private to the room.
//
// Failure: the first piece of text that is no token ends the list with kError and a message.
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
    std::string text;   ///< names as written, strings without quotes, symbols, what stands between
                        ///< `${` and `}`; kError: the message
    std::string lower;  ///< kName in lower case
    std::uint32_t offset = 0, size = 0;  ///< bytes of the text
};

/// The tokens of `text`; the last is kEnd or kError.
std::vector<Token> tokenize(std::string_view text);

/// "'x'", "number 3", "the end": for messages.
std::string describeToken(const Token& token);

}  // namespace millrace::expr
