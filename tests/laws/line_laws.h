#pragma once
// Laws that a line keeps or breaks by itself: what it calls or names. Each is one row of a table
// that says whom it binds, what it looks for, why, and who alone may do it for which reason.
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
    std::vector<std::string> notIn;  ///< and of those among them that it does not
    Keep keep = Keep::kCode;         ///< whether texts are looked at, too
    LinePattern pattern;
    std::string what;
    std::vector<Exception> exceptions;
};

/// The console outside of its bridge: no thread, no call of a daemon, no loop of its own, no style
/// sheet, no process, no file.
const std::vector<LineLaw>& guiLaws();
/// Products: nothing of Linux alone in app/, no sleeping, no umask, JSON by its one door, bytes in
/// powers of ten, no path of one machine.
const std::vector<LineLaw>& productLaws();
/// Tests: no sleeping but in the one polling helper of each language, no fixed port, no path of one
/// machine.
const std::vector<LineLaw>& testLaws();

/// A path that begins with a folder of somebody's machine, or what matches `more`. The folders
/// stand in it by their names alone: the laws' own files hold no such path either.
LinePattern machinePath(std::vector<std::string> hints = {}, const std::string& more = "");

std::vector<Offence> checkLines(const std::vector<SourceFile>& files, const LineLaw& law);
/// Exceptions that no line of the tree needs.
std::vector<Offence> checkExceptions(const std::vector<SourceFile>& files, const LineLaw& law);

}  // namespace millrace::laws
