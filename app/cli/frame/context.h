#pragma once
// The environment of a command: where it writes, how it reaches a daemon, the user's machine.
//
// Everything is passed in, so that a test runs a command without a terminal and without a daemon.
#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "app/cli/frame/exit_codes.h"
#include "app/cli/frame/terminal.h"
#include "app/client/daemon_client.h"
#include "app/session/host_book.h"
#include "app/ssh/host.h"
#include "app/tui/screen.h"
#include "backend/core/clock.h"
#include "backend/core/standard_output.h"
#include "backend/filesystem/paths.h"
#include "backend/text/json.h"

namespace millrace::cli {

inline constexpr int kSchemaVersion = 1;  ///< of every --json document
inline constexpr const char* kVersion = MILLRACE_VERSION;

struct CliContext {
    std::ostream& out;
    std::ostream& err;
    Terminal terminal;       ///< of out
    Terminal errorTerminal;  ///< of err
    Environment environment;
    const Clock& clock;
    std::string programDirectory;  ///< where millraced and millrace-loader are
    std::function<std::unique_ptr<client::DaemonClient>(const Address&)> connect;
    std::function<Result<std::unique_ptr<tui::Screen>>()> openScreen;
    /// How often Ctrl-C was pressed, or the process was asked to end.
    const std::atomic<int>& interrupts;
    std::string hostOption;   ///< --host as given
    bool isInputTty = false;  ///< a person can press keys
    /// Reads a typed line; returns "" at the end of the input. Call only if isInputTty.
    std::function<std::string()> readLine;
    std::string_view build = {};           ///< buildId(), for `millrace version`
    ssh::Hosts* hosts = nullptr;           ///< for ssh addresses; null: not supported
    std::string hostBook = {};             ///< the file of named hosts
    bool looksThere = false;               ///< the command runs the loader of a host behind ssh
    const OutputBuffer* output = nullptr;  ///< behind `out`; null: `out` is not a descriptor

    /// Whether nobody reads the output any more. Commands that print until something ends check it;
    /// all others keep printing, and runCli() reports the loss.
    bool isOutputLost() const {
        return !out.good() || (output != nullptr && output->hasNoReader());
    }
};

/// Connects to the daemon of --host, MILLRACE_HOST or the default name, and greets it, so that a
/// newer one is reported as such.
Result<std::unique_ptr<client::DaemonClient>> openDaemon(const CliContext& context);
/// The same address without a connection, and the settings of a named host.
Result<Address> daemonAddress(const CliContext& context);
Result<session::DaemonPlace> daemonPlace(const CliContext& context);

/// Notes on stderr if a metric, parameter or tag of the filter is in no run.
void noteUnknownName(CliContext& context, client::DaemonClient& daemon, const std::string& filter);

/// Prints "millrace: SENTENCE" on stderr; returns the matching exit code.
ExitCode fail(CliContext& context, const Status& status);
ExitCode failUsage(CliContext& context, std::string_view sentence);

/// Adds schema_version and prints one document (indented on a terminal, else on one line), or one
/// line of a stream of objects.
void printDocument(CliContext& context, Json document);
void printLine(CliContext& context, Json object);

}  // namespace millrace::cli
