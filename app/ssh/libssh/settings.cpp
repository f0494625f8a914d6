#include "app/ssh/libssh/settings.h"

#include <cstdlib>
#include <set>

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include "backend/system/subprocess.h"

namespace millrace::libssh {
namespace {

constexpr const char* kDefaultKeys[] = {"id_rsa", "id_ecdsa", "id_ed25519"};

class Lookup {
 public:
    explicit Lookup(std::vector<KeyValue> all) : all_(std::move(all)) {}

    std::string text(const std::string& key, std::string otherwise = "") const {
        for (const KeyValue& line : all_) {
            if (line.key == key) {
                return line.value;
            }
        }
        return otherwise;
    }
    bool isSaid(const std::string& key) const { return !text(key).empty(); }
    std::vector<std::string> every(const std::string& key) const {
        std::vector<std::string> values;
        for (const KeyValue& line : all_) {
            if (line.key == key) {
                values.push_back(line.value);
            }
        }
        return values;
    }
    Result<bool> flag(const std::string& key, bool otherwise) const {
        const std::string value = lowerCase(text(key));
        if (value.empty()) {
            return otherwise;
        }
        if (value == "yes" || value == "true") {
            return true;
        }
        if (value == "no" || value == "false") {
            return false;
        }
        return invalidArgument(key, ": yes or no, not '", value, "'");
    }
    // Seconds may end with "s".
    Result<int> number(const std::string& key, int otherwise) const {
        std::string value = lowerCase(text(key));
        if (value.empty() || value == "none") {
            return otherwise;
        }
        if (value.back() == 's') {
            value.pop_back();
        }
        int made = 0;
        if (!absl::SimpleAtoi(value, &made) || made < 0 || made > 1'000'000) {
            return invalidArgument(key, ": a number, not '", text(key), "'");
        }
        return made;
    }

