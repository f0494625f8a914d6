#include "app/cli/frame/context.h"

#include "app/tui/glyphs.h"

namespace millrace::cli {

Result<session::DaemonPlace> daemonPlace(const CliContext& context) {
    std::string host = context.hostOption;
    if (host.empty()) {
        host = context.environment("MILLRACE_HOST");
    }
    if (host.empty()) {
        host = "unix:" + defaultSocketPath();
    }
    return session::placeOf(host, context.hostBook);
}

Result<Address> daemonAddress(const CliContext& context) {
    ASSIGN_OR_RETURN(session::DaemonPlace place, daemonPlace(context));
    return std::move(place.address);
}

Result<std::unique_ptr<client::DaemonClient>> openDaemon(const CliContext& context) {
    ASSIGN_OR_RETURN(const Address address, daemonAddress(context));
    std::unique_ptr<client::DaemonClient> daemon = context.connect(address);
    RETURN_IF_ERROR(daemon->handshake().status());
    return daemon;
}

void noteUnknownName(CliContext& context, client::DaemonClient& daemon, const std::string& filter) {
    const auto check = filter.empty() ? values::FilterCheck{}
                                      : daemon.parseFilter(filter).value_or(values::FilterCheck{});
    if (check.isOk && !check.message.empty()) {
        context.err << "note: " << shown(context.errorTerminal, check.message) << '\n';
    }
}

ExitCode fail(CliContext& context, const Status& status) {
    context.err << paint(context.errorTerminal, tui::Tone::kBad, "millrace:") << ' '
                << shown(context.errorTerminal, messageOf(status)) << '\n';
    return exitCodeOf(status);
}

ExitCode failUsage(CliContext& context, std::string_view sentence) {
    return fail(context, asUsage(invalidArgument(sentence)));
}

void printDocument(CliContext& context, Json document) {
    document["schema_version"] = kSchemaVersion;
    context.out << (context.terminal.isTty ? dumpJsonPretty(document) : dumpJson(document)) << '\n'
                << std::flush;
}

void printLine(CliContext& context, Json object) {
    object["schema_version"] = kSchemaVersion;
    context.out << dumpJson(object) << '\n' << std::flush;
}

}  // namespace millrace::cli
