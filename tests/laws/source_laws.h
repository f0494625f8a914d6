#pragma once
// The layering laws as a table, and the check of a source tree against it.
//
// A law names the files it binds (a path prefix) and either what they alone may include of our own
// rooms, or what they must not include at all. Each offence says file, line, include and law.
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

/// All C++ and CMake files of a checkout below backend, daemon, proto, app and tests.
std::vector<SourceFile> readTree(const std::string& root);

/// Who may include whom, and who may not include what.
std::vector<Offence> checkIncludes(const std::vector<SourceFile>& files);
/// A .cpp has at most 600 lines, a header 250.
std::vector<Offence> checkSizes(const std::vector<SourceFile>& files);
/// The console outside of its bridge: no thread, no call of a daemon, nothing that blocks.
std::vector<Offence> checkGui(const std::vector<SourceFile>& files);
/// Production code never takes the value of a Result that it has just been given: `*find(x)` and
/// `find(x)->name` end the process where the call fails.
std::vector<Offence> checkResults(const std::vector<SourceFile>& files);
/// Products leave alone what the whole process shares (the umask), and parse JSON by its one door
/// (backend/core/json.cpp).
std::vector<Offence> checkProcessWide(const std::vector<SourceFile>& files);
/// Bytes are told in powers of ten (formatBytes): no text of a product has another unit.
std::vector<Offence> checkUnits(const std::vector<SourceFile>& files);
/// No sleeping in tests, no fixed ports, no paths of one machine.
std::vector<Offence> checkTests(const std::vector<SourceFile>& files);

}  // namespace millrace::laws
