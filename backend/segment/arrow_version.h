#pragma once
// The version of the Arrow library in use, for receipts.
#include <string>

namespace millrace::segment {

/// For example "26.0.1".
std::string arrowVersion();

}  // namespace millrace::segment
