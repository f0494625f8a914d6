#pragma once
// The one table of all pages of the console, in the order of the side bar.
//
// A new page needs a name in page.h, a line here, and its own folder. Threads: the GUI thread.
#include <functional>
#include <memory>
#include <span>

#include "app/gui/pages/page.h"
#include "app/gui/widgets/icons.h"

namespace millrace::gui {

struct PageEntry {
    PageName name;
    const char* word;   ///< on the command line and in the settings
    const char* title;  ///< in the side bar
    Glyph glyph;
    std::unique_ptr<Page> (*make)(const PageContext& context);
};

/// The index of an entry is the value of its name.
std::span<const PageEntry> allPages();
const PageEntry& entryOf(PageName name);

using MakePage = std::function<std::unique_ptr<Page>(PageName name, const PageContext& context)>;

/// Makes the real page; tests pass their own.
std::unique_ptr<Page> makePage(PageName name, const PageContext& context);

}  // namespace millrace::gui