 private:
    std::vector<KeyValue> all_;
};

std::vector<std::string> files(const std::string& value, const Tokens& tokens) {
    std::vector<std::string> made;
    for (const absl::string_view word : absl::StrSplit(value, ' ', absl::SkipEmpty())) {
        made.push_back(expandTokens(expandHome(std::string(word), tokens.home), tokens));
    }
    return made;
}

Result<StrictHostKeys> strictness(const std::string& value) {
    if (value == "ask") {
        return StrictHostKeys::kAsk;
    }
    if (value == "yes" || value == "true") {
        return StrictHostKeys::kYes;
    }
    if (value == "accept-new") {
        return StrictHostKeys::kAcceptNew;
    }
    if (value == "no" || value == "off" || value == "false") {
        return StrictHostKeys::kNo;
    }
    return invalidArgument("StrictHostKeyChecking: yes, ask, accept-new or no, not '", value, "'");
}

Status takeIdentities(const Lookup& lookup, const Tokens& tokens, Settings* made) {
    std::set<std::string> seen;
    for (const std::string& file : lookup.every("identityfile")) {
        made->isIdentityGiven = true;
        const std::string path = expandTokens(expandHome(file, tokens.home), tokens);
        if (file != "none" && seen.insert(path).second) {
            made->identityFiles.push_back(path);
        }
    }
    if (!made->isIdentityGiven) {
        for (const char* name : kDefaultKeys) {
            made->identityFiles.push_back(strCat(tokens.home, "/.ssh/", name));
        }
    }
    ASSIGN_OR_RETURN(made->isIdentitiesOnly, lookup.flag("identitiesonly", false));
    const std::string agent = lookup.text("identityagent");
    if (!agent.empty() && agent != "SSH_AUTH_SOCK") {
        made->identityAgent = expandTokens(expandHome(agent, tokens.home), tokens);
    }
    return okStatus();
}

Status takeTimes(const Lookup& lookup, Settings* made) {
    ASSIGN_OR_RETURN(const int timeout, lookup.number("connecttimeout", 0));
    ASSIGN_OR_RETURN(const int interval, lookup.number("serveraliveinterval", 0));
    ASSIGN_OR_RETURN(made->aliveCountMax, lookup.number("serveralivecountmax", 3));
    ASSIGN_OR_RETURN(made->prompts, lookup.number("numberofpasswordprompts", 3));
    made->connectTimeout = std::chrono::seconds(timeout);
    made->aliveInterval = std::chrono::seconds(interval);
    return okStatus();
}

Status takeAsking(const Lookup& lookup, const Tokens& tokens, Settings* made) {
    ASSIGN_OR_RETURN(made->isBatch, lookup.flag("batchmode", false));
    ASSIGN_OR_RETURN(made->hasPublicKey, lookup.flag("pubkeyauthentication", true));
    ASSIGN_OR_RETURN(made->hasPassword, lookup.flag("passwordauthentication", true));
    ASSIGN_OR_RETURN(const bool responds, lookup.flag("challengeresponseauthentication", true));
    ASSIGN_OR_RETURN(made->hasKeyboard, lookup.flag("kbdinteractiveauthentication", responds));
    ASSIGN_OR_RETURN(made->strict,
                     strictness(lowerCase(lookup.text("stricthostkeychecking", "ask"))));
    made->userKnownHosts =
        files(lookup.text("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2"), tokens);
    made->globalKnownHosts = files(
        lookup.text("globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"),
        tokens);
    return okStatus();
}

Status takeWay(const Lookup& lookup, const Tokens& tokens, Settings* made) {
    const std::string family = lowerCase(lookup.text("addressfamily", "any"));
    made->addressFamily = family == "inet" ? AF_INET : family == "inet6" ? AF_INET6 : AF_UNSPEC;
    const std::string jump = lookup.text("proxyjump"), command = lookup.text("proxycommand");
    if (!jump.empty()) {
        ASSIGN_OR_RETURN(made->jumps, parseJumps(jump));
    } else if (!command.empty() && lowerCase(command) != "none") {
        made->proxyCommand = expandTokens(command, tokens);
    }
    return okStatus();
}

Result<Settings> make(const Destination& host, const Invocation& invocation,
                      std::vector<KeyValue> said, const LocalUser& local) {
    ConfigSubject subject{host.host, host.user, local.name, local.home,
                          [](const std::string& command) {
                              SubprocessOptions options;
                              options.argv = {"/bin/sh", "-c", command};
                              const Result<SubprocessOutput> output = Subprocess::run(options);
                              return output.ok() && output->exitCode == 0;
                          }};
    ASSIGN_OR_RETURN(const std::vector<ConfigLine> lines,
                     readConfig(invocation.configFile, subject));
    for (const ConfigLine& line : lines) {
        said.push_back({line.key, line.value});
    }
    const Lookup lookup(std::move(said));
    Settings made;
    made.configFile = invocation.configFile;
    made.unheeded = unheededKeys(lines);
    made.alias = host.host;
    made.user = lookup.text("user", local.name);
    made.port = parsePort(lookup.text("port", "22"));
    Tokens tokens{host.host, host.host, made.user, local.name, local.home, made.port};
    made.hostName = lowerCase(expandTokens(lookup.text("hostname", host.host), tokens));
    made.hostKeyName = lookup.text("hostkeyalias");
    tokens.host = made.hostName;
    if (made.port == 0) {
        return invalidArgument("bad port '", lookup.text("port"), "'");
    }
    if (!isHostName(made.hostName) || !isUserName(made.user)) {
        return invalidArgument("bad host or user name: ", made.user, "@", made.hostName);
    }
    RETURN_IF_ERROR(takeIdentities(lookup, tokens, &made));
    RETURN_IF_ERROR(takeTimes(lookup, &made));
    RETURN_IF_ERROR(takeAsking(lookup, tokens, &made));
    RETURN_IF_ERROR(takeWay(lookup, tokens, &made));
    return made;
}

// The name, user and port given for the host precede every other setting.
std::vector<KeyValue> saidOf(const Destination& host) {
    std::vector<KeyValue> said;
    if (!host.user.empty()) {
        said.push_back({"user", host.user});
    }
    if (host.port != 0) {
        said.push_back({"port", strCat(host.port)});
    }
    return said;
}

}  // namespace

LocalUser thisUser() {
    LocalUser user;
    const passwd* entry = ::getpwuid(::getuid());
    const char* home = std::getenv("HOME");
    // Ignores HOME for a user that the system knows, like ssh(1) and libssh.
    user.name = entry == nullptr ? strCat(::getuid()) : std::string(entry->pw_name);
    user.home = entry != nullptr ? entry->pw_dir : home != nullptr ? home : "";
    return user;
}

Result<Settings> settingsFor(const Invocation& invocation, const LocalUser& local) {
    Destination host{invocation.user, invocation.host, invocation.port};
    std::vector<KeyValue> said = saidOf(host);
    for (const KeyValue& option : invocation.options) {
        said.push_back(option);
        if (option.key == "user" && host.user.empty()) {
            host.user = option.value;
        }
    }
    return make(host, invocation, std::move(said), local);
}

Result<Settings> settingsForJump(const Destination& jump, const Invocation& invocation,
                                 const LocalUser& local) {
    // Options for the last host do not apply to jump hosts. (ssh -J passes on none of these; but a
    // caller that forbids questions means every host.)
    static const std::set<std::string> kForAll = {
        "batchmode",      "stricthostkeychecking", "userknownhostsfile",     "globalknownhostsfile",
        "connecttimeout", "addressfamily",         "numberofpasswordprompts"};
    std::vector<KeyValue> said = saidOf(jump);
    for (const KeyValue& option : invocation.options) {
        if (kForAll.contains(option.key)) {
            said.push_back(option);
        }
    }
    return make(jump, invocation, std::move(said), local);
}

Result<std::vector<Destination>> parseJumps(const std::string& text) {
    std::vector<Destination> jumps;
    if (lowerCase(text) == "none") {
        return jumps;
    }
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
        ASSIGN_OR_RETURN(Destination jump,
                         parseDestination(std::string_view(part.data(), part.size()), true));
        jumps.push_back(std::move(jump));
    }
    return jumps;
}

}  // namespace millrace::libssh
