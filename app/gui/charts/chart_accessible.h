#pragma once
// Screen readers read a chart's title and its summary, made when they ask.
//
// Threads: the GUI thread.

namespace millrace::gui {

/// Once a process; more is harmless.
void installChartAccessibility();

}  // namespace millrace::gui
