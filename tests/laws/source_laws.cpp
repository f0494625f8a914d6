#include "tests/laws/source_laws.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace millrace::laws {
namespace {

bool startsWith(const std::string& text, const std::string& prefix) {
    return text.rfind(prefix, 0) == 0;
}

// The longest prefix binds. A room may always include itself.
struct RoomLaw {
    std::string room;
    std::vector<std::string> mayInclude;
};

const std::vector<RoomLaw>& roomLaws() {
    static const std::vector<RoomLaw> kLaws = {
        {"backend/core/", {}},
        {"backend/values/", {}},
        {"backend/spec/", {"backend/core/"}},
        {"backend/stream/", {"backend/core/", "backend/spec/"}},
        {"backend/objects/", {"backend/core/"}},
        {"backend/dataset/",
         {"backend/core/", "backend/objects/", "backend/spec/", "backend/stream/"}},
        {"backend/recipe/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/dataset/"}},
        {"backend/frame/", {"backend/core/"}},
        {"backend/ring/", {"backend/core/", "backend/frame/"}},
        {"backend/segment/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/dataset/",
          "backend/recipe/", "backend/frame/", "backend/objects/", "backend/ring/frame_sink.h"}},
        {"backend/table/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/dataset/",
          "backend/recipe/", "backend/frame/"}},
        {"backend/profile/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/dataset/",
          "backend/table/"}},
        {"backend/rank/", {"backend/core/"}},
        {"backend/checkpoint/", {"backend/core/"}},
        {"backend/train/",
         {"backend/core/", "backend/spec/", "backend/frame/", "backend/ring/", "backend/rank/",
          "backend/checkpoint/"}},
        {"backend/runs/", {"backend/core/", "backend/values/", "backend/spec/", "backend/stream/"}},
        {"backend/schedule/", {"backend/core/", "backend/spec/"}},
        {"backend/engines/", {"backend/core/", "backend/spec/", "backend/schedule/"}},
        {"backend/telemetry/", {"backend/core/"}},
        {"proto/convert/",
         {"backend/core/", "backend/values/", "backend/spec/", "backend/stream/", "backend/runs/",
          "backend/schedule/", "backend/telemetry/"}},
        {"daemon/worker/exec/", {"backend/core/"}},
        {"daemon/worker/trainer/", {"backend/core/", "backend/spec/", "backend/train/"}},
        {"daemon/worker/loader/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/dataset/",
          "backend/recipe/", "backend/frame/", "backend/segment/", "backend/table/",
          "backend/profile/", "backend/ring/", "backend/rank/", "proto/convert/"}},
        {"daemon/config/", {"backend/core/", "backend/spec/"}},
        {"daemon/agent/",
         {"backend/core/", "backend/values/", "backend/spec/", "backend/stream/", "backend/runs/",
          "backend/schedule/", "backend/engines/", "backend/telemetry/", "backend/rank/",
          "backend/checkpoint/", "daemon/config/"}},
        {"daemon/rpc/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/runs/", "backend/schedule/",
          "backend/engines/", "backend/telemetry/", "daemon/agent/", "daemon/config/",
          "proto/convert/"}},
        {"daemon/main",
         {"backend/core/", "backend/engines/", "backend/runs/", "backend/telemetry/",
          "daemon/agent/", "daemon/config/", "daemon/rpc/"}},
        {"app/client/",
         {"backend/core/", "backend/values/", "backend/spec/", "backend/runs/run_record.h",
          "backend/runs/metric_series.h", "backend/telemetry/node_sample.h", "proto/convert/"}},
        {"app/session/",
         {"backend/core/", "backend/spec/", "backend/runs/run_record.h",
          "backend/telemetry/node_sample.h", "app/client/"}},
        {"app/tui/",
         {"backend/core/", "backend/spec/", "backend/runs/run_record.h",
          "backend/telemetry/node_sample.h", "app/session/", "app/client/"}},
        {"app/cli/",
         {"backend/core/", "backend/spec/", "backend/runs/run_record.h",
          "backend/telemetry/node_sample.h", "app/session/", "app/client/", "app/tui/"}},
        {"app/gui/models/", {"backend/core/", "backend/spec/", "app/client/", "app/session/"}},
        {"app/gui/bridge/", {"backend/core/", "app/client/", "app/session/", "app/gui/models/"}},
        {"app/gui/charts/", {"backend/core/", "app/gui/models/"}},
        {"app/gui/widgets/",
         {"backend/core/", "backend/spec/", "app/client/", "app/session/link.h", "app/gui/models/",
          "app/gui/charts/"}},
        {"app/gui/pages/",
         {"backend/core/", "backend/spec/", "app/client/", "app/session/link.h", "app/gui/models/",
          "app/gui/charts/", "app/gui/widgets/", "app/gui/bridge/"}},
        {"app/gui/", {"backend/core/", "backend/spec/", "app/client/", "app/session/", "app/gui/"}},
        {"app/main", {"backend/core/", "app/client/", "app/session/", "app/cli/", "app/tui/"}},
    };
    return kLaws;
}

