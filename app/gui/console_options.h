#pragma once
// The command line of millrace-console as plain values.
//
// Threads: any. Failure: a sentence that names the option and says what it takes; main() exits 2.
#include <string>
#include <vector>

#include "app/gui/pages/page.h"
#include "app/gui/widgets/theme.h"
#include "backend/core/status.h"

namespace millrace::gui {

struct ConsoleOptions {
    std::vector<std::string> connect;  ///< the last one is gone to
    std::optional<PageName> page;
    std::optional<ThemeChoice> theme;
    std::string spec;           ///< a file to open in Launch and Data
    std::string screenshotDir;  ///< "": a window for people
    int width = 1440, height = 900;
    double scale = 1;
    bool wantsHelp = false, wantsVersion = false;
};

Result<ConsoleOptions> parseConsoleOptions(const std::vector<std::string>& arguments);
/// What --help prints.
std::string consoleHelp();
std::string consoleVersion();  ///< "0.1.0"

std::optional<PageName> parsePage(const QString& word);  ///< "watch", "runs", "launch", "data"
QString nameOf(PageName page);                           ///< as parsePage reads it

}  // namespace millrace::gui
