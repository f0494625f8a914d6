#include "tests/laws/line_laws.h"

namespace millrace::laws {

const std::vector<LineLaw>& guiLaws() {
    static const std::vector<LineLaw> kLaws = {
        {"a thread or a call of the daemon in the console",
         Language::kCpp,
         {"app/gui/"},
         {"app/gui/bridge/", "app/gui/main.cpp", "app/gui/console_app.cpp"},
         Keep::kCode,
         {{"thread", "async", "Grpc", "DaemonClient", "waitFor", "future", "QThread"},
          std::regex("std::j?thread\\b|std::async\\b|makeGrpcClient|DaemonClient\\b|QThread|"
                     "\\.waitFor|std::future\\b")},
         "only app/gui/bridge may have threads and call daemons",
         {}},
        {"a nested event loop in the console",
         Language::kCpp,
         {"app/gui/"},
         {},
         Keep::kCode,
         {{"exec", "QMessageBox::", "QEventLoop", "FileName", "QInputDialog"},
          std::regex("\\bexec\\s*\\(|::exec\\b|QMessageBox::(question|critical|warning|information|"
                     "about)\\s*\\(|QEventLoop|getOpenFileName|getSaveFileName|"
                     "QInputDialog::get")},
         "no nested event loop and no modal box: use open()",
         {{"app/gui/main.cpp", "QApplication::exec()", "the program's own loop"}}},
        {"a style sheet in the console",
         Language::kCpp,
         {"app/gui/"},
         {},
         Keep::kCode,
         {{"setStyleSheet"}, std::regex("\\bsetStyleSheet\\b")},
         "with a style sheet Qt styles its widgets again at every switch of the theme: draw it in "
         "ConsoleStyle",
         {}},
        {"a process or a file in the console",
         Language::kCpp,
         {"app/gui/"},
         {"app/gui/bridge/"},
         Keep::kCodeAndTexts,
         {{"subprocess", "files.h", "fstream", "filesystem", "QProcess", "QFile", "QSaveFile",
           "QTemporary", "QDirIterator", "QFileSystem", "open", "system", "File", "mkpath"},
          std::regex(
              "backend/(filesystem|system)/"
              "(subprocess|files)\\.h|\\bstd::[io]?fstream\\b|<fstream>|<filesystem>|"
              "\\bstd::filesystem\\b|\\bQProcess\\b|\\bQFile\\b|\\bQSaveFile\\b|"
              "\\bQTemporary(File|Dir)\\b|\\bQDirIterator\\b|\\bQFileSystem(Model|Watcher)"
              "\\b|\\bfopen\\b|[^\\w:]::open(at)?\\s*\\(|\\bpopen\\b|"
              "\\bstd::system\\s*\\(|\\b(readFile|writeFileAtomic)\\s*\\(|\\bmkpath\\s*\\(")},
         "only the bridge may use processes and files: a page asks it and receives values",
         {{"app/gui/main.cpp", "QTemporaryDir",
           "settings of a run that takes pictures, before any window"},
          {"app/gui/screenshot.cpp", "mkpath",
           "writes the pictures of --screenshot, then the program ends"},
          {"app/gui/pages/launch/spec_files.h", "QFileSystemWatcher",
           "reports that a file has changed; the bridge reads it"},
          {"app/gui/pages/launch/spec_files.cpp", "QFileSystemWatcher", "as in its header"},
          {"app/gui/pages/launch/spec_bar.cpp", "QFileSystemModel",
           "completes paths; it reads directories on its own thread"}}},
    };
    return kLaws;
}

}  // namespace millrace::laws
