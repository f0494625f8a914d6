#include "app/gui/console_pages.h"

#include "app/gui/pages/data/data_page.h"
#include "app/gui/pages/launch/launch_page.h"
#include "app/gui/pages/runs/runs_page.h"
#include "app/gui/pages/watch/watch_page.h"

namespace millrace::gui {

std::unique_ptr<Page> makePage(PageName name, const PageContext& context) {
    switch (name) {
        case PageName::kWatch:
            return std::make_unique<WatchPage>(context, nullptr);
        case PageName::kRuns:
            return std::make_unique<RunsPage>(context, nullptr);
        case PageName::kLaunch:
            return std::make_unique<LaunchPage>(context, nullptr);
        case PageName::kData:
            break;
    }
    return std::make_unique<DataPage>(context, nullptr);
}

}  // namespace millrace::gui
