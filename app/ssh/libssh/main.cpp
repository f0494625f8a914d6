// The program `millrace-ssh`: the part of ssh(1) that Millrace uses, on libssh, for machines
// without ssh.
#include <cerrno>
#include <csignal>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include "app/ssh/libssh/connection.h"
#include "app/ssh/libssh/control.h"
#include "app/ssh/libssh/master.h"
#include "app/ssh/libssh/options.h"
#include "app/ssh/libssh/pump.h"
#include "app/ssh/libssh/questions.h"
#include "app/ssh/libssh/settings.h"
#include "backend/core/build_id.h"
#include "backend/core/standard_output.h"
#include "backend/system/pipe.h"
#include "backend/system/secrets.h"

namespace {

using namespace millrace;
using namespace millrace::libssh;

constexpr int kOwnError = 255;

volatile std::sig_atomic_t signalPipe = -1;

void onSignal(int number) {
    const int before = errno;
    const char byte = static_cast<char>(number);
    // A full pipe has reported a signal already.
    [[maybe_unused]] const ssize_t written = ::write(signalPipe, &byte, 1);
    errno = before;
}

// From here on a signal ends the loop, which removes its sockets. (Earlier, a signal ends the
// program and the question that it asks; no sockets exist yet.)
void catchSignals(int pipe) {
    signalPipe = pipe;
    struct sigaction action{};
    action.sa_handler = onSignal;
    for (const int number : {SIGTERM, SIGHUP, SIGINT}) {
        ::sigaction(number, &action, nullptr);
    }
}

Result<int> runMaster(const Invocation& invocation) {
    const LocalUser local = thisUser();
    ASSIGN_OR_RETURN(const Settings settings, settingsFor(invocation, local));
    std::unique_ptr<Questions> questions = std::make_unique<NoQuestions>();
    if (!settings.isBatch) {
        questions = std::make_unique<AskPass>(AskPass::ofEnvironment());
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                     Connection::open(settings, {invocation, local, *questions}));
    UniqueFd told, tells;
    RETURN_IF_ERROR(makePipe(told, tells));
    ::fcntl(tells.get(), F_SETFL, O_NONBLOCK);
    Pump pump(connection->session(),
              {settings.hostName, settings.aliveInterval, settings.aliveCountMax});
    ASSIGN_OR_RETURN(const std::unique_ptr<Master> master,
                     Master::open(pump, invocation.controlPath, told.get()));
    catchSignals(tells.get());
    master->start(invocation.command);
    RETURN_IF_ERROR(pump.run(*master));
    return master->exitCode();
}

Result<int> run(const std::vector<std::string>& arguments) {
    ASSIGN_OR_RETURN(const Invocation invocation, parseInvocation(arguments));
    switch (invocation.mode) {
        case Mode::kVersion:
            RETURN_IF_ERROR(printText(strCat("millrace-ssh ", MILLRACE_VERSION, " (", buildId(),
                                             ", libssh ", ssh_version(0), ")\n")));
            return 0;
        case Mode::kMaster:
            return runMaster(invocation);
        default:
            return askMaster(invocation);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    if (const Status status = keepOutOfDumps(); !status.ok()) {
        sayOnStderr(strCat("millrace-ssh: ", messageOf(status)));
        return kOwnError;
    }
    const Result<int> code = run({argv + 1, argv + argc});
    if (!code.ok()) {
        sayOnStderr(std::string(messageOf(code.status())));
        return kOwnError;
    }
    return *code;
}
