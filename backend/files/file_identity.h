#pragma once
// What tells that a data file still is the one whose facts were checked: of a local file device,
// inode, size, time of change and time of the inode's change; of an object its ETag, which goes
// with every request (backend/objects).
//
// Threads: pure functions of files. Failure: kFailedPrecondition "PATH: changed since the run was
// planned: WHAT at WHEN; ...".
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/files/file_list.h"

struct stat;  // NOLINT(readability-identifier-naming): POSIX's

namespace millrace::files {

/// Fills in size, times and inode.
void setIdentity(const struct stat& info, DataFile& file);

/// Whether `file` was looked at: a plan's files are not before they are first touched.
bool hasIdentity(const DataFile& file);

/// Whether such a file system (networkFileSystemOf()'s name) may give a file another inode at any
/// time: user-space ones forget theirs under memory pressure.
bool givesInodesAnew(std::string_view fileSystem);

/// The number of bytes against the planned one.
Status verifySize(const DataFile& planned, std::int64_t bytes);

/// The hash of what was read again, a footer or a content, against the one in the plan.
Status verifyHash(const DataFile& file, std::string_view now, std::string_view planned);

/// An open file against the one that was checked.
Status verifyOpen(const DataFile& checked, int fd);

/// The file at the path by now; OK for objects.
Status verifyAtPath(const DataFile& checked);

}  // namespace millrace::files
