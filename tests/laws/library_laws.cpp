#include <regex>

#include "tests/laws/source_laws.h"

namespace millrace::laws {

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

}  // namespace millrace::laws
