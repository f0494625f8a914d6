#include "app/ssh/libssh/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/ssh/libssh/authentication.h"
#include "app/ssh/libssh/frames.h"
#include "app/ssh/libssh/host_keys.h"
#include "app/ssh/libssh/jump.h"
#include "app/ssh/libssh/tcp.h"

namespace millrace::libssh {
namespace {

constexpr int kMostJumps = 8;
// For a host that accepts and then sends nothing, if no timeout was given.
constexpr long kHandshakeSeconds = 60;

void setText(ssh_session session, ssh_options_e option, const std::string& value) {
    ssh_options_set(session, option, value.c_str());
}

// Started here, not by libssh, whose child holds both ends of its socket and outlives a master that
// was killed.
Result<Subprocess> startProxy(const std::string& command, int socket) {
    SubprocessOptions options;
    options.argv = {"/bin/sh", "-c", "exec " + command};
    options.stdinFd = options.stdoutFd = socket;
    options.dieWithParent = true;
    return Subprocess::start(options);
}

}  // namespace

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Settings& settings,
                                                     const ConnectContext& context, int depth) {
    for (const std::string& line : settings.unheeded) {
        sayOnStderr(strCat("millrace-ssh: ", line, " is not known here and is ignored"));
    }
    std::unique_ptr<Connection> made(new Connection());
    RETURN_IF_ERROR(made->prepare(settings));
    RETURN_IF_ERROR(made->takeWay(settings, context, depth));
    RETURN_IF_ERROR(made->shakeHands(settings));
    RETURN_IF_ERROR(checkHostKey(made->session(), settings, made->address_, context.questions));
    RETURN_IF_ERROR(Authentication(made->session(), settings, context.questions).run());
    return made;
}

Status Connection::prepare(const Settings& settings) {
    session_.reset(ssh_new());
    if (session_ == nullptr) {
        return resourceExhausted("ssh: no memory for a session");
    }
    ssh_session session = session_.get();
    const bool reads = false;
    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &reads);
    setText(session, SSH_OPTIONS_HOST, settings.alias);
    // libssh reads only ciphers and the like from the file; all other settings are overwritten
    // below.
    if (settings.configFile != "none" &&
        ssh_options_parse_config(
            session, settings.configFile.empty() ? nullptr : settings.configFile.c_str()) !=
            SSH_OK) {
        sayOnStderr(strCat("millrace-ssh: ", settings.configFile,
                           ": libssh reads no ciphers from it: ", errorOf(session)));
    }
    ssh_set_log_level(SSH_LOG_NOLOG);
    const bool hasName = !settings.hostKeyName.empty();
    const unsigned port = hasName ? 22 : static_cast<unsigned>(settings.port);
    setText(session, SSH_OPTIONS_HOST, hasName ? settings.hostKeyName : settings.hostName);
    ssh_options_set(session, SSH_OPTIONS_PORT, &port);
    setText(session, SSH_OPTIONS_USER, settings.user);
    const auto first = [](const std::vector<std::string>& files) {
        return files.empty() || files[0] == "none" ? std::string("/dev/null") : files[0];
    };
    setText(session, SSH_OPTIONS_KNOWNHOSTS, first(settings.userKnownHosts));
    setText(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, first(settings.globalKnownHosts));
    setText(session, SSH_OPTIONS_PROXYCOMMAND, "none");
    const long timeout =
        settings.connectTimeout.count() > 0 ? settings.connectTimeout.count() : kHandshakeSeconds;
    ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &timeout);
    return okStatus();
}

Status Connection::takeWay(const Settings& settings, const ConnectContext& context, int depth) {
    if (!settings.jumps.empty()) {
        if (depth >= kMostJumps) {
            return failedPrecondition("ssh: more than ", kMostJumps, " hosts on the way to ",
                                      settings.hostName);
        }
        ASSIGN_OR_RETURN(Settings on,
                         settingsForJump(settings.jumps.back(), context.invocation, context.local));
        if (settings.jumps.size() > 1) {
            on.jumps.assign(settings.jumps.begin(), settings.jumps.end() - 1);
            on.proxyCommand.clear();
        }
        // The session at the end of the chain notices a link that hangs.
        on.aliveInterval = std::chrono::seconds(0);
        ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, open(on, context, depth + 1));
        ASSIGN_OR_RETURN(jump_,
                         Jump::open(std::move(connection), on, settings.hostName, settings.port));
        const socket_t fd = jump_->releaseSocket();
        ssh_options_set(session(), SSH_OPTIONS_FD, &fd);
        return okStatus();
    }
    UniqueFd way;
    if (settings.proxyCommand.empty()) {
        ASSIGN_OR_RETURN(TcpConnection tcp,
                         connectTcp(settings.hostName, settings.port, settings.addressFamily,
                                    settings.connectTimeout));
        address_ = tcp.address;
        way = std::move(tcp.fd);
    } else {
        UniqueFd far;
        RETURN_IF_ERROR(makeSocketPair(way, far));
        ASSIGN_OR_RETURN(Subprocess proxy, startProxy(settings.proxyCommand, far.get()));
        proxy_.emplace(std::move(proxy));
    }
    const socket_t fd = way.release();
    ssh_options_set(session(), SSH_OPTIONS_FD, &fd);
    return okStatus();
}

Status Connection::shakeHands(const Settings& settings) {
    if (ssh_connect(session()) == SSH_OK) {
        return okStatus();
    }
    const std::string error = errorOf(session());
    if (error.find("imeout") != std::string::npos) {
        return unavailable("Connection timed out during banner exchange\nConnection to ",
                           settings.hostName, " port ", settings.port, " timed out");
    }
    return unavailable("kex_exchange_identification: ", error, "\nConnection closed by ",
                       settings.hostName, " port ", settings.port);
}

}  // namespace millrace::libssh