// Libraries and where alone they may be included.
struct LibraryLaw {
    std::string name;
    std::regex header;
    std::vector<std::string> onlyIn;
};

const std::vector<LibraryLaw>& libraryLaws() {
    static const std::vector<LibraryLaw> kLaws = {
        {"LibTorch", std::regex("^(torch|ATen|c10)/"), {"backend/train/torch/"}},
        {"Arrow",
         std::regex("^(arrow|parquet)/"),
         {"backend/objects/", "backend/dataset/", "backend/recipe/", "backend/segment/",
          "backend/table/", "backend/profile/", "tests/bench/", "tests/unit/dataset/",
          "tests/unit/recipe/", "tests/unit/segment/", "tests/unit/table/", "tests/unit/profile/",
          "tests/support/", "tests/integration/"}},
        {"gRPC",
         std::regex("^(grpc|grpcpp|google/protobuf)/"),
         {"proto/", "daemon/rpc/", "app/client/", "daemon/worker/loader/", "tests/"}},
        {"generated proto types",
         std::regex("\\.pb\\.h$"),
         {"proto/", "daemon/rpc/", "app/client/", "daemon/worker/loader/", "tests/"}},
        {"Qt",
         std::regex("^(Q[A-Z]|Qt)"),
         {"app/gui/", "tests/gui/", "tests/bench/gui/", "tests/unit/gui_", "tests/support/gui_"}},
        {"Qt Charts",
         std::regex("^(QtCharts/|Q[A-Za-z]*(Chart|Series|Axis|BarSet))"),
         {"app/gui/charts/"}},
        {"Qt Widgets in models and bridge",
         std::regex("^(QtWidgets/|QWidget|QMainWindow|QDialog|QApplication|QTableView|QTreeView|"
                    "QLabel|QPushButton|QGraphics)"),
         {"app/gui/charts/", "app/gui/widgets/", "app/gui/pages/", "app/gui/main",
          "app/gui/console", "app/gui/s", "tests/"}},
        {"a thread of Qt's or of the language in the GUI",
         std::regex("^(QThread|QtConcurrent|QFuture|QNetwork)"),
         {"app/gui/bridge/", "tests/"}},
        {"libcurl", std::regex("^curl/"), {"backend/objects/"}},
        {"OpenSSL", std::regex("^openssl/"), {"backend/objects/"}},
        {"SQLite", std::regex("^sqlite3\\.h$"), {"backend/runs/", "tests/"}},
        {"ncurses", std::regex("^(ncurses|curses)"), {"app/tui/", "tests/"}},
        {"yaml-cpp", std::regex("^yaml-cpp/"), {"backend/spec/", "tests/"}},
        {"fmt and spdlog", std::regex("^(fmt|spdlog)/"), {"app/", "daemon/", "tests/"}},
        {"Linux-only headers in app",
         std::regex("^(sys/(epoll|inotify|prctl|signalfd|eventfd|timerfd)\\.h|linux/)"),
         {"backend/", "daemon/", "tests/"}},
    };
    return kLaws;
}

struct Include {
    std::string target;
    int line;
};

std::vector<Include> includesOf(const SourceFile& file) {
    static const std::regex kInclude("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
    std::vector<Include> found;
    std::istringstream lines(file.text);
    std::string line;
    std::smatch match;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (line.find("include") != std::string::npos && std::regex_search(line, match, kInclude)) {
            found.push_back({match[1], number});
        }
    }
    return found;
}

bool isOurs(const std::string& target) {
    return startsWith(target, "backend/") || startsWith(target, "daemon/") ||
           startsWith(target, "proto/convert/") || startsWith(target, "app/");
}

bool matchesAny(const std::string& text, const std::vector<std::string>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& p) { return startsWith(text, p); });
}

const RoomLaw* lawOf(const std::string& path) {
    const RoomLaw* best = nullptr;
    for (const RoomLaw& law : roomLaws()) {
        if (startsWith(path, law.room) &&
            (best == nullptr || law.room.size() > best->room.size())) {
            best = &law;
        }
    }
    return best;
}

