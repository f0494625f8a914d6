#pragma once
// Builds the entries of the command palette and of the shortcut sheet from the pages' commands, the
// window's own, the runs, the pages, the themes and the daemons.
//
// Threads: the GUI thread. Plain functions over values, so that tests need no window.
#include <functional>
#include <vector>

#include "app/gui/models/known_daemons.h"
#include "app/gui/pages/page.h"
#include "app/gui/widgets/shell/command_palette.h"

namespace millrace::gui {

/// The commands of a page, under its title.
struct PageCommands {
    QString title;  ///< "Runs"
    std::vector<Command> commands;
};

struct CommandSources {
    std::vector<PageCommands> pages;  ///< the current one first, then the window's own ("Window")
    const RunTable* runs = nullptr;
    const KnownDaemons* daemons = nullptr;
    std::function<void(const std::string& runId)> openRun;
    std::function<void(const std::string& address)> openDaemon;
};

std::vector<PaletteEntry> paletteEntries(const CommandSources& sources);
/// Only commands with keys; a page without any gets no group.
std::vector<ShortcutGroup> shortcutGroups(const std::vector<PageCommands>& pages);

}  // namespace millrace::gui
