// The program `millrace`: sets up the process (streams, signals, terminal) around runCli().
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include "app/cli/cli.h"
#include "app/cli/remote/terminal_ask.h"
#include "app/session/daemon_door.h"
#include "app/session/host_book.h"
#include "app/ssh/askpass.h"
#include "backend/core/build_id.h"
#include "backend/core/standard_output.h"
#include "backend/filesystem/paths.h"

namespace {

std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "set by a signal handler");

// The first interrupts ask the command to end in order; the third ends the process at once.
void onInterrupt(int) {
    if (interrupts.fetch_add(1) >= 2) {
        ::_exit(130);
    }
}

void installSignals() {
    struct sigaction action{};
    action.sa_handler = onInterrupt;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGHUP, &action, nullptr);
    // A closed pipe ends writing, but the terminal must still be restored.
    std::signal(SIGPIPE, SIG_IGN);
}

// Fills in standard descriptors that were closed at the start. Otherwise the next file or socket
// would get such a number, and output would go into it. A write to this descriptor fails.
void keepStandardDescriptors() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) {
            ::_exit(1);
        }
    }
}

// While a full-screen view has the terminal, no question can be asked on it.
std::atomic<bool> isScreenOpen{false};

millrace::ssh::Settings sshSettings() {
    using millrace::cli::processEnvironment;
    millrace::ssh::Settings settings;
    settings.ask = millrace::cli::terminalAsk(interrupts, isScreenOpen);
    settings.programDirectory = millrace::programDirectory();
    settings.ownProgram = millrace::programPath();
    settings.searchPath = processEnvironment("PATH");
    settings.configFile = processEnvironment("MILLRACE_SSH_CONFIG");
    settings.isUnwanted = [] { return interrupts > 0; };
    return settings;
}

millrace::client::ClientTlsFiles tlsFiles() {
    using millrace::cli::processEnvironment;
    return {processEnvironment("MILLRACE_TLS_CA"), processEnvironment("MILLRACE_TLS_CERT"),
            processEnvironment("MILLRACE_TLS_KEY")};
}

}  // namespace

int main(int argc, char** argv) {
    using namespace millrace;
    using namespace millrace::cli;
    if (const std::optional<int> code = ssh::answerAsAskpass(argc, argv)) {
        return *code;
    }
    installSignals();
    keepStandardDescriptors();
    std::ios::sync_with_stdio(false);
    OutputBuffer output(STDOUT_FILENO);
    std::ostream out(&output);
    const SystemClock clock;
    auto hosts = std::make_unique<ssh::Hosts>(sshSettings());
    const Terminal terminal = detectTerminal(STDOUT_FILENO, processEnvironment);
    CliContext context{
        out,
        std::cerr,
        terminal,
        detectTerminal(STDERR_FILENO, processEnvironment),
        processEnvironment,
        clock,
        programDirectory(),
        [&](const Address& address) {
            return session::openClient(address, strCat("millrace ", kVersion), tlsFiles(), *hosts);
        },
        [&] {
            isScreenOpen = true;
            return tui::openScreen(context.terminal.colors > 0, context.terminal.isUtf8);
        },
        interrupts};
    context.output = &output;
    context.hosts = hosts.get();
    context.hostBook = session::HostBook::defaultPath().value_or("");
    context.build = buildId();
    context.isInputTty = ::isatty(STDIN_FILENO) != 0;
    context.readLine = [&] {
        out.flush();
        std::string line;
        std::getline(std::cin, line);
        return line;
    };
    const int code = runCli(context, {argv + 1, argv + argc});
    hosts.reset();  // ends what was started for them
    // gRPC's own shutdown takes longer than most commands: everything of ours is flushed and
    // closed.
    ::_exit(code);
}
