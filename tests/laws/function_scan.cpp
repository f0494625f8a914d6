// Finds where functions begin and end from brackets and the words before them. It uses no compiler,
// so that it reads the whole tree in a second; the tests have examples of what it must recognise.
#include <algorithm>
#include <regex>

#include "tests/laws/source_tree.h"

namespace millrace::laws {
namespace {

// Replaces preprocessor directives, with their continuation lines, by blanks.
std::string withoutDirectives(std::string text) {
    bool isDirective = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::size_t first = text.find_first_not_of(" \t", at);
        isDirective = isDirective || (first < end && text[first] == '#');
        const bool goesOn = isDirective && end > at && text[end - 1] == '\\';
        if (isDirective) {
            std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
                      text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
        }
        isDirective = goesOn;
        at = end + 1;
    }
    return text;
}

// `head` without the text inside brackets: "void f()" for "void f(int x = 3)".
std::string withoutBrackets(const std::string& head) {
    std::string flat;
    int depth = 0;
    for (const char c : head) {
        depth -= c == ')' ? 1 : 0;
        if (depth == 0) {
            flat += c;
        }
        depth += c == '(' ? 1 : 0;
    }
    return flat;
}

std::string trimmed(const std::string& text) {
    const std::size_t from = text.find_first_not_of(" \t\n");
    if (from == std::string::npos) {
        return "";
    }
    return text.substr(from, text.find_last_not_of(" \t\n") - from + 1);
}

enum class Scope { kNamespace, kClass, kFunction, kInitialiser };

// The kind of scope that a '{' opens behind `head`, the words since the last ';' or '}'.
Scope scopeOf(const std::string& head) {
    static const std::regex kNamespace("^(inline\\s+)?(namespace|extern)\\b");
    static const std::regex kClass(
        "^(template\\s*<[^;]*>\\s*)?(typedef\\s+)?(class|struct|union|enum)\\b");
    static const std::regex kMembers("\\)[^()=:]*:(?!:)");
    static const std::regex kAssigned("[^=!<>]=[^=]");
    static const std::regex kTemplate("^template\\s*<[^()]*>");
    const std::string flat = trimmed(withoutBrackets(head));
    const bool hasBrackets = flat.find("()") != std::string::npos;
    if (!hasBrackets && std::regex_search(flat, kNamespace)) {
        return Scope::kNamespace;
    }
    const bool isMember = flat.ends_with(")") || flat.find(") const") != std::string::npos;
    if (!isMember && std::regex_search(flat, kClass)) {
        return Scope::kClass;
    }
    const bool isOperator = flat.find("operator") != std::string::npos;
    const std::string declared = std::regex_replace(flat, kTemplate, "");
    if (!hasBrackets || (!isOperator && std::regex_search(declared, kAssigned))) {
        return Scope::kInitialiser;
    }
    // Behind "X(int a) : a_" a '{' initialises a member; behind "X(int a) : a_{a}" and "X(int a) :
    // a_(a)" it opens the body.
    const bool isBehindMember = flat.ends_with(")") || flat.ends_with("}");
    if (!isBehindMember && std::regex_search(flat, kMembers)) {
        return Scope::kInitialiser;
    }
    return Scope::kFunction;
}

std::string functionName(const std::string& head) {
    static const std::regex kTest("\\b(TYPED_TEST|TEST(_F|_P)?|FUZZ_TEST)\\s*\\(([^)]*)\\)");
    static const std::regex kName(
        "((?:\\w+(?:<[^<>]*>)?::)*(?:~?\\w+|operator[^\\w\\s(]+|"
        "operator\\(\\)|operator [\\w:]+))\\s*\\(");
    std::smatch match;
    if (std::regex_search(head, match, kTest)) {
        return match[0];
    }
    return std::regex_search(head, match, kName) ? match[1].str() : trimmed(head);
}

// Reads a file once, bracket by bracket.
class FunctionScan {
 public:
    std::vector<FunctionPlace> run(const std::string& code) {
        for (const char c : code) {
            line_ += c == '\n' ? 1 : 0;
            if (inFunction_ > 0) {
                inside(c);
            } else {
                outside(c);
            }
        }
        return std::move(found_);
    }

 private:
    void inside(char c) {
        inFunction_ += c == '{' ? 1 : c == '}' ? -1 : 0;
        if (inFunction_ == 0) {
            found_.back().lines = line_ - found_.back().line + 1;
            head_.clear();
        }
    }
    void outside(char c) {
        round_ += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == '{') {
            open();
        } else if (c == '}') {
            close();
        } else if (isInInitialiser()) {
            return;
        } else if ((c == ';' && round_ == 0) || (c == ':' && isAccess())) {
            head_.clear();
        } else if (!head_.empty() || (c != ' ' && c != '\n' && c != '\t')) {
            headLine_ = head_.empty() ? line_ : headLine_;
            head_ += c;
        }
    }
    void open() {
        const Scope scope = round_ > 0 || isInInitialiser() ? Scope::kInitialiser : scopeOf(head_);
        if (scope == Scope::kFunction) {
            found_.push_back({functionName(head_), headLine_, 0});
            inFunction_ = 1;
            return;
        }
        if (scope == Scope::kInitialiser) {
            head_ += isInInitialiser() ? "" : "{";
        } else {
            head_.clear();
        }
        scopes_.push_back(scope);
    }
    void close() {
        const bool wasInitialiser = isInInitialiser();
        if (!scopes_.empty()) {
            scopes_.pop_back();
        }
        if (!wasInitialiser) {
            head_.clear();
        } else if (!isInInitialiser()) {
            head_ += '}';
        }
    }
    bool isInInitialiser() const {
        return !scopes_.empty() && scopes_.back() == Scope::kInitialiser;
    }
    bool isAccess() const {
        static const std::regex kAccess(
            "\\s*(public|private|protected|Q_SIGNALS|signals)(\\s+(Q_SLOTS|slots))?\\s*");
        return head_.size() < 40 && std::regex_match(head_, kAccess);
    }

    std::vector<FunctionPlace> found_;
    std::vector<Scope> scopes_;
    std::string head_;
    int headLine_ = 1;
    int line_ = 1;
    int round_ = 0;
    int inFunction_ = 0;
};

}  // namespace

std::vector<FunctionPlace> functionsOf(const SourceFile& file) {
    return FunctionScan().run(withoutDirectives(stripped(file.text, Keep::kCode)));
}

}  // namespace millrace::laws
