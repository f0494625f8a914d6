#include "app/gui/shell_commands.h"

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_table.h"
#include "app/session/live_model.h"

namespace millrace::gui {
namespace {

void addRuns(const CommandSources& sources, std::vector<PaletteEntry>& entries) {
    if (sources.runs == nullptr) {
        return;
    }
    // The newest first: users search for those most.
    for (int row = sources.runs->numRuns(); row-- > 0;) {
        const values::RunSummary& run = sources.runs->run(row);
        const std::string_view state = values::nameOf(run.state);
        PaletteEntry entry;
        entry.title = qtext(session::labelOf(run));
        entry.group = QObject::tr("Run");
        entry.detail = qtext(run.id) + QLatin1String("  ") + qtext(state);
        entry.run = [open = sources.openRun, id = run.id] { open(id); };
        entries.push_back(std::move(entry));
    }
}

void addDaemons(const CommandSources& sources, std::vector<PaletteEntry>& entries) {
    if (sources.daemons == nullptr) {
        return;
    }
    for (const KnownDaemon& daemon : sources.daemons->all()) {
        PaletteEntry entry;
        entry.title = QObject::tr("Connect to %1").arg(shortName(daemon));
        entry.group = QObject::tr("Daemon");
        entry.detail = qtext(daemon.address) + QLatin1String("  ") + stateWord(daemon);
        entry.isEnabled = daemon.address != sources.daemons->current();
        entry.run = [open = sources.openDaemon, address = daemon.address] { open(address); };
        entries.push_back(std::move(entry));
    }
}

}  // namespace

std::vector<PaletteEntry> paletteEntries(const CommandSources& sources) {
    std::vector<PaletteEntry> entries;
    for (const PageCommands& page : sources.pages) {
        for (const Command& command : page.commands) {
            entries.push_back(
                {command.title, page.title, {}, command.key, command.run, command.isEnabled});
        }
    }
    addDaemons(sources, entries);
    addRuns(sources, entries);
    return entries;
}

std::vector<ShortcutGroup> shortcutGroups(const std::vector<PageCommands>& pages) {
    std::vector<ShortcutGroup> groups;
    for (const PageCommands& page : pages) {
        ShortcutGroup group{page.title, {}};
        for (const Command& command : page.commands) {
            if (!command.key.isEmpty()) {
                group.lines.push_back(
                    {command.title, command.key.toString(QKeySequence::NativeText)});
            }
        }
        if (!group.lines.empty()) {
            groups.push_back(std::move(group));
        }
    }
    return groups;
}

}  // namespace millrace::gui
