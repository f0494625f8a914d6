#pragma once
// The law that code checks a Result before it takes its value, based on the declarations of the
// whole tree.
#include <vector>

#include "tests/laws/source_tree.h"

namespace millrace::laws {

/// Production code must not take the value of a Result without a check: `*find(x)` and
/// `find(x)->name` end the process if the call fails.
std::vector<Offence> checkResults(const std::vector<SourceFile>& files);

}  // namespace millrace::laws
