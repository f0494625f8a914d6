#pragma once
// The kernel's own calls for files, which bypass the simulator's (disk_calls.cpp); only for Disk.
//
// Threads: any. Failure: as the system's, by errno.
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace millrace::sim::system {

int openFile(const char* path, int flags, mode_t mode);
int closeFile(int fd);
ssize_t writeAt(int fd, const void* bytes, std::size_t count, std::int64_t at);
int truncate(int fd, std::int64_t bytes);
int rename(const char* from, const char* to);
int remove(const char* path);
int removeDirectory(const char* path);
int makeDirectory(const char* path, mode_t mode);

}  // namespace millrace::sim::system