void checkOne(const SourceFile& file, const Include& include, std::vector<Offence>& offences) {
    const bool isProduction = !startsWith(file.path, "tests/");
    if (isProduction && startsWith(include.target, "tests/")) {
        offences.push_back({file.path, include.line, "production code includes " + include.target});
    }
    const RoomLaw* law = lawOf(file.path);
    if (law != nullptr && isOurs(include.target) && !startsWith(include.target, law->room) &&
        !matchesAny(include.target, law->mayInclude)) {
        offences.push_back(
            {file.path, include.line, law->room + " may not include " + include.target});
    }
    for (const LibraryLaw& library : libraryLaws()) {
        if (std::regex_search(include.target, library.header) &&
            !matchesAny(file.path, library.onlyIn)) {
            offences.push_back({file.path, include.line,
                                library.name + " is not for this room: " + include.target});
        }
    }
}

// What blocks, starts threads or calls a daemon has one room in the GUI; looks are ConsoleStyle's.
void checkGuiLine(const SourceFile& file, const std::string& line, int number,
                  std::vector<Offence>& offences) {
    static const std::regex kThread(
        "std::j?thread\\b|std::async\\b|makeGrpcClient|DaemonClient\\b|QThread|\\.waitFor|"
        "std::future\\b");
    static const std::regex kModal(
        "::exec\\(\\)|->exec\\(|QMessageBox::(question|critical|warning|"
        "information|about)\\(|QEventLoop|getOpenFileName|"
        "getSaveFileName|QInputDialog::get");
    if (line.find("setStyleSheet") != std::string::npos) {
        offences.push_back({file.path, number,
                            "a style sheet makes Qt style its widgets anew at every switch of the "
                            "theme: draw it in ConsoleStyle"});
    }
    if (std::regex_search(line, kThread)) {
        offences.push_back(
            {file.path, number, "only app/gui/bridge has threads and calls daemons"});
    }
    if (std::regex_search(line, kModal)) {
        offences.push_back({file.path, number, "no nested event loop and no modal box: open()"});
    }
}

// The place behind the brackets that open at `at`; npos when they do not close.
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

// Names of functions that are declared with another type somewhere: what a call of one returns
// cannot be told from its name.
std::set<std::string> otherFunctions(const std::vector<SourceFile>& files) {
    static const std::regex kDeclaration(
        "^\\s*((?!return\\b|else\\b|case\\b|new\\b|throw\\b)[A-Za-z_][^;={}()]*?)[\\s&*]+"
        "(?:[A-Za-z_]\\w*::)*([A-Za-z_]\\w*)\\(");
    std::set<std::string> names = {"find", "get", "begin", "end", "data", "open", "parse"};
    for (const SourceFile& file : files) {
        std::istringstream lines(file.text);
        std::string line;
        std::smatch match;
        while (std::getline(lines, line)) {
            const bool isShort = line.size() < 200 && line.find('(') != std::string::npos;
            if (isShort && std::regex_search(line, match, kDeclaration) &&
                match[1].str().find("Result<") == std::string::npos) {
                names.insert(match[2]);
            }
        }
    }
    return names;
}

// Names of functions that return a Result wherever they are declared.
std::set<std::string> resultFunctions(const std::vector<SourceFile>& files) {
    static const std::regex kName("^\\s*(?:[A-Za-z_]\\w*::)*([A-Za-z_]\\w*)\\s*\\(");
    std::set<std::string> names;
    for (const SourceFile& file : files) {
        for (std::size_t at = file.text.find("Result<"); at != std::string::npos;
             at = file.text.find("Result<", at + 1)) {
            const std::size_t end = behindBrackets(file.text, at + 6, '<', '>');
            std::smatch match;
            const std::string rest =
                end == std::string::npos ? "" : file.text.substr(end, 200);
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
    const bool isFollowed =
        behind != std::string::npos && file.text.compare(behind, 2, "->") == 0;
    if (isStarred || isFollowed) {
        const auto line = std::count(file.text.begin(),
                                     file.text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        offences.push_back({file.path, static_cast<int>(line) + 1,
                            "takes the Result of " + call[2].str() +
                                "() unseen: ASSIGN_OR_RETURN, or look at ok()"});
    }
}

bool isSource(const std::string& path) {
    return path.ends_with(".cpp") || path.ends_with(".h") || path.ends_with(".c");
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
            if (!entry.is_regular_file() || !isSource(path)) {
                continue;
            }
            std::ifstream in(entry.path());
            std::stringstream text;
            text << in.rdbuf();
            files.push_back({path, text.str()});
        }
    }
    return files;
}

std::vector<Offence> checkIncludes(const std::vector<SourceFile>& files) {
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        for (const Include& include : includesOf(file)) {
            checkOne(file, include, offences);
        }
    }
    return offences;
}

