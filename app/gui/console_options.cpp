#include "app/gui/console_options.h"

#include <cmath>
#include <cstdlib>
#include <functional>

#include "app/gui/console_pages.h"
#include "app/session/host_book.h"

#ifndef MILLRACE_VERSION
#error "console.cmake defines MILLRACE_VERSION"
#endif

namespace millrace::gui {
namespace {

using Reader = Status (*)(const std::string& value, ConsoleOptions& options);

Status readConnect(const std::string& value, ConsoleOptions& options) {
    const Result<std::string> book = session::HostBook::defaultPath();
    ASSIGN_OR_RETURN(const session::DaemonPlace place, session::placeOf(value, book.value_or("")));
    options.connect.push_back(place.address.text());
    return okStatus();
}

Status readPage(const std::string& value, ConsoleOptions& options) {
    options.page = parsePage(QString::fromStdString(value));
    return options.page.has_value()
               ? okStatus()
               : invalidArgument("'", value,
                                 "' is not a page; there are watch, runs, launch, data");
}

Status readTheme(const std::string& value, ConsoleOptions& options) {
    options.theme = parseTheme(QString::fromStdString(value));
    return options.theme.has_value()
               ? okStatus()
               : invalidArgument("'", value, "' is not a theme; there are dark, light, system");
}

Status readSpec(const std::string& value, ConsoleOptions& options) {
    options.spec = value;
    return okStatus();
}

Status readScreenshot(const std::string& value, ConsoleOptions& options) {
    options.screenshotDir = value;
    return okStatus();
}

Status readSize(const std::string& value, ConsoleOptions& options) {
    const QStringList parts = QString::fromStdString(value).split(QLatin1Char('x'));
    options.width = parts.value(0).toInt();
    options.height = parts.value(1).toInt();
    const bool isGood = parts.size() == 2 && options.width >= 640 && options.height >= 400 &&
                        options.width <= 8192 && options.height <= 8192;
    return isGood
               ? okStatus()
               : invalidArgument("'", value,
                                 "' is not a size; write WIDTHxHEIGHT, as 1440x900, from 640x400");
}

Status readScale(const std::string& value, ConsoleOptions& options) {
    bool isNumber = false;
    options.scale = QString::fromStdString(value).toDouble(&isNumber);
    return isNumber && options.scale >= 0.5 && options.scale <= 4
               ? okStatus()
               : invalidArgument("'", value, "' is not a scale; write a number from 0.5 to 4");
}

struct OptionText {
    const char* name;
    const char* value;
    const char* help;
    Reader read;
};

constexpr OptionText kOptions[] = {
    {"--connect", "ADDRESS",
     "a daemon: ssh://HOST, a named host, HOST:PORT or unix:PATH. Given more than once: all are in "
     "the bar, the last is "
     "shown",
     readConnect},
    {"--page", "PAGE", "start on watch, runs, launch or data", readPage},
    {"--theme", "THEME", "dark, light, or system (as the desktop)", readTheme},
    {"--spec", "FILE", "open this spec in Launch and Data", readSpec},
    {"--screenshot", "DIR",
     "draw every page of the daemon into PNG files in DIR, and end: 0, or 6 when no daemon "
     "answers. Without --theme in both themes. Needs no display with QT_QPA_PLATFORM=offscreen",
     readScreenshot},
    {"--size", "WxH", "size of the window, 1440x900 when not given", readSize},
    {"--scale", "FACTOR", "device pixels per pixel of the window, from 0.5 to 4", readScale},
};

// At most 78 columns; the text is indented to the right of the names.
std::string helpLine(const std::string& names, const std::string& help) {
    constexpr std::size_t kIndent = 24, kWidth = 78;
    std::string text = "  " + names, line;
    text += std::string(text.size() < kIndent ? kIndent - text.size() : 2, ' ');
    std::size_t column = kIndent;
    for (const QString& word :
         QString::fromStdString(help).split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        const std::string one = word.toStdString();
        if (column + one.size() > kWidth) {
            text += "\n" + std::string(kIndent, ' ');
            column = kIndent;
        }
        text += one + " ";
        column += one.size() + 1;
    }
    text.pop_back();
    return text + "\n";
}

const OptionText* findOption(const std::string& name) {
    for (const OptionText& option : kOptions) {
        if (name == option.name) {
            return &option;
        }
    }
    return nullptr;
}

}  // namespace

std::optional<PageName> parsePage(const QString& word) {
    for (const PageEntry& page : allPages()) {
        if (word == QLatin1String(page.word)) {
            return page.name;
        }
    }
    return std::nullopt;
}

QString nameOf(PageName page) {
    return QLatin1String(entryOf(page).word);
}

Result<ConsoleOptions> parseConsoleOptions(const std::vector<std::string>& arguments) {
    ConsoleOptions options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            options.wantsHelp = true;
            continue;
        }
        if (argument == "--version") {
            options.wantsVersion = true;
            continue;
        }
        const std::size_t equals = argument.find('=');
        const std::string name = argument.substr(0, equals);
        const OptionText* option = findOption(name);
        if (option == nullptr) {
            return invalidArgument("unknown option '", argument,
                                   "'; 'millrace-console --help' lists them");
        }
        const bool isInside = equals != std::string::npos;
        if (!isInside && i + 1 == arguments.size()) {
            return invalidArgument(name, " needs ", option->value);
        }
        const std::string value = isInside ? argument.substr(equals + 1) : arguments[++i];
        if (value.empty()) {
            return invalidArgument(name, " needs ", option->value);
        }
        const Status read = option->read(value, options);
        if (!read.ok()) {
            return annotate(read, name);
        }
    }
    return options;
}

std::string consoleHelp() {
    std::string text =
        "millrace-console: watch, browse, compare and launch runs of a Millrace daemon\n\n"
        "  millrace-console [--connect ADDRESS] [--page PAGE] [--spec FILE]\n\n"
        "Options:\n";
    for (const OptionText& option : kOptions) {
        text += helpLine(strCat(option.name, " ", option.value), option.help);
    }
    text += helpLine("--version", "print the version");
    text += helpLine("-h, --help", "print this");
    text +=
        "\nWithout --connect it goes where it was last, at first to MILLRACE_HOST or the\n"
        "user's own socket. A daemon on HOST:PORT wants TLS: MILLRACE_TLS_CA,\n"
        "MILLRACE_TLS_CERT and MILLRACE_TLS_KEY name the PEM files, as for millrace.\n"
        "Settings are kept in $XDG_CONFIG_HOME/millrace/console.conf.\n\n"
        "Exit codes: 0; 2, the command line is wrong; 6, no daemon answers --screenshot.\n\n"
        "Pages: Ctrl+1 Watch, Ctrl+2 Runs, Ctrl+3 Launch, Ctrl+4 Data. Ctrl+Shift+P finds\n"
        "every command, ? shows the shortcuts.\n";
    return text;
}

std::string consoleVersion() {
    return MILLRACE_VERSION;
}

}  // namespace millrace::gui
