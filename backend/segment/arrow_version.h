#pragma once
// Which Arrow this is.
#include <string>

namespace millrace::segment {

/// "26.0.1": for receipts.
std::string arrowVersion();

}  // namespace millrace::segment
