#include "tests/laws/line_laws.h"

#include <algorithm>

namespace millrace::laws {
namespace {

bool binds(const LineLaw& law, const SourceFile& file) {
    return languageOf(file) == law.language && startsWithAny(file.path, law.in) &&
           !startsWithAny(file.path, law.notIn);
}

// Python and shell: a line that begins with "#", and the rest of a line behind " #", is a comment.
std::string withoutHash(const std::string& text) {
    std::string code;
    for (const std::string& line : linesOf(text)) {
        const std::size_t first = line.find_first_not_of(" \t");
        const bool isComment = first != std::string::npos && line[first] == '#';
        code += isComment ? "" : line.substr(0, line.find(" # "));
        code += '\n';
    }
    return code;
}

const Exception* exceptionOf(const LineLaw& law, const std::string& path, const std::string& line) {
    const auto found =
        std::find_if(law.exceptions.begin(), law.exceptions.end(), [&](const Exception& e) {
            return e.path == path && line.find(e.text) != std::string::npos;
        });
    return found == law.exceptions.end() ? nullptr : &*found;
}

// Calls `each` with the number and the text of every line that matches the law's pattern.
template <class Each>
void forEachHit(const LineLaw& law, const SourceFile& file, const Each& each) {
    const std::string code =
        law.language == Language::kCpp ? stripped(file.text, law.keep) : withoutHash(file.text);
    const std::vector<std::string> written = linesOf(file.text);
    int number = 0;
    for (const std::string& line : linesOf(code)) {
        ++number;
        if (law.pattern.isIn(line)) {
            each(number, written[static_cast<std::size_t>(number - 1)]);
        }
    }
}

}  // namespace

Language languageOf(const SourceFile& file) {
    const std::string first = file.text.substr(0, file.text.find('\n'));
    const bool isPython = file.path.ends_with(".py") ||
                          (first.starts_with("#!") && first.find("python") != std::string::npos);
    return isCpp(file.path) ? Language::kCpp : isPython ? Language::kPython : Language::kShell;
}

LinePattern machinePath(std::vector<std::string> hints, const std::string& more) {
    std::string names;
    for (const char* name : {"home", "Users", "root", "mnt"}) {
        names += (names.empty() ? "" : "|") + std::string(name);
        hints.push_back("/" + std::string(name) + "/");
    }
    return {std::move(hints), std::regex("/(" + names + ")/\\w" + more)};
}

std::vector<Offence> checkLines(const std::vector<SourceFile>& files, const LineLaw& law) {
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (!binds(law, file)) {
            continue;
        }
        forEachHit(law, file, [&](int number, const std::string& line) {
            if (exceptionOf(law, file.path, line) == nullptr) {
                offences.push_back({file.path, number, law.what});
            }
        });
    }
    return offences;
}

std::vector<Offence> checkExceptions(const std::vector<SourceFile>& files, const LineLaw& law) {
    std::vector<const Exception*> used;
    for (const SourceFile& file : files) {
        if (!binds(law, file)) {
            continue;
        }
        forEachHit(law, file, [&](int, const std::string& line) {
            used.push_back(exceptionOf(law, file.path, line));
        });
    }
    std::vector<Offence> offences;
    for (const Exception& exception : law.exceptions) {
        if (std::find(used.begin(), used.end(), &exception) == used.end()) {
            offences.push_back({exception.path, 0,
                                "no line with '" + exception.text + "' needs its exception from '" +
                                    law.name + "': remove it"});
        }
    }
    return offences;
}

}  // namespace millrace::laws
