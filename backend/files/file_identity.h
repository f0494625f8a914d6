#pragma once
// Identity of a data file: tells whether it still is the file whose facts were checked. A local
// file has device, inode, size, modification time and inode change time; an object has its ETag,
// which every request sends (backend/objects).
//
// Threads: pure functions of files. Failure: kFailedPrecondition "PATH: changed since the run was
// planned: WHAT at WHEN; ...".
#include <cstdint>
#include <string_view>

#include "backend/core/status.h"
#include "backend/files/file_list.h"

struct stat;  // NOLINT(readability-identifier-naming): POSIX's

namespace millrace::files {

/// Fills in size, times and inode.
void setIdentity(const struct stat& info, DataFile& file);

/// Whether `file` has been examined: a plan's files have not, until they are first used.
bool hasIdentity(const DataFile& file);

/// Whether such a file system (a name from networkFileSystemOf()) may change a file's inode at any
/// time: user-space ones forget inodes under memory pressure.
bool givesInodesAnew(std::string_view fileSystem);

/// Compares the number of bytes with the planned one.
Status verifySize(const DataFile& planned, std::int64_t bytes);

/// Compares the hash of a footer or content that was read again with the plan's hash.
Status verifyHash(const DataFile& file, std::string_view now, std::string_view planned);

/// Compares an open file with the checked one.
Status verifyOpen(const DataFile& checked, int fd);

/// Compares the file now at the path with the checked one; OK for objects.
Status verifyAtPath(const DataFile& checked);

}  // namespace millrace::files
