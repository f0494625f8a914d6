#include "app/ssh/config_hosts.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <glob.h>

#include "backend/core/status.h"
#include "backend/filesystem/files.h"

namespace millrace::ssh {
namespace {

constexpr int kDepthMost = 8;
constexpr std::size_t kFileBytesMax = 1 << 20, kNamesMost = 1'000, kFilesMost = 1'000;

std::string homeSsh() {
    const char* home = std::getenv("HOME");
    return strCat(home == nullptr ? "" : home, "/.ssh/");
}

std::vector<std::string> filesOf(std::string pattern, const std::string& directory) {
    const char* home = std::getenv("HOME");
    if (pattern.rfind("~/", 0) == 0) {
        pattern = strCat(home == nullptr ? "" : home, pattern.substr(1));
    } else if (!pattern.empty() && pattern.front() != '/') {
        pattern = directory + pattern;
    }
    std::vector<std::string> files;
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
    return files;
}

// Splits "Keyword value ..." or "Keyword=value" and removes quotes.
std::vector<std::string> wordsOf(std::string line) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) {
        line[equals] = ' ';
    }
    std::erase(line, '"');
    std::istringstream rest(line);
    std::vector<std::string> words;
    for (std::string word; rest >> word && word.front() != '#';) {
        words.push_back(word);
    }
    if (!words.empty()) {
        std::transform(words[0].begin(), words[0].end(), words[0].begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    return words;
}

struct Reading {
    std::set<std::string> files;  // each is read once, however many include it
    std::vector<std::string> names;
};

void read(const std::string& file, int depth, Reading& reading) {
    std::vector<std::string>& names = reading.names;
    std::error_code error;
    const bool isReadable = depth <= kDepthMost && std::filesystem::is_regular_file(file, error) &&
                            reading.files.size() < kFilesMost && reading.files.insert(file).second;
    const Result<std::string> text =
        isReadable ? readFile(file, kFileBytesMax) : Result<std::string>("");
    if (!text.ok()) {
        return;
    }
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line) && names.size() < kNamesMost;) {
        const std::vector<std::string> words = wordsOf(line);
        const bool isHost = !words.empty() && words[0] == "host";
        const bool isInclude = !words.empty() && words[0] == "include";
        for (std::size_t i = 1; i < words.size() && (isHost || isInclude); ++i) {
            if (isInclude) {
                for (const std::string& other : filesOf(words[i], homeSsh())) {
                    read(other, depth + 1, reading);
                }
            } else if (words[i].find_first_of("*?!") == std::string::npos &&
                       std::ranges::find(names, words[i]) == names.end()) {
                names.push_back(words[i]);
            }
        }
    }
}

}  // namespace

std::vector<std::string> hostsOfConfig(const std::string& file) {
    Reading reading;
    read(file.empty() ? homeSsh() + "config" : file, 0, reading);
    return std::move(reading.names);
}

}  // namespace millrace::ssh
