#include "app/ssh/libssh/config_file.h"

#include <algorithm>
#include <set>

#include <fnmatch.h>
#include <glob.h>
#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace::libssh {
namespace {

constexpr std::size_t kFileBytes = 1 << 20;
constexpr int kMostIncludes = 16;

// The words of the rest of a line; "quoted words" lose their quotes.
std::vector<std::string> wordsOf(const std::string& text) {
    std::vector<std::string> words;
    bool isIn = false, isQuoted = false;
    for (const char c : text) {
        if (c == '"') {
            isQuoted = !isQuoted;
            if (!isIn) {
                words.emplace_back();
            }
            isIn = true;
        } else if (!isQuoted && (c == ' ' || c == '\t')) {
            isIn = false;
        } else {
            if (!isIn) {
                words.emplace_back();
            }
            isIn = true;
            words.back() += c;
        }
    }
    return words;
}

class Parser {
 public:
    explicit Parser(const ConfigSubject& subject) : subject_(subject) {}

    Status parse(const std::string& text, const std::string& place, const std::string& directory,
                 int depth) {
        int number = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            ++number;
            RETURN_IF_ERROR(
                parseLine(text.substr(at, end - at), strCat(place, ":", number), directory, depth));
            at = end + 1;
        }
        return okStatus();
    }

    /// Ends the last block: the next file begins outside any block.
    void beginFile() { applies_ = true; }
    std::vector<ConfigLine> take() { return std::move(lines_); }

 private:
    Status parseLine(std::string line, const std::string& place, const std::string& directory,
                     int depth) {
        while (!line.empty() &&
               (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
            line.pop_back();
        }
        const std::size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos || line[first] == '#') {
            return okStatus();
        }
        const std::size_t end = line.find_first_of(" \t=", first);
        const std::string name = line.substr(first, end - first);
        const std::string key = lowerCase(name);
        std::size_t from =
            end == std::string::npos ? line.size() : line.find_first_not_of(" \t", end);
        if (from != std::string::npos && from < line.size() && line[from] == '=') {
            from = line.find_first_not_of(" \t", from + 1);
        }
        const std::string rest = from == std::string::npos ? "" : line.substr(from);
        if (rest.empty() || valueOf(key, rest).empty()) {
            return invalidArgument(place, ": ", name, " has no value");
        }
        if (key == "host") {
            applies_ = isIncluded_ && matchesPatterns(subject_.host, rest);
        } else if (key == "match") {
            applies_ = isIncluded_ && matches(wordsOf(rest));
        } else if (key == "include") {
            return include(wordsOf(rest), directory, depth);
        } else if (applies_) {
            lines_.push_back({key, valueOf(key, rest), place, name});
        }
        return okStatus();
    }

    // Commands keep their quotes, which the shell needs.
    static std::string valueOf(const std::string& key, const std::string& rest) {
        if (key == "proxycommand" || key.find("knownhostsfile") != std::string::npos) {
            return rest;
        }
        const std::vector<std::string> words = wordsOf(rest);
        return words.size() == 1 ? words[0] : rest;
    }

    std::string valueSoFar(const std::string& key, const std::string& otherwise) const {
        const auto found =
            std::ranges::find_if(lines_, [&](const ConfigLine& line) { return line.key == key; });
        return found == lines_.end() ? otherwise : found->value;
    }

    bool matches(const std::vector<std::string>& words) const {
        bool all = !words.empty();
        for (std::size_t i = 0; i < words.size(); ++i) {
            std::string criterion = lowerCase(words[i]);
            const bool isNegated = !criterion.empty() && criterion[0] == '!';
            criterion.erase(0, isNegated ? 1 : 0);
            if (criterion == "all") {
                continue;
            }
            const std::string value = i + 1 < words.size() ? words[++i] : "";
            all = all && holds(criterion, value) != isNegated;
        }
        return all;
    }

    bool holds(const std::string& criterion, const std::string& value) const {
        const std::string user =
            subject_.user.empty() ? valueSoFar("user", subject_.localUser) : subject_.user;
        const std::string host = valueSoFar("hostname", subject_.host);
        if (criterion == "host") {
            return matchesPatterns(host, value);
        }
        if (criterion == "originalhost") {
            return matchesPatterns(subject_.host, value);
        }
        if (criterion == "user") {
            return matchesPatterns(user, value);
        }
        if (criterion == "localuser") {
            return matchesPatterns(subject_.localUser, value);
        }
        const Tokens tokens{host,          subject_.host,
                            user,          subject_.localUser,
                            subject_.home, parsePort(valueSoFar("port", "22"))};
        return criterion == "exec" && subject_.runs && subject_.runs(expandTokens(value, tokens));
    }

    Status include(const std::vector<std::string>& patterns, const std::string& directory,
                   int depth) {
        if (depth >= kMostIncludes) {
            return invalidArgument("Include goes deeper than ", kMostIncludes, " files");
        }
        for (const std::string& pattern : patterns) {
            const std::string path = absolutePath(expandHome(pattern, subject_.home), directory);
            glob_t found{};
            if (::glob(path.c_str(), 0, nullptr, &found) == 0) {
                const bool applied = applies_, included = isIncluded_;
                for (std::size_t i = 0; i < found.gl_pathc; ++i) {
                    isIncluded_ = applies_ = applied;
                    const Result<std::string> text = readFile(found.gl_pathv[i], kFileBytes);
                    Status status = text.ok()
                                        ? parse(*text, found.gl_pathv[i], directory, depth + 1)
                                        : text.status();
                    if (!status.ok()) {
                        ::globfree(&found);
                        return status;
                    }
                }
                applies_ = applied;
                isIncluded_ = included;
            }
            ::globfree(&found);
        }
        return okStatus();
    }

