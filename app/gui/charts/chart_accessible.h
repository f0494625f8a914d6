#pragma once
// Lets screen readers read a chart's title and its summary, which is made on request.
//
// Threads: the GUI thread.

namespace millrace::gui {

/// Call once per process; repeated calls are harmless.
void installChartAccessibility();

}  // namespace millrace::gui
