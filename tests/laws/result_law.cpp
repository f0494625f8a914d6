#include "tests/laws/result_law.h"

#include <algorithm>
#include <regex>
#include <set>

namespace millrace::laws {
namespace {

// The position behind the brackets that open at `at`; npos if they do not close.
std::size_t behindBrackets(const std::string& text, std::size_t at, char open, char close) {
    int depth = 0;
    for (; at < text.size(); ++at) {
        depth += text[at] == open ? 1 : text[at] == close ? -1 : 0;
        if (depth == 0) {
            return at + 1;
        }
    }
    return std::string::npos;
}

// Names of functions that are declared with another type somewhere: their name does not tell the
// type of a call.
std::set<std::string> otherFunctions(const std::vector<SourceFile>& files) {
    static const std::regex kDeclaration(
        "^\\s*((?!return\\b|else\\b|case\\b|new\\b|throw\\b)[A-Za-z_][^;={}()]*?)[\\s&*]+"
        "(?:[A-Za-z_]\\w*::)*([A-Za-z_]\\w*)\\(");
    std::set<std::string> names = {"find", "get", "begin", "end", "data", "open", "parse"};
    for (const SourceFile& file : files) {
        std::smatch match;
        for (const std::string& line : linesOf(file.text)) {
            const bool isShort = line.size() < 200 && line.find('(') != std::string::npos;
            if (isShort && std::regex_search(line, match, kDeclaration) &&
                match[1].str().find("Result<") == std::string::npos) {
                names.insert(match[2]);
            }
        }
    }
    return names;
}

// Names of functions that return a Result in all their declarations.
std::set<std::string> resultFunctions(const std::vector<SourceFile>& files) {
    static const std::regex kName("^\\s*(?:[A-Za-z_]\\w*::)*([A-Za-z_]\\w*)\\s*\\(");
    std::set<std::string> names;
    for (const SourceFile& file : files) {
        for (std::size_t at = file.text.find("Result<"); at != std::string::npos;
             at = file.text.find("Result<", at + 1)) {
            const std::size_t end = behindBrackets(file.text, at + 6, '<', '>');
            std::smatch match;
            const std::string rest = end == std::string::npos ? "" : file.text.substr(end, 200);
            if (std::regex_search(rest, match, kName)) {
                names.insert(match[1]);
            }
        }
    }
    for (const std::string& name : otherFunctions(files)) {
        names.erase(name);
    }
    return names;
}

// A call of one of `names` that begins at `call`, as in "runs_.findId(x)" or "agent::readAll(3)".
void checkCall(const SourceFile& file, const std::smatch& call, std::size_t offset,
               const std::set<std::string>& names, std::vector<Offence>& offences) {
    if (!names.contains(call[2])) {
        return;
    }
    const std::size_t at = offset + static_cast<std::size_t>(call.position(0));
    const std::size_t open = at + static_cast<std::size_t>(call.length(0)) - 1;
    const std::size_t behind = behindBrackets(file.text, open, '(', ')');
    const bool isStarred = call[1].length() > 0;
    const bool isFollowed = behind != std::string::npos && file.text.compare(behind, 2, "->") == 0;
    if (isStarred || isFollowed) {
        const auto line = std::count(file.text.begin(),
                                     file.text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        offences.push_back({file.path, static_cast<int>(line) + 1,
                            "takes the Result of " + call[2].str() +
                                "() without a check: use ASSIGN_OR_RETURN, or look at ok()"});
    }
}

}  // namespace

std::vector<Offence> checkResults(const std::vector<SourceFile>& files) {
    // A star with no operand before it is a dereference.
    static const std::regex kCall(
        "(?:[=(,{;!&|?:<>]\\s*|return\\s+)(\\*?)(?:[A-Za-z_]\\w*(?:\\.|->|::))*([A-Za-z_]\\w*)\\(");
    const std::set<std::string> names = resultFunctions(files);
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (!isCpp(file.path) || isTest(file.path)) {
            continue;
        }
        std::size_t offset = 0;
        std::smatch match;
        for (auto from = file.text.cbegin();
             std::regex_search(from, file.text.cend(), match, kCall);) {
            checkCall(file, match, offset, names, offences);
            // Arguments are checked as separate calls.
            const auto step = match.position(0) + match.length(0) - 1;
            from += step;
            offset += static_cast<std::size_t>(step);
        }
    }
    return offences;
}

}  // namespace millrace::laws
