#include "backend/expr/expr_lexer.h"

#include <array>

#include "backend/core/status.h"

namespace millrace::expr {
namespace {

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
bool isNameStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}
bool isNamePart(char c) {
    return isNameStart(c) || isDigit(c) || c == '$';
}
bool isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

constexpr std::array<std::string_view, 10> kTwoCharSymbols = {
    "//", "||", "::", "<=", ">=", "<>", "!=", "==", "**", "->"};
constexpr std::string_view kOneCharSymbols = "+-*/%^=<>(),.[]";

/// The word for an operator of pandas or C.
std::string hintForOperator(char c) {
    const std::string_view word = c == '&'               ? "and"
                                  : c == '|'             ? "or"
                                  : c == '~' || c == '!' ? "not"
                                                         : "";
    return word.empty() ? "" : strCat("; write '", word, "'");
}

class Lexer {
 public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::vector<Token> run() {
        while (true) {
            while (at_ < text_.size() && isBlank(text_[at_])) {
                ++at_;
            }
            tokens_.push_back(next());
            const TokenKind kind = tokens_.back().kind;
            if (kind == TokenKind::kEnd || kind == TokenKind::kError) {
                return std::move(tokens_);
            }
        }
    }

 private:
    Token next() {
        start_ = at_;
        if (at_ >= text_.size()) {
            return make(TokenKind::kEnd, "");
        }
        const char c = text_[at_];
        if (c == '\'') {
            return quoted('\'', TokenKind::kString, "this text has no closing '");
        }
        if (c == '"') {
            return quoted('"', TokenKind::kQuotedName, "this column name has no closing \"");
        }
        if (isDigit(c) || (c == '.' && at_ + 1 < text_.size() && isDigit(text_[at_ + 1]))) {
            return number();
        }
        if (isNameStart(c)) {
            while (at_ < text_.size() && isNamePart(text_[at_]) && !isAtUse()) {
                ++at_;
            }
            return make(TokenKind::kName, std::string(text_.substr(start_, at_ - start_)));
        }
        return isAtUse() ? paramUse() : symbol();
    }

    bool isAtUse() const { return text_.substr(at_, 2) == "${"; }

    Token paramUse() {
        const std::size_t end = text_.find('}', at_);
        if (end == std::string_view::npos) {
            return make(TokenKind::kError, "this ${ has no closing }");
        }
        at_ = end + 1;
        return make(TokenKind::kParamUse, std::string(text_.substr(start_ + 2, end - start_ - 2)));
    }

    Token make(TokenKind kind, std::string text) const {
        Token token{kind, std::move(text), "", static_cast<std::uint32_t>(start_),
                    static_cast<std::uint32_t>(at_ - start_)};
        if (kind == TokenKind::kName) {
            token.lower = token.text;
            for (char& c : token.lower) {
                c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            }
        }
        return token;
    }

    Token quoted(char quote, TokenKind kind, const char* openMessage) {
        std::string value;
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] != quote) {
                value += text_[at_];
            } else if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
                value += quote;
                ++at_;
            } else {
                ++at_;
                return make(kind, std::move(value));
            }
        }
        return make(TokenKind::kError, openMessage);
    }

    void digits() {
        while (at_ < text_.size() && isDigit(text_[at_])) {
            ++at_;
        }
    }

    Token number() {
        bool isReal = false;
        digits();
        if (at_ < text_.size() && text_[at_] == '.') {
            isReal = true;
            ++at_;
            digits();
        }
        if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            isReal = true;
            ++at_;
            if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
                ++at_;
            }
            const std::size_t first = at_;
            digits();
            if (at_ == first) {
                return make(TokenKind::kError, "this number has no digits after its exponent");
            }
        }
        if (at_ < text_.size() && isNamePart(text_[at_]) && !isAtUse()) {
            return make(TokenKind::kError,
                        "a name cannot begin with a digit; put a column's name in double quotes");
        }
        return make(isReal ? TokenKind::kReal : TokenKind::kInteger,
                    std::string(text_.substr(start_, at_ - start_)));
    }

    Token symbol() {
        for (const std::string_view two : kTwoCharSymbols) {
            if (text_.substr(at_, 2) == two) {
                at_ += 2;
                return make(TokenKind::kSymbol, std::string(two));
            }
        }
        const char c = text_[at_];
        if (kOneCharSymbols.find(c) == std::string_view::npos) {
            const auto code = static_cast<unsigned char>(c);
            const std::string shown = code < 0x20 || code == 0x7f
                                          ? strCat("byte ", static_cast<int>(code))
                                          : strCat("'", std::string_view(&c, 1), "'");
            return make(TokenKind::kError, strCat("unexpected ", shown, hintForOperator(c)));
        }
        ++at_;
        return make(TokenKind::kSymbol, std::string(1, c));
    }

    std::string_view text_;
    std::size_t at_ = 0, start_ = 0;
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
    return Lexer(text).run();
}

std::string describeToken(const Token& token) {
    const std::string shown =
        token.text.size() > 40 ? strCat(token.text.substr(0, 37), "...") : token.text;
    switch (token.kind) {
        case TokenKind::kEnd:
            return "the end";
        case TokenKind::kInteger:
        case TokenKind::kReal:
            return strCat("number ", shown);
        case TokenKind::kString:
            return strCat("text '", shown, "'");
        case TokenKind::kQuotedName:
            return strCat("\"", shown, "\"");
        case TokenKind::kParamUse:
            return strCat("'${", shown, "}'");
        default:
            return strCat("'", shown, "'");
    }
}

}  // namespace millrace::expr
