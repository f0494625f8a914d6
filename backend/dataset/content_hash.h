#pragma once
// The hash of a whole file, by which a plan knows its side tables. Private to the room.
#include <string>

#include "backend/core/status.h"
#include "backend/files/file_source.h"

namespace millrace::dataset {

/// XXH3-128 of the file's bytes, as hex. A local file that rested for two seconds is read once a
/// process: a plan's tables are hashed when it is made, and again when it is carried out. Threads:
/// any; a large file is read by a thread of its own while this one hashes. Failure: of the reads,
/// or kFailedPrecondition where the file is another meanwhile.
Result<std::string> contentHash(const files::FileSource& source);

}  // namespace millrace::dataset
