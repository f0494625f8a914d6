#include "tests/laws/source_laws.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
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
        {"backend/train/",
         {"backend/core/", "backend/spec/", "backend/frame/", "backend/ring/", "backend/rank/"}},
        {"backend/runs/", {"backend/core/", "backend/spec/", "backend/stream/"}},
        {"backend/schedule/", {"backend/core/", "backend/spec/"}},
        {"backend/engines/", {"backend/core/", "backend/spec/", "backend/schedule/"}},
        {"backend/telemetry/", {"backend/core/"}},
        {"proto/convert/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/runs/", "backend/schedule/",
          "backend/telemetry/"}},
        {"daemon/worker/exec/", {"backend/core/"}},
        {"daemon/worker/trainer/", {"backend/core/", "backend/spec/", "backend/train/"}},
        {"daemon/worker/loader/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/dataset/",
          "backend/recipe/", "backend/frame/", "backend/segment/", "backend/table/",
          "backend/profile/", "backend/ring/", "backend/rank/", "proto/convert/"}},
        {"daemon/config/", {"backend/core/", "backend/spec/"}},
        {"daemon/agent/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/runs/", "backend/schedule/",
          "backend/engines/", "backend/telemetry/", "backend/rank/", "daemon/config/"}},
        {"daemon/rpc/",
         {"backend/core/", "backend/spec/", "backend/stream/", "backend/runs/", "backend/schedule/",
          "backend/engines/", "backend/telemetry/", "daemon/agent/", "daemon/config/",
          "proto/convert/"}},
        {"daemon/main",
         {"backend/core/", "backend/engines/", "backend/runs/", "backend/telemetry/",
          "daemon/agent/", "daemon/config/", "daemon/rpc/"}},
        {"app/client/",
         {"backend/core/", "backend/spec/", "backend/runs/run_record.h",
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
