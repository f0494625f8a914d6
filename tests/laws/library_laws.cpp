// The libraries, and the rooms that may include them.
#include <regex>

#include "tests/laws/source_laws.h"

namespace millrace::laws {

const std::vector<LibraryLaw>& libraryLaws() {
    static const std::vector<LibraryLaw> kLaws = {
        {"LibTorch",
         std::regex("^(torch|ATen|c10)/"),
         {"backend/train/torch/", "tests/support/aten_calls.cpp"}},
        {"Arrow",
         std::regex("^(arrow|parquet)/"),
         {"backend/objects/",    "backend/arrays/",    "backend/files/",      "backend/pages/",
          "backend/csv/",        "backend/dataset/",   "backend/eval/",       "backend/recipe/",
          "backend/segment/",    "backend/table/",     "backend/profile/",    "tests/bench/",
          "tests/unit/dataset/", "tests/unit/arrays/", "tests/unit/files/",   "tests/unit/pages/",
          "tests/unit/eval/",    "tests/unit/recipe/", "tests/unit/segment/", "tests/unit/table/",
          "tests/unit/profile/", "tests/integration/"}},
        {"gRPC",
         std::regex("^(grpc|grpcpp|google/protobuf)/"),
         {"daemon/rpc/", "daemon/transport/", "daemon/worker/data/", "daemon/worker/relay/",
          "daemon/worker/wire/", "app/client/", "tests/"}},
        {"generated proto types",
         std::regex("\\.pb\\.h$"),
         {"proto/", "daemon/rpc/", "daemon/nodes/", "daemon/worker/data/", "daemon/worker/relay/",
          "daemon/worker/wire/", "app/client/", "tests/"}},
        {"Qt",
         std::regex("^(Q[A-Z]|Qt)"),
         {"app/gui/", "tests/gui/", "tests/bench/gui/", "tests/unit/gui_", "tests/support/gui_"}},
        {"Qt Charts",
         std::regex("^(QtCharts/|Q[A-Za-z]*(Chart|Series|Axis|BarSet))"),
         {"app/gui/charts/"}},
        {"Qt Widgets in models and bridge",
         std::regex("^(QtWidgets/|QWidget|QMainWindow|QDialog|QApplication|QTableView|QTreeView|"
                    "QLabel|QPushButton|QGraphics)"),
         {"app/gui/charts/", "app/gui/widgets/", "app/gui/pages/", "app/gui/main", "app/gui/s",
          "tests/"}},
        {"threads and networks of Qt", std::regex("^(QThread|QtConcurrent|QFuture|QNetwork)"), {}},
        {"libcurl", std::regex("^curl/"), {"backend/objects/"}},
        {"libssh", std::regex("^libssh/"), {"app/ssh/libssh/", "tests/support/kbdint_server.cpp"}},
        {"OpenSSL", std::regex("^openssl/"), {"backend/certificate/", "backend/objects/"}},
        {"zlib", std::regex("^zlib\\.h$"), {"backend/csv/", "tests/unit/csv/"}},
        {"SLEEF", std::regex("^sleef\\.h$"), {"backend/elementary/"}},
        {"SQLite", std::regex("^sqlite3\\.h$"), {"backend/runs/", "tests/"}},
        {"ncurses", std::regex("^(ncurses|curses)"), {"app/tui/"}},
        {"yaml-cpp", std::regex("^yaml-cpp/"), {"backend/spec/"}},
        {"fmt and spdlog", std::regex("^(fmt|spdlog)/"), {}},
        {"Linux-only headers in app",
         std::regex("^(sys/(epoll|inotify|prctl|signalfd|eventfd|timerfd)\\.h|linux/)"),
         {"backend/", "daemon/", "tests/"}},
    };
    return kLaws;
}

}  // namespace millrace::laws
