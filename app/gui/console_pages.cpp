#include "app/gui/console_pages.h"

#if __has_include("app/gui/pages/watch/watch_page.h") && defined(MILLRACE_HAS_WATCH)
#include "app/gui/pages/watch/watch_page.h"
#define HAS_WATCH 1
#endif
#if __has_include("app/gui/pages/runs/runs_page.h") && defined(MILLRACE_HAS_RUNS)
#include "app/gui/pages/runs/runs_page.h"
#define HAS_RUNS 1
#endif
#if __has_include("app/gui/pages/launch/launch_page.h") && defined(MILLRACE_HAS_LAUNCH)
#include "app/gui/pages/launch/launch_page.h"
#define HAS_LAUNCH 1
#endif
#if __has_include("app/gui/pages/data/data_page.h") && defined(MILLRACE_HAS_DATA)
#include "app/gui/pages/data/data_page.h"
#define HAS_DATA 1
#endif

namespace millrace::gui {
namespace {

class MissingPage final : public Page {
 public:
    MissingPage(PageName name, const PageContext& context) : Page(context, nullptr), name_(name) {}
    PageName name() const override { return name_; }

 private:
    PageName name_;
};

}  // namespace

std::unique_ptr<Page> makePage(PageName name, const PageContext& context) {
    switch (name) {
#ifdef HAS_WATCH
        case PageName::kWatch:
            return std::make_unique<WatchPage>(context, nullptr);
#endif
#ifdef HAS_RUNS
        case PageName::kRuns:
            return std::make_unique<RunsPage>(context, nullptr);
#endif
#ifdef HAS_LAUNCH
        case PageName::kLaunch:
            return std::make_unique<LaunchPage>(context, nullptr);
#endif
#ifdef HAS_DATA
        case PageName::kData:
            return std::make_unique<DataPage>(context, nullptr);
#endif
        default:
            return std::make_unique<MissingPage>(name, context);
    }
}

}  // namespace millrace::gui
