#pragma once
// Laws that each line keeps or breaks by itself, by what it calls or names. Each is one row of a
// table: the paths that it binds, the pattern, the reason, and the exceptions with their reasons.
//
// To add a law: a row in gui_laws.cpp, product_laws.cpp or test_laws.cpp, and its planted offence
// in line_laws_test.cpp. To add an exception: the file, a text of the line, the reason.
#include <string>
#include <vector>

#include "tests/laws/source_tree.h"

namespace millrace::laws {

enum class Language { kCpp, kPython, kShell };
Language languageOf(const SourceFile& file);

/// A line of `path` that holds `text` may do it, because `why`.
struct Exception {
    std::string path;
    std::string text;
    std::string why;
};

struct LineLaw {
    std::string name;
    Language language = Language::kCpp;
    std::vector<std::string> in;     ///< prefixes of the paths that it binds
    std::vector<std::string> notIn;  ///< prefixes of paths among them that it does not bind
    Keep keep = Keep::kCode;         ///< whether it searches texts between quotes, too
    LinePattern pattern;
    std::string what;
    std::vector<Exception> exceptions;
};

/// The console outside its bridge: no thread, no call of a daemon, no event loop, no style sheet,
/// no process, no file.
const std::vector<LineLaw>& guiLaws();
/// Products: nothing in app/ that only Linux has, no sleeping, no umask, JSON through one function,
/// bytes in powers of ten, no path of one machine.
const std::vector<LineLaw>& productLaws();
/// Tests: no sleeping except in each language's polling helper, no fixed port, no path of one
/// machine.
const std::vector<LineLaw>& testLaws();

/// Matches a path that begins with a folder of somebody's machine, or `more`. The pattern is made
/// from the folders' names, so that the files of the laws contain no such path.
LinePattern machinePath(std::vector<std::string> hints = {}, const std::string& more = "");

std::vector<Offence> checkLines(const std::vector<SourceFile>& files, const LineLaw& law);
/// Exceptions that no line of the tree needs.
std::vector<Offence> checkExceptions(const std::vector<SourceFile>& files, const LineLaw& law);

}  // namespace millrace::laws
