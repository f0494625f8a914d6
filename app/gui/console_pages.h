#pragma once
// Makes the pages of the console.
//
// Threads: the GUI thread.
#include <functional>
#include <memory>

#include "app/gui/pages/page.h"

namespace millrace::gui {

using MakePage = std::function<std::unique_ptr<Page>(PageName name, const PageContext& context)>;

/// The real ones.
std::unique_ptr<Page> makePage(PageName name, const PageContext& context);

}  // namespace millrace::gui
