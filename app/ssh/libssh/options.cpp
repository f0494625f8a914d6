#include "app/ssh/libssh/options.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <absl/strings/numbers.h>

namespace millrace::libssh {
namespace {

// A key of -o, and which values it accepts here.
struct KnownOption {
    std::string_view key;
    std::string_view onlyValue;  // "": every value; otherwise the value that describes what this
                                 // program always does
};

constexpr std::array<KnownOption, 34> kOptions = {{
    {"stricthostkeychecking", ""},
    {"batchmode", ""},
    {"connecttimeout", ""},
    {"serveraliveinterval", ""},
    {"serveralivecountmax", ""},
    {"userknownhostsfile", ""},
    {"globalknownhostsfile", ""},
    {"hostkeyalias", ""},
    {"identityfile", ""},
    {"identitiesonly", ""},
    {"identityagent", ""},
    {"proxyjump", ""},
    {"port", ""},
    {"user", ""},
    {"hostname", ""},
    {"addressfamily", ""},
    {"numberofpasswordprompts", ""},
    {"pubkeyauthentication", ""},
    {"passwordauthentication", ""},
    {"kbdinteractiveauthentication", ""},
    {"loglevel", ""},
    {"forwardagent", "no"},
    {"forwardx11", "no"},
    {"clearallforwardings", "yes"},
    {"permitlocalcommand", "no"},
    {"remotecommand", "none"},
    {"requesttty", "no"},
    {"controlmaster", ""},
    {"controlpath", ""},
    {"controlpersist", "no"},
    {"exitonforwardfailure", "yes"},
    {"streamlocalbindmask", ""},
    {"streamlocalbindunlink", ""},
    {"tcpkeepalive", ""},
}};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Reads arguments as getopt() does: combined letters, a value attached to its letter or after it.
class Reader {
 public:
    explicit Reader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

    Result<Invocation> read() {
        while (at_ < arguments_.size()) {
            const std::string& argument = arguments_[at_++];
            if (argument == "--version") {
                made_.mode = Mode::kVersion;
                return made_;
            }
            if (argument == "--" && made_.host.empty()) {
                continue;
            }
            if (argument.size() < 2 || argument[0] != '-') {
                RETURN_IF_ERROR(takeHost(argument));
                break;
            }
            RETURN_IF_ERROR(takeLetters(argument));
        }
        for (; at_ < arguments_.size(); ++at_) {
            strAppend(&made_.command, made_.command.empty() ? "" : " ", arguments_[at_]);
        }
        return finish();
    }

 private:
    Status takeHost(const std::string& argument) {
        const bool isUrl = argument.rfind("ssh://", 0) == 0;
        ASSIGN_OR_RETURN(const Destination destination, parseDestination(argument, isUrl));
        made_.host = destination.host;
        if (!destination.user.empty() && made_.user.empty()) {
            made_.user = destination.user;
        }
        if (destination.port != 0 && made_.port == 0) {
            made_.port = destination.port;
        }
        return okStatus();
    }

    Status takeLetters(const std::string& argument) {
        for (std::size_t i = 1; i < argument.size(); ++i) {
            const char letter = argument[i];
            if (std::string_view("MTax").find(letter) != std::string_view::npos) {
                isMaster_ |= letter == 'M';
                continue;
            }
            if (std::string_view("SFplLoO").find(letter) == std::string_view::npos) {
                return invalidArgument("unknown option -- ", std::string(1, letter));
            }
            std::string value = argument.substr(i + 1);
            if (value.empty()) {
                if (at_ >= arguments_.size()) {
                    return invalidArgument("option requires an argument -- ",
                                           std::string(1, letter));
                }
                value = arguments_[at_++];
            }
            return takeValue(letter, value);
        }
        return okStatus();
    }

    Status takeValue(char letter, const std::string& value) {
        switch (letter) {
            case 'S':
                made_.controlPath = value;
                return okStatus();
            case 'F':
                made_.configFile = value;
                return okStatus();
            case 'l':
                made_.user = value;
                return isUserName(value) ? okStatus() : invalidArgument("bad user name: ", value);
            case 'p':
                made_.port = parsePort(value);
                return made_.port != 0 ? okStatus() : invalidArgument("bad port '", value, "'");
            case 'L':
                return takeForward(value);
            case 'O':
                controlCommand_ = value;
                return okStatus();
            default: {
                ASSIGN_OR_RETURN(KeyValue option, parseOption(value));
                made_.options.push_back(std::move(option));
                return okStatus();
            }
        }
    }

    // Parses LOCAL:REMOTE, where \: is a colon in a path.
    Status takeForward(const std::string& value) {
        std::vector<std::string> parts(1);
        for (std::size_t i = 0; i < value.size(); ++i) {
            if (value[i] == '\\' && i + 1 < value.size()) {
                parts.back() += value[++i];
            } else if (value[i] == ':') {
                parts.emplace_back();
            } else {
                parts.back() += value[i];
            }
        }
        if (parts.size() != 2 || parts[0].find('/') == std::string::npos ||
            parts[1].find('/') == std::string::npos) {
            return invalidArgument("bad local forwarding specification '", value,
                                   "': LOCAL:REMOTE, two paths of unix sockets");
        }
        made_.local = parts[0];
        made_.remote = parts[1];
        return okStatus();
    }

