#pragma once
// The hash of a whole file, by which a plan identifies its side tables. Private to dataset.
#include <string>

#include "backend/core/status.h"
#include "backend/files/file_source.h"

namespace millrace::dataset {

/// XXH3-128 of the file's bytes, as hex. Reads a local file that has been unchanged for two seconds
/// only once per process: a plan's tables are hashed when the plan is made and again when it is
/// run. Threads: any; a large file is read in a thread of its own while this one hashes. Failure:
/// that of the reads, or kFailedPrecondition if the file changed meanwhile.
Result<std::string> contentHash(const files::FileSource& source);

}  // namespace millrace::dataset
