#pragma once
// Parses the command line of millrace-console into plain values.
//
// Threads: any. Failure: a sentence that names the option and what it accepts; main() exits with 2.
#include <string>
#include <vector>

#include "app/gui/pages/page.h"
#include "app/gui/widgets/theme.h"
#include "backend/core/status.h"

namespace millrace::gui {

struct ConsoleOptions {
    std::vector<std::string> connect;  ///< the last one becomes the current one
    std::optional<PageName> page;
    std::optional<ThemeChoice> theme;
    std::string spec;           ///< a file to open in Launch and Data
    std::string screenshotDir;  ///< "": show a window
    int width = 1440, height = 900;
    double scale = 1;
    bool wantsHelp = false, wantsVersion = false;
};

Result<ConsoleOptions> parseConsoleOptions(const std::vector<std::string>& arguments);
/// The text that --help prints.
std::string consoleHelp();
std::string consoleVersion();  ///< "0.1.0"

std::optional<PageName> parsePage(const QString& word);  ///< "watch", "runs", "launch", "data"
QString nameOf(PageName page);                           ///< as parsePage reads it

}  // namespace millrace::gui
