#pragma once
// The identity of a program's build. packaging/build-id writes it at build time, and only programs
// link it: a library that used it would be rebuilt for every change of any source.
//
// Threads: any. Owns: nothing. Failure: none.
#include <string_view>

namespace millrace {

/// 16 hexadecimal digits, a hash of all sources: equal builds have equal sources.
std::string_view buildId();

}  // namespace millrace
