#pragma once
// JSON written as text at once, for documents that are too large to be built as a tree first.
// What is written must be what dumpJson gives for the tree: keys sorted, no spaces.
//
// Threads: any. Failure: none.
#include <string>
#include <string_view>

namespace millrace {

/// Appends `text` as dumpJson writes it, with its quotes.
void appendJsonText(std::string_view text, std::string* out);

}  // namespace millrace