    const ConfigSubject& subject_;
    bool applies_ = true;
    bool isIncluded_ = true;  // false: an Include of a block that does not apply
    std::vector<ConfigLine> lines_;
};

// Keys that a file may have beside those of the command line (isOption). This program or libssh
// obeys the first ones. The others are for features that it never uses, or without an important
// effect.
const std::set<std::string>& keysOfFiles() {
    static const std::set<std::string> kKeys = {"proxycommand",
                                                "challengeresponseauthentication",
                                                "ciphers",
                                                "macs",
                                                "kexalgorithms",
                                                "hostkeyalgorithms",
                                                "compression",
                                                "rekeylimit",
                                                "pubkeyacceptedalgorithms",
                                                "pubkeyacceptedkeytypes",
                                                "addkeystoagent",
                                                "checkhostip",
                                                "dynamicforward",
                                                "enableescapecommandline",
                                                "escapechar",
                                                "forkafterauthentication",
                                                "forwardx11timeout",
                                                "forwardx11trusted",
                                                "gatewayports",
                                                "gssapiauthentication",
                                                "gssapidelegatecredentials",
                                                "hashknownhosts",
                                                "hostbasedauthentication",
                                                "ignoreunknown",
                                                "ipqos",
                                                "localcommand",
                                                "localforward",
                                                "logverbose",
                                                "permitremoteopen",
                                                "remoteforward",
                                                "sendenv",
                                                "sessiontype",
                                                "setenv",
                                                "stdinnull",
                                                "syslogfacility",
                                                "tunnel",
                                                "tunneldevice",
                                                "updatehostkeys",
                                                "usekeychain",
                                                "visualhostkey",
                                                "xauthlocation"};
    return kKeys;
}

}  // namespace

Result<std::vector<ConfigLine>> parseConfig(const std::string& text, const std::string& place,
                                            const std::string& directory,
                                            const ConfigSubject& subject) {
    Parser parser(subject);
    RETURN_IF_ERROR(parser.parse(text, place, directory, 0));
    return parser.take();
}

Result<std::vector<ConfigLine>> readConfig(const std::string& file, const ConfigSubject& subject) {
    Parser parser(subject);
    const std::string ours = subject.home + "/.ssh";
    std::vector<std::pair<std::string, std::string>> places;
    if (file == "none") {
        return std::vector<ConfigLine>{};
    }
    if (!file.empty()) {
        places.emplace_back(file, ours);
    } else {
        places.emplace_back(ours + "/config", ours);
        places.emplace_back("/etc/ssh/ssh_config", "/etc/ssh");
    }
    for (const auto& [path, directory] : places) {
        const Result<std::string> text = readFile(path, kFileBytes);
        if (text.ok()) {
            parser.beginFile();
            RETURN_IF_ERROR(parser.parse(*text, path, directory, 0));
        } else if (!file.empty() || !absl::IsNotFound(text.status())) {
            return text.status();
        }
    }
    return parser.take();
}

bool matchesPatterns(const std::string& name, const std::string& patterns) {
    std::string spaced = patterns;
    std::ranges::replace(spaced, ',', ' ');
    bool isMatched = false;
    for (const std::string& word : wordsOf(spaced)) {
        const bool isNegated = word[0] == '!';
        const std::string pattern = lowerCase(word.substr(isNegated ? 1 : 0));
        if (::fnmatch(pattern.c_str(), lowerCase(name).c_str(), FNM_NOESCAPE) == 0) {
            if (isNegated) {
                return false;
            }
            isMatched = true;
        }
    }
    return isMatched;
}

std::string expandHome(const std::string& path, const std::string& home) {
    return path == "~" || path.rfind("~/", 0) == 0 ? home + path.substr(1) : path;
}

std::string expandTokens(const std::string& text, const Tokens& tokens) {
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%' || i + 1 == text.size()) {
            made += text[i];
            continue;
        }
        const char token = text[++i];
        switch (token) {
            case 'h':
                made += tokens.host;
                break;
            case 'n':
                made += tokens.originalHost;
                break;
            case 'p':
                strAppend(&made, tokens.port);
                break;
            case 'r':
                made += tokens.user;
                break;
            case 'u':
                made += tokens.localUser;
                break;
            case 'd':
                made += tokens.home;
                break;
            case '%':
                made += '%';
                break;
            default:
                made += '%';
                made += token;
        }
    }
    return made;
}

std::vector<std::string> unheededKeys(const std::vector<ConfigLine>& lines) {
    std::set<std::string> seen;
    std::vector<std::string> unheeded;
    for (const ConfigLine& line : lines) {
        if (!isOption(line.key) && !keysOfFiles().contains(line.key) &&
            seen.insert(line.key).second) {
            unheeded.push_back(strCat(line.place, ": ", line.name));
        }
    }
    return unheeded;
}

}  // namespace millrace::libssh
