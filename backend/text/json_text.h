#pragma once
// Writes JSON directly as text, for documents that are too large to be built as a tree first. The
// text must equal what dumpJson writes for the tree: sorted keys, no spaces.
//
// Threads: any. Failure: none.
#include <string>
#include <string_view>

namespace millrace {

/// Appends `text` as dumpJson writes it, with its quotes.
void appendJsonText(std::string_view text, std::string* out);

}  // namespace millrace
