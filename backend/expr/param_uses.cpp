#include "backend/expr/param_uses.h"

#include "backend/expr/expr_lexer.h"

namespace millrace::expr {
namespace {

/// Adds the uses inside the quotes of a text literal with token `token`.
void addInText(std::string_view text, const Token& token, std::vector<ParamUse>& out) {
    const std::string_view literal = text.substr(token.offset, token.size);
    for (std::size_t at = 0; (at = literal.find("${", at)) != std::string_view::npos; at += 2) {
        const std::size_t end = literal.find('}', at);
        if (end != std::string_view::npos) {
            out.push_back({token.offset + at, end + 1 - at,
                           std::string(literal.substr(at + 2, end - at - 2)), false, true});
        }
    }
}

}  // namespace

std::vector<ParamUse> paramUsesIn(std::string_view text) {
    std::vector<ParamUse> out;
    bool isAfterIn = false;
    for (const Token& token : tokenize(text)) {
        if (token.kind == TokenKind::kParamUse) {
            out.push_back({token.offset, token.size, token.text, isAfterIn, false});
        } else if (token.kind == TokenKind::kString) {
            addInText(text, token, out);
        }
        isAfterIn = token.kind == TokenKind::kName && token.lower == "in";
    }
    return out;
}

std::string textLiteral(std::string_view value) {
    std::string out = "'";
    for (const char c : value) {
        out += c;
        if (c == '\'') {
            out += c;
        }
    }
    return out + "'";
}

}  // namespace millrace::expr
