#pragma once
// The law that no Result is taken unseen, told from the declarations of the whole tree.
#include <vector>

#include "tests/laws/source_tree.h"

namespace millrace::laws {

/// Production code never takes the value of a Result that it has just been given: `*find(x)` and
/// `find(x)->name` end the process where the call fails.
std::vector<Offence> checkResults(const std::vector<SourceFile>& files);

}  // namespace millrace::laws
