// The program `millrace`: the process's own things (streams, signals, terminal) around runCli().
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include <unistd.h>

#include "app/cli/cli.h"
#include "app/client/grpc_client.h"
#include "backend/core/build_id.h"
#include "backend/core/paths.h"

namespace {

std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "set by a signal handler");

// The first asks the command to leave in order; somebody who insists is not kept waiting.
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
    // A closed pipe ends writing, not the terminal's restoration.
    std::signal(SIGPIPE, SIG_IGN);
}

std::unique_ptr<millrace::client::DaemonClient> connect(const millrace::Address& address) {
    millrace::client::GrpcClientOptions options;
    options.address = address;
    options.clientName = millrace::strCat("millrace ", millrace::cli::kVersion);
    options.tls = {millrace::cli::processEnvironment("MILLRACE_TLS_CA"),
                   millrace::cli::processEnvironment("MILLRACE_TLS_CERT"),
                   millrace::cli::processEnvironment("MILLRACE_TLS_KEY")};
    return millrace::client::makeGrpcClient(std::move(options));
}

}  // namespace

int main(int argc, char** argv) {
    using namespace millrace;
    using namespace millrace::cli;
    installSignals();
    std::ios::sync_with_stdio(false);
    const SystemClock clock;
    const Terminal terminal = detectTerminal(STDOUT_FILENO, processEnvironment);
    CliContext context{
        std::cout,
        std::cerr,
        terminal,
        detectTerminal(STDERR_FILENO, processEnvironment),
        processEnvironment,
        clock,
        programDirectory(),
        connect,
        [&] { return tui::openScreen(context.terminal.colors > 0, context.terminal.isUtf8); },
        interrupts};
    context.build = buildId();
    context.isInputTty = ::isatty(STDIN_FILENO) != 0;
    context.readLine = [] {
        std::string line;
        std::getline(std::cin, line);
        return line;
    };
    const int code = runCli(context, {argv + 1, argv + argc});
    // gRPC's own tear-down takes longer than most commands: everything of ours is flushed and
    // closed.
    ::_exit(code);
}
