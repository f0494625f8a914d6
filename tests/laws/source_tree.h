#pragma once
// A checkout's sources as values, and the ways in which the laws read them: without comments,
// without texts, as lines, as functions.
//
// Threads: pure functions. Failure: a file that cannot be read has no text.
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace millrace::laws {

struct SourceFile {
    std::string path;  ///< relative to the root, with '/'
    std::string text;
};

struct Offence {
    std::string path;
    int line = 0;
    std::string what;
};

/// "path:line: what", one a line.
std::string describe(const std::vector<Offence>& offences);

/// Reads C++, Python and shell files below backend, daemon, proto, app and tests, with files
/// without an extension that begin with "#!".
std::vector<SourceFile> readTree(const std::string& root);

bool isCpp(const std::string& path);   ///< .cpp .h .c
bool isTest(const std::string& path);  ///< below tests/
bool startsWithAny(const std::string& text, const std::vector<std::string>& prefixes);
std::string folderOf(const std::string& path);
std::string nameOf(const std::string& path);

/// `text` with only the parts that `keep` names; all else becomes spaces, so that positions stay.
enum class Keep { kCode, kCodeAndTexts };
std::string stripped(const std::string& text, Keep keep);

std::vector<std::string> linesOf(const std::string& text);

/// A pattern that is searched only in lines with one of `hints`, because a regular expression over
/// each line of the tree would take minutes.
struct LinePattern {
    std::vector<std::string> hints;
    std::regex pattern;

    bool isIn(const std::string& line) const;
};

/// A function with a body, in a file, a namespace or a class; lambdas and local classes count as
/// lines of the function around them.
struct FunctionPlace {
    std::string name;  ///< as written: "RunStore::open", "TEST_F(OutputTest, Name)"
    int line = 0;      ///< where its declaration begins
    int lines = 0;     ///< to its closing brace
};
std::vector<FunctionPlace> functionsOf(const SourceFile& file);

/// An exception to a law: the function, folder or class, and its present figure, which may only
/// fall.
struct Debt {
    std::string place;
    std::string name;
    int figure = 0;
};

/// Compares measured figures (by place and name) with `most` and the debts. Offences are a figure
/// above `most` without a debt, a figure above its debt, and a debt above its figure; each comes
/// with the line for `table`. `what` names the figure: "lines".
std::vector<Offence> checkDebts(const std::map<std::pair<std::string, std::string>, int>& measured,
                                int most, const std::vector<Debt>& debts, const std::string& table,
                                const std::string& what);

}  // namespace millrace::laws
