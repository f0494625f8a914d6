#pragma once
// What a directory is good for: whether its names are durable, whose it is, where it lies.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

/// Makes the names in the directory durable: after a rename or a new file. File systems that know
/// no such sync count as done.
Status syncDirectory(const std::string& directory);
/// The same for the directory that holds `path`.
Status syncParent(const std::string& path);

/// A directory (or a link to one) whose contents only this user can have written: made with 0700,
/// or refused when it is another user's or others may write to it.
Status makeOwnDirectory(const std::string& path);

/// kResourceExhausted where the disk of the directory has less than `bytes` free; `what` takes
/// them, for the sentence: "a start".
Status checkRoom(const std::string& directory, std::uint64_t bytes, std::string_view what);

/// "nfs", "cifs", ... when `path` lies on a file system of other machines, whose locks and syncs
/// cannot be relied on; "" for a local one or when it cannot be told.
std::string networkFileSystemOf(const std::string& path);
/// The name for a statfs() f_type, by linux/magic.h; "" for a local or unknown one.
std::string_view networkFileSystemName(std::int64_t magic);

}  // namespace millrace
