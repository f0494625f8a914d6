#include "tests/laws/form_laws.h"

#include <algorithm>
#include <set>

namespace millrace::laws {
namespace {

using Measured = std::map<std::pair<std::string, std::string>, int>;

constexpr int kSourceLines = 600;
constexpr int kHeaderLines = 250;
constexpr int kFunctionLines = 70;
constexpr int kRoomSources = 18;
constexpr int kClassLines = 600;

int numLines(const SourceFile& file) {
    return static_cast<int>(std::count(file.text.begin(), file.text.end(), '\n'));
}

// Names of the classes that are defined at the left edge of a header.
std::vector<std::string> classesOf(const SourceFile& header) {
    static const LinePattern kClass = {{"class ", "struct "}, std::regex("^(class|struct) ")};
    static const std::regex kName("(\\w+)(\\s+final)?\\s*(:[^:].*)?\\{?\\s*$");
    std::vector<std::string> names;
    for (const std::string& line : linesOf(stripped(header.text, Keep::kCode))) {
        std::smatch match;
        const bool isDeclared = line.find(';') != std::string::npos;
        if (!isDeclared && kClass.isIn(line) && std::regex_search(line, match, kName)) {
            names.push_back(match[1]);
        }
    }
    return names;
}

// "RunStore" of "RunStore::open" and of "millrace::runs::RunStore::Impl::open".
std::string classOf(const std::string& function) {
    static const std::regex kClass("^(?:[a-z]\\w*::)*([A-Z]\\w*)(?:<[^<>]*>)?::");
    std::smatch match;
    return std::regex_search(function, match, kClass) ? match[1].str() : "";
}

std::string words(const std::string& comment) {
    std::string letters;
    std::copy_if(comment.begin(), comment.end(), std::back_inserter(letters),
                 [](unsigned char c) { return std::isalpha(c) != 0; });
    return letters;
}

}  // namespace

const std::vector<Debt>& longFunctions() {
    static const std::vector<Debt> kTables = {
        {"app/cli/command_table.cpp", "runCommands", 96},
        // Hand-written anchors of the bench: what is measured is their one loop.
        {"tests/bench/loader/peers/page_decoder.h", "hand_flat", 72},
        {"tests/bench/loader/peers/page_decoder.h", "hand_list", 95},
    };
    return kTables;
}

const std::vector<Debt>& fullRooms() {
    static const std::vector<Debt> kRooms = {};
    return kRooms;
}

const std::vector<Debt>& largeClasses() {
    static const std::vector<Debt> kClasses = {
        {"app/gui/charts", "PlotWidget", 1240},      {"app/gui/models/sheet", "SheetModel", 923},
        {"app/gui/pages/launch", "LaunchPage", 743}, {"app/gui/widgets", "ConsoleStyle", 911},
        {"app/gui/widgets/live", "LaneList", 838},   {"app/gui/widgets/yaml", "YamlEditor", 815},
        {"daemon/agent", "RunController", 739},      {"daemon/agent/run", "ActiveRun", 907},
    };
    return kClasses;
}

std::vector<Offence> checkSizes(const std::vector<SourceFile>& files) {
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        const int most = file.path.ends_with(".h") ? kHeaderLines : kSourceLines;
        if (isCpp(file.path) && numLines(file) > most) {
            offences.push_back({file.path, numLines(file),
                                "has " + std::to_string(numLines(file)) + " lines; at most " +
                                    std::to_string(most) + ": divide it by its duties"});
        }
    }
    return offences;
}

std::vector<Offence> checkFunctions(const std::vector<SourceFile>& files,
                                    const std::vector<Debt>& tables) {
    std::set<std::pair<std::string, std::string>> listed;
    for (const Debt& table : tables) {
        listed.insert({table.place, table.name});
    }
    Measured measured;
    for (const SourceFile& file : files) {
        if (!isCpp(file.path)) {
            continue;
        }
        for (const FunctionPlace& function : functionsOf(file)) {
            const std::pair<std::string, std::string> place = {file.path, function.name};
            if (function.lines > kFunctionLines || listed.contains(place)) {
                measured[place] = std::max(measured[place], function.lines);
            }
        }
    }
    return checkDebts(measured, kFunctionLines, tables, "longFunctions()", "lines");
}

std::vector<Offence> checkRoomSizes(const std::vector<SourceFile>& files,
                                    const std::vector<Debt>& debts) {
    Measured measured;
    for (const SourceFile& file : files) {
        measured[{folderOf(file.path), ""}] += file.path.ends_with(".cpp") ? 1 : 0;
    }
    return checkDebts(measured, kRoomSources, debts, "fullRooms()", ".cpp files");
}

std::vector<Offence> checkClasses(const std::vector<SourceFile>& files,
                                  const std::vector<Debt>& debts) {
    // The files of each class, by room and class.
    std::map<std::pair<std::string, std::string>, std::set<std::string>> headers, sources;
    std::map<std::string, int> lines;
    for (const SourceFile& file : files) {
        lines[file.path] = numLines(file);
        if (file.path.ends_with(".h")) {
            for (const std::string& name : classesOf(file)) {
                headers[{folderOf(file.path), name}].insert(file.path);
            }
        } else if (file.path.ends_with(".cpp")) {
            for (const FunctionPlace& function : functionsOf(file)) {
                sources[{folderOf(file.path), classOf(function.name)}].insert(file.path);
            }
        }
    }
    Measured measured;
    for (const auto& [place, held] : sources) {
        const auto header = headers.find(place);
        if (held.size() < 2 || header == headers.end()) {
            continue;
        }
        int& sum = measured[place];
        std::set<std::string> all = header->second;
        all.insert(held.begin(), held.end());
        for (const std::string& path : all) {
            sum += lines[path];
        }
    }
    return checkDebts(measured, kClassLines, debts, "largeClasses()", "lines in all its files");
}

std::vector<Offence> checkOpenings(const std::vector<SourceFile>& files) {
    constexpr std::size_t kLettersLeast = 12;
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (!file.path.ends_with(".h")) {
            continue;
        }
        std::string opening;
        bool isComment = false;
        for (const std::string& line : linesOf(file.text)) {
            isComment = line.starts_with("//") || line.starts_with("/*") ||
                        (isComment && line.starts_with(" *"));
            if (isComment) {
                opening += line;
            } else if (!line.empty() && !line.starts_with("#pragma once") &&
                       !line.starts_with("#ifndef") && !line.starts_with("#define")) {
                break;
            }
        }
        if (words(opening).size() < kLettersLeast) {
            offences.push_back(
                {file.path, 2, "a header begins with a comment that says what it is"});
        }
    }
    return offences;
}

std::vector<Offence> checkBanners(const std::vector<SourceFile>& files) {
    static const LinePattern kRule = {{"---", "===", "***", "###", "~~~", "___", "///"},
                                      std::regex("^\\s*(//+|/\\*|#)\\s*([-=*#~_/]\\s?){3,}")};
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        int number = 0;
        for (const std::string& line : linesOf(file.text)) {
            ++number;
            if (kRule.isIn(line)) {
                offences.push_back(
                    {file.path, number, "a banner: divide a file that needs headings"});
            }
        }
    }
    return offences;
}

}  // namespace millrace::laws
