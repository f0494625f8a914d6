#include "tests/laws/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace millrace::laws {
namespace {

bool isWordCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Blanks comments and, where it is asked to, texts.
class Stripper {
 public:
    Stripper(const std::string& text, Keep keep) : text_(text), out_(text), keep_(keep) {}

    std::string run() {
        while (at_ < text_.size()) {
            if (text_.compare(at_, 2, "//") == 0) {
                blankTo(text_.find('\n', at_));
            } else if (text_.compare(at_, 2, "/*") == 0) {
                const std::size_t end = text_.find("*/", at_ + 2);
                blankTo(end == std::string::npos ? end : end + 2);
            } else if (text_[at_] == '"' && at_ > 0 && text_[at_ - 1] == 'R') {
                rawText();
            } else if (text_[at_] == '"' || (text_[at_] == '\'' && !isDigitSeparator())) {
                quoted();
            } else {
                ++at_;
            }
        }
        return out_;
    }

 private:
    void blankTo(std::size_t end) {
        end = std::min(end, text_.size());
        for (; at_ < end; ++at_) {
            out_[at_] = text_[at_] == '\n' ? '\n' : ' ';
        }
    }
    void leaveTextTo(std::size_t end) {
        if (keep_ == Keep::kCode) {
            blankTo(end);
        }
        at_ = std::min(end, text_.size());
    }
    // 1'000, but not u'x'.
    bool isDigitSeparator() const {
        std::size_t from = at_;
        while (from > 0 && (isWordCharacter(text_[from - 1]) || text_[from - 1] == '\'')) {
            --from;
        }
        return from < at_ && std::isdigit(static_cast<unsigned char>(text_[from])) != 0;
    }
    void rawText() {
        const std::size_t open = text_.find('(', at_);
        const std::string end =
            ")" + (open == std::string::npos ? "" : text_.substr(at_ + 1, open - at_ - 1)) + "\"";
        const std::size_t close = text_.find(end, at_);
        ++at_;
        leaveTextTo(close == std::string::npos ? close : close + end.size() - 1);
        ++at_;
    }
    void quoted() {
        const char quote = text_[at_];
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
            end += text_[end] == '\\' ? 2 : 1;
        }
        ++at_;
        leaveTextTo(end);
        ++at_;
    }

    const std::string& text_;
    std::string out_;
    const Keep keep_;
    std::size_t at_ = 0;
};

std::string debtLine(const std::pair<std::string, std::string>& place, int figure) {
    const std::string name = place.second.empty() ? "" : "\"" + place.second + "\", ";
    return "{\"" + place.first + "\", " + (name.empty() ? "\"\", " : name) +
           std::to_string(figure) + "},";
}

}  // namespace

std::string describe(const std::vector<Offence>& offences) {
    std::string text;
    for (const Offence& o : offences) {
        text += o.path + ":" + std::to_string(o.line) + ": " + o.what + "\n";
    }
    return text;
}

std::vector<SourceFile> readTree(const std::string& root) {
    std::vector<SourceFile> files;
    for (const char* top : {"backend", "daemon", "proto", "app", "tests"}) {
        const std::filesystem::path folder = std::filesystem::path(root) / top;
        if (!std::filesystem::exists(folder)) {
            continue;
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            const std::string path = entry.path().lexically_relative(root).generic_string();
            const std::string ending = entry.path().extension().string();
            const bool isKnown = isCpp(path) || ending == ".py" || ending == ".sh";
            if (!entry.is_regular_file() || (!isKnown && !ending.empty())) {
                continue;
            }
            std::ifstream in(entry.path());
            std::stringstream text;
            text << in.rdbuf();
            if (isKnown || text.str().starts_with("#!")) {
                files.push_back({path, text.str()});
            }
        }
    }
    std::sort(files.begin(), files.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
    return files;
}

bool isCpp(const std::string& path) {
    return path.ends_with(".cpp") || path.ends_with(".h") || path.ends_with(".c");
}

bool isTest(const std::string& path) {
    return path.starts_with("tests/");
}

bool startsWithAny(const std::string& text, const std::vector<std::string>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& p) { return text.starts_with(p); });
}

std::string folderOf(const std::string& path) {
    return path.substr(0, path.find_last_of('/'));
}

std::string nameOf(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
}

std::string stripped(const std::string& text, Keep keep) {
    return Stripper(text, keep).run();
}

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

bool LinePattern::isIn(const std::string& line) const {
    const bool hasHint = std::any_of(hints.begin(), hints.end(), [&](const std::string& hint) {
        return line.find(hint) != std::string::npos;
    });
    return hasHint && std::regex_search(line, pattern);
}

std::vector<Offence> checkDebts(const std::map<std::pair<std::string, std::string>, int>& measured,
                                int most, const std::vector<Debt>& debts, const std::string& table,
                                const std::string& what) {
    std::map<std::pair<std::string, std::string>, int> allowed;
    for (const Debt& debt : debts) {
        allowed[{debt.place, debt.name}] = debt.figure;
    }
    std::vector<Offence> offences;
    for (const auto& [place, figure] : measured) {
        const auto debt = allowed.find(place);
        const std::string has = (place.second.empty() ? "" : place.second + " ") + "has " +
                                std::to_string(figure) + " " + what;
        if (debt == allowed.end() && figure > most) {
            offences.push_back(
                {place.first, 0,
                 has + ", at most " + std::to_string(most) + ": divide it by its duties"});
        } else if (debt != allowed.end() && figure > debt->second) {
            offences.push_back({place.first, 0,
                                has + " and may have " + std::to_string(debt->second) +
                                    ": figures in " + table + " only fall"});
        } else if (debt != allowed.end() && figure <= most) {
            offences.push_back({place.first, 0, has + ": take its line out of " + table});
        } else if (debt != allowed.end() && figure < debt->second) {
            offences.push_back(
                {place.first, 0, has + ": put into " + table + " " + debtLine(place, figure)});
        }
    }
    for (const auto& [place, figure] : allowed) {
        if (!measured.contains(place)) {
            offences.push_back(
                {place.first, 0, place.second + " is no more: take its line out of " + table});
        }
    }
    return offences;
}

}  // namespace millrace::laws