    Result<Invocation> finish() {
        if (made_.host.empty()) {
            return invalidArgument("no host is named");
        }
        if (made_.controlPath.empty()) {
            return invalidArgument("no control socket is named (-S PATH)");
        }
        if (isMaster_) {
            made_.mode = Mode::kMaster;
        } else if (controlCommand_ == "forward") {
            made_.mode = Mode::kForward;
        } else if (controlCommand_ == "check") {
            made_.mode = Mode::kCheck;
        } else if (controlCommand_ == "exit") {
            made_.mode = Mode::kExit;
        } else if (!controlCommand_.empty()) {
            return invalidArgument("unknown control command '", controlCommand_,
                                   "': forward, check or exit");
        }
        const bool runs = made_.mode == Mode::kMaster || made_.mode == Mode::kExec;
        if (runs && made_.command.empty()) {
            return invalidArgument("no command is named: there is no terminal to give to a shell");
        }
        if ((made_.mode == Mode::kForward) == made_.local.empty()) {
            return invalidArgument("-L goes with -O forward, and with nothing else");
        }
        return made_;
    }

    const std::vector<std::string>& arguments_;
    std::size_t at_ = 0;
    bool isMaster_ = false;
    std::string controlCommand_;
    Invocation made_;
};

}  // namespace

Result<Invocation> parseInvocation(const std::vector<std::string>& arguments) {
    return Reader(arguments).read();
}

bool isOption(std::string_view key) {
    return std::ranges::find(kOptions, key, &KnownOption::key) != kOptions.end();
}

Result<KeyValue> parseOption(std::string_view text) {
    const std::size_t end = text.find_first_of("= \t");
    std::string_view value = end == std::string_view::npos ? "" : trimmed(text.substr(end));
    if (!value.empty() && value[0] == '=') {
        value = trimmed(value.substr(1));
    }
    const std::string key = lowerCase(text.substr(0, end));
    if (value.empty()) {
        return invalidArgument("-o ", text, ": KEY=VALUE is needed");
    }
    const auto known = std::ranges::find_if(
        kOptions, [&](const KnownOption& option) { return option.key == key; });
    if (known == kOptions.end()) {
        return invalidArgument("-o ", text, ": this program has no such option");
    }
    if (!known->onlyValue.empty() && lowerCase(value) != known->onlyValue) {
        return invalidArgument("-o ", text, ": this program never does that; only ",
                               known->onlyValue, " is taken");
    }
    return KeyValue{key, std::string(value)};
}

Result<Destination> parseDestination(std::string_view text, bool hasPort) {
    const std::string_view whole = text;
    constexpr std::string_view kScheme = "ssh://";
    if (text.substr(0, kScheme.size()) == kScheme) {
        text.remove_prefix(kScheme.size());
        text = text.substr(0, text.find('/'));
    }
    Destination made;
    const std::size_t at = text.rfind('@');
    if (at != std::string_view::npos) {
        made.user = text.substr(0, at);
        text.remove_prefix(at + 1);
        if (!isUserName(made.user)) {
            return invalidArgument("bad user name in '", whole, "'");
        }
    }
    std::string_view port;
    if (!text.empty() && text[0] == '[' && text.find(']') != std::string_view::npos) {
        const std::size_t close = text.find(']');
        port = text.substr(close + 1);
        text = text.substr(1, close - 1);
    } else if (hasPort && std::ranges::count(text, ':') == 1) {
        port = text.substr(text.find(':'));
        text = text.substr(0, text.find(':'));
    }
    made.host = text;
    if (!port.empty()) {
        made.port = port[0] == ':' ? parsePort(port.substr(1)) : 0;
        if (made.port == 0) {
            return invalidArgument("bad port in '", whole, "'");
        }
    }
    if (!isHostName(made.host)) {
        return invalidArgument("bad host name '", whole, "'");
    }
    return made;
}

bool isHostName(std::string_view name) {
    return !name.empty() && name[0] != '-' && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("._-:%").find(static_cast<char>(c)) != std::string_view::npos ||
               c >= 0x80;
    });
}

bool isUserName(std::string_view name) {
    constexpr std::string_view kNever = "'`\";&<>|(){}$\n\r\t \\";
    return !name.empty() && name[0] != '-' && name.find_first_of(kNever) == std::string_view::npos;
}

int parsePort(std::string_view text) {
    int port = 0;
    const bool isNumber = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0 &&
                          absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &port);
    return isNumber && port >= 1 && port <= 65535 ? port : 0;
}

std::string lowerCase(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

}  // namespace millrace::libssh
