#pragma once
// Reads the footer of a file that ends with one: its bytes, its length, its magic.
//
// Threads: any, one FileSource each. Failure: kDataLoss "PATH: ..." with what is wrong: too short,
// no magic (truncated), a footer longer than the file; kInvalidArgument for an encrypted footer.
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/files/file_list.h"
#include "backend/files/file_source.h"

namespace millrace::files {

/// The footer's bytes with its length and magic: the last `length + tail` bytes of the file.
/// `kind`: what the file should be, for messages.
Result<std::string> readFooter(const DataFile& file, const FileSource& source,
                               std::string_view kind, std::string_view magic);

}  // namespace millrace::files
