#include "app/gui/console_pages.h"

#include "app/gui/pages/data/data_page.h"
#include "app/gui/pages/launch/launch_page.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/watch/watch_page.h"

namespace millrace::gui {
namespace {

template <class OnePage>
std::unique_ptr<Page> make(const PageContext& context) {
    return std::make_unique<OnePage>(context, nullptr);
}

constexpr PageEntry kPages[] = {
    {PageName::kWatch, "watch", QT_TRANSLATE_NOOP("PageName", "Watch"), Glyph::kWatch,
     &make<WatchPage>},
    {PageName::kRuns, "runs", QT_TRANSLATE_NOOP("PageName", "Runs"), Glyph::kRuns, &make<RunsPage>},
    {PageName::kLaunch, "launch", QT_TRANSLATE_NOOP("PageName", "Launch"), Glyph::kLaunch,
     &make<LaunchPage>},
    {PageName::kData, "data", QT_TRANSLATE_NOOP("PageName", "Data"), Glyph::kData, &make<DataPage>},
};

constexpr bool isInOrder() {
    std::size_t place = 0;
    for (const PageEntry& entry : kPages) {
        if (static_cast<std::size_t>(entry.name) != place++) {
            return false;
        }
    }
    return true;
}
static_assert(isInOrder(), "an entry's place is the value of its name");

}  // namespace

std::span<const PageEntry> allPages() {
    return kPages;
}

const PageEntry& entryOf(PageName name) {
    return kPages[static_cast<std::size_t>(name)];
}

std::unique_ptr<Page> makePage(PageName name, const PageContext& context) {
    return entryOf(name).make(context);
}

}  // namespace millrace::gui
