#pragma once
// Properties of a directory: durability of its names, its owner, its file system.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

/// Makes the names in the directory durable: call it after a rename or a new file. Succeeds on file
/// systems without such a sync.
Status syncDirectory(const std::string& directory);
/// Does the same for the directory that holds `path`.
Status syncParent(const std::string& path);

/// Ensures a directory (or a link to one) whose contents only this user can have written: creates
/// it with 0700, or fails if it is another user's or others may write to it.
Status makeOwnDirectory(const std::string& path);

/// kResourceExhausted if the directory's disk has less than `bytes` free. `what` names their user
/// in the message: "a start".
Status checkRoom(const std::string& directory, std::uint64_t bytes, std::string_view what);

/// "nfs", "cifs", ... if `path` is on a file system of other machines, whose locks and syncs are
/// unreliable; "" for a local or unknown one.
std::string networkFileSystemOf(const std::string& path);
/// The name for a statfs() f_type, from linux/magic.h; "" for a local or unknown one.
std::string_view networkFileSystemName(std::int64_t magic);

}  // namespace millrace