std::vector<Offence> checkSizes(const std::vector<SourceFile>& files) {
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
        const int most = file.path.ends_with(".h") ? 250 : 600;
        if (lines > most) {
            offences.push_back({file.path, static_cast<int>(lines),
                                "has " + std::to_string(lines) + " lines; at most " +
                                    std::to_string(most) + ": split it by what it does"});
        }
    }
    return offences;
}

std::vector<Offence> checkGui(const std::vector<SourceFile>& files) {
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        const bool isMain =
            file.path == "app/gui/main.cpp" || file.path == "app/gui/console_app.cpp";
        if (!startsWith(file.path, "app/gui/") || startsWith(file.path, "app/gui/bridge/") ||
            isMain) {
            continue;
        }
        std::istringstream lines(file.text);
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number) {
            if (line.find("//") == std::string::npos || line.find("//") > 4) {
                checkGuiLine(file, line, number, offences);
            }
        }
    }
    return offences;
}

std::vector<Offence> checkResults(const std::vector<SourceFile>& files) {
    // A star is a dereference where no operand stands before it.
    static const std::regex kCall(
        "(?:[=(,{;!&|?:<>]\\s*|return\\s+)(\\*?)(?:[A-Za-z_]\\w*(?:\\.|->|::))*([A-Za-z_]\\w*)\\(");
    const std::set<std::string> names = resultFunctions(files);
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (startsWith(file.path, "tests/")) {
            continue;
        }
        std::size_t offset = 0;
        std::smatch match;
        for (auto from = file.text.cbegin();
             std::regex_search(from, file.text.cend(), match, kCall);) {
            checkCall(file, match, offset, names, offences);
            // Arguments are looked at as calls of their own.
            const auto step = match.position(0) + match.length(0) - 1;
            from += step;
            offset += static_cast<std::size_t>(step);
        }
    }
    return offences;
}

std::vector<Offence> checkProcessWide(const std::vector<SourceFile>& files) {
    static const std::regex kUmask("\\bumask\\s*\\(");
    static const std::regex kParse("\\b(Json|json)::parse\\s*\\(");
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (startsWith(file.path, "tests/")) {
            continue;
        }
        std::istringstream lines(file.text);
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number) {
            const std::string code = line.substr(0, line.find("//"));
            if (std::regex_search(code, kUmask)) {
                offences.push_back({file.path, number,
                                    "a umask is every thread's and every child's: give the mode to "
                                    "what is made (fchmod before bind)"});
            }
            if (std::regex_search(code, kParse) && file.path != "backend/core/json.cpp") {
                offences.push_back({file.path, number,
                                    "JSON is parsed within bounds: parseBounded() or parseJson()"});
            }
        }
    }
    return offences;
}

std::vector<Offence> checkUnits(const std::vector<SourceFile>& files) {
    static const std::regex kBinaryUnit("\"[^\"]*\\b[KMGT]i(B|bytes?)\\b");
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (startsWith(file.path, "tests/")) {
            continue;
        }
        std::istringstream lines(file.text);
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number) {
            const bool isComment = line.find_first_not_of(' ') == line.find("//");
            if (!isComment && std::regex_search(line, kBinaryUnit)) {
                offences.push_back({file.path, number,
                                    "bytes are told in powers of ten everywhere: formatBytes()"});
            }
        }
    }
    return offences;
}

std::vector<Offence> checkTests(const std::vector<SourceFile>& files) {
    // Written in pieces, so that this file does not offend against itself.
    static const std::regex kSleep(std::string("\\b(sleep_") + "for|usl" + "eep|nanosl" +
                                   "eep)\\s*\\(");
    std::vector<Offence> offences;
    for (const SourceFile& file : files) {
        if (!startsWith(file.path, "tests/unit/")) {
            continue;
        }
        std::istringstream lines(file.text);
        std::string line;
        for (int number = 1; std::getline(lines, line); ++number) {
            const bool isExplained = line.find("// poll") != std::string::npos;
            if (!isExplained && std::regex_search(line, kSleep)) {
                offences.push_back({file.path, number, "a unit test sleeps: wait for the event"});
            }
        }
    }
    return offences;
}

}  // namespace millrace::laws
