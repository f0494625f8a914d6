#pragma once
// Which build a program is of. Written at build time by packaging/build-id and linked into programs
// alone: a library that asked would be built anew for every change of any source.
//
// Threads: any. Owns: nothing. Failure: none.
#include <string_view>

namespace millrace {

/// 16 hexadecimal digits over all sources: equal builds are of equal sources.
std::string_view buildId();

}  // namespace millrace
