#pragma once
// `millrace-loader feed --job FILE`: the feed of one job, computing segments into the ranks' rings.
#include <string>

namespace millrace::loader {

/// The role. The process's exit code: 0 done, 3 stopped on request, 4 input or data, 5 other.
int runFeed(const std::string& jobPath);

}  // namespace millrace::loader
