// `millrace doctor`: reports problems of the daemon and its run store.
#include "app/cli/commands.h"
#include "app/cli/frame/table.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

struct Findings {
    values::DaemonStatus daemon;
    values::StoreCheck store;
    bool isWhole = false;

    bool isWell() const { return daemon.warnings.empty() && store.damage.empty(); }
};

Result<Findings> examine(client::DaemonClient& daemon, bool isWhole) {
    Findings found;
    found.isWhole = isWhole;
    ASSIGN_OR_RETURN(found.daemon, daemon.status());
    ASSIGN_OR_RETURN(found.store, daemon.checkStore(isWhole));
    return found;
}

Json findingsJson(const Findings& found) {
    return {{"ok", found.isWell()},
            {"warnings", found.daemon.warnings},
            {"store",
             {{"path", found.store.path},
              {"check", found.isWhole ? "whole" : "quick"},
              {"damage", found.store.damage},
              {"bytes", found.store.bytes},
              {"runs", found.store.runs},
              {"seconds", found.store.seconds}}}};
}

void show(CliContext& context, const Findings& found) {
    const auto line = [&](Tone tone, std::string_view mark, const std::string& text) {
        context.out << paint(context.terminal, tone, mark) << ' ' << shown(context.terminal, text)
                    << '\n';
    };
    for (const std::string& warning : found.daemon.warnings) {
        line(Tone::kWarn, "warning:", warning);
    }
    for (const std::string& damage : found.store.damage) {
        line(Tone::kBad, "damage:", damage);
    }
    const std::string place =
        strCat(found.store.path, " (", session::countText(found.store.runs, "run"), ", ",
               formatBytes(static_cast<double>(found.store.bytes)), ")");
    if (!found.store.damage.empty()) {
        line(Tone::kBad, "damaged:",
             strCat(found.store.path, ": restore it from a copy, or what is damaged is lost"));
    } else {
        line(Tone::kGood, "sound:",
             strCat(place, found.isWhole ? ", looked through whole" : "", ", in ",
                    session::shortNumber(found.store.seconds), " s"));
    }
}

}  // namespace

Result<int> runDoctor(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const Findings found, examine(*daemon, args.has("--whole")));
    if (args.isJson()) {
        printDocument(context, findingsJson(found));
    } else {
        show(context, found);
    }
    return found.isWell() ? kExitOk : kExitFailed;
}

}  // namespace millrace::cli
