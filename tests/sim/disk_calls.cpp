// The system calls that change files, as this program and its libraries call them. Calls for a
// simulated machine's folder go through its Disk, all others go straight to the kernel.
//
// Threads: any. Owns: the table of descriptors that are open on disks.
#include "tests/sim/disk_calls.h"

#include <cerrno>
#include <cstdarg>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/mutex.h"
#include "tests/sim/disk.h"

namespace millrace::sim {
namespace {

using Call = Disk::Call;

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// A descriptor on a disk.
struct Open {
    std::string path;
    std::shared_ptr<DiskFile> file;  ///< null: a folder, or one that is not kept
};

struct Table {
    Mutex mutex;
    std::map<int, Open> open MR_GUARDED_BY(mutex);
};

Table& table() {
    static Table* const one = new Table;
    return *one;
}

Open openOf(int fd) {
    MutexLock lock(table().mutex);
    const auto found = table().open.find(fd);
    return found == table().open.end() ? Open() : found->second;
}

void keep(int fd, Open open) {
    MutexLock lock(table().mutex);
    if (open.path.empty()) {
        table().open.erase(fd);
    } else {
        table().open[fd] = std::move(open);
    }
}

std::string pathAt(int directory, const char* name) {
    if (directory == AT_FDCWD || name[0] == '/') {
        return name;
    }
    const std::string folder = openOf(directory).path;
    return folder.empty() ? std::string(name) : folder + "/" + name;
}

bool isThere(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0;
}

/// Whether the call may be made; sets errno if not.
bool mayDo(Disk* disk, Call call, const std::string& path) {
    const int error = disk == nullptr ? 0 : disk->refusal(call, path);
    errno = error == 0 ? errno : error;
    return error == 0;
}

int openOn(const std::string& path, int flags, mode_t mode) {
    Disk* disk = Disk::of(path);
    const bool isNew = (flags & O_CREAT) != 0 && disk != nullptr && !isThere(path);
    if (!mayDo(disk, isNew ? Call::kGrow : Call::kOpen, path)) {
        return -1;
    }
    if (disk == nullptr) {
        const int fd = system::openFile(path.c_str(), flags, mode);
        keep(fd, {});
        return fd;
    }
    // Truncate the file only after its content was kept.
    const int fd = system::openFile(path.c_str(), flags & ~O_TRUNC, mode);
    if (fd < 0) {
        return fd;
    }
    Open open{path, nullptr};
    if (isNew) {
        disk->changed({Disk::Change::Kind::kMade, path, "", ""});
    }
    if ((flags & O_ACCMODE) != O_RDONLY) {
        open.file = disk->opened(path, isNew);
    }
    keep(fd, std::move(open));
    if ((flags & O_TRUNC) != 0) {
        (void)::ftruncate(fd, 0);
    }
    return fd;
}

/// Whether `count` bytes may be written at `at`, or at the descriptor's position if `at` is below
/// 0.
bool mayWrite(int fd, std::size_t count, std::int64_t at) {
    const Open open = openOf(fd);
    if (open.path.empty()) {
        return true;
    }
    struct stat info{};
    (void)::fstat(fd, &info);
    const bool isAppending = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    if (at < 0) {
        at = isAppending ? info.st_size : ::lseek(fd, 0, SEEK_CUR);
    }
    const auto bytes = static_cast<std::int64_t>(count);
    const Call call = at + bytes > info.st_size ? Call::kGrow : Call::kChange;
    if (!mayDo(Disk::of(open.path), call, open.path)) {
        return false;
    }
    if (open.file != nullptr) {
        open.file->changes(at, bytes);
    }
    return true;
}

int syncOn(int fd, const char* how) {
    const Open open = openOf(fd);
    Disk* disk = open.path.empty() ? nullptr : Disk::of(open.path);
    if (!mayDo(disk, Call::kSync, open.path)) {
        return -1;
    }
    if (disk == nullptr) {
        return next<int(int)>(how)(fd);
    }
    struct stat info{};
    if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        disk->syncedNames();
    } else if (open.file != nullptr) {
        open.file->synced();
    }
    return 0;
}

/// Makes a change of names with `act`; `change` describes how to undo it.
template <class Function>
int changeOn(Disk& disk, Call call, Disk::Change change, const Function& act) {
    if (!mayDo(&disk, call, change.path)) {
        return -1;
    }
    if (const std::string& replaced = change.path; change.kind != Disk::Change::Kind::kMade) {
        change.grave = disk.bury(replaced);
    }
    const int result = act();
    if (result == 0) {
        disk.changed(std::move(change));
    } else {
        const int error = errno;
        system::remove(change.grave.c_str());
        errno = error;
    }
    return result;
}

int truncateOn(int fd, std::int64_t bytes) {
    const Open open = openOf(fd);
    if (!open.path.empty() && !mayDo(Disk::of(open.path), Call::kChange, open.path)) {
        return -1;
    }
    if (open.file != nullptr) {
        open.file->changes(bytes, open.file->bytes() - bytes);
    }
    return system::truncate(fd, bytes);
}

mode_t modeOf(int flags, std::va_list arguments) {
    return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

namespace system {

int openFile(const char* path, int flags, mode_t mode) {
    static auto* const real = next<int(const char*, int, ...)>("open");
    return real(path, flags, mode);
}

int closeFile(int fd) {
    static auto* const real = next<int(int)>("close");
    return real(fd);
}

ssize_t writeAt(int fd, const void* bytes, std::size_t count, std::int64_t at) {
    static auto* const real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
    return real(fd, bytes, count, at);
}

int truncate(int fd, std::int64_t bytes) {
    static auto* const real = next<int(int, off_t)>("ftruncate");
    return real(fd, bytes);
}

int rename(const char* from, const char* to) {
    static auto* const real = next<int(const char*, const char*)>("rename");
    return real(from, to);
}

int remove(const char* path) {
    static auto* const real = next<int(const char*)>("unlink");
    return real(path);
}

int removeDirectory(const char* path) {
    static auto* const real = next<int(const char*)>("rmdir");
    return real(path);
}

int makeDirectory(const char* path, mode_t mode) {
    static auto* const real = next<int(const char*, mode_t)>("mkdir");
    return real(path, mode);
}

}  // namespace system
}  // namespace millrace::sim

namespace sim = millrace::sim;

extern "C" {

int open(const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = sim::modeOf(flags, arguments);
    va_end(arguments);
    return sim::openOn(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = sim::modeOf(flags, arguments);
    va_end(arguments);
    return sim::openOn(path, flags, mode);
}

int openat(int directory, const char* name, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = sim::modeOf(flags, arguments);
    va_end(arguments);
    const std::string path = sim::pathAt(directory, name);
    if (sim::Disk::of(path) != nullptr) {
        return sim::openOn(path, flags, mode);
    }
    static auto* const real = sim::next<int(int, const char*, int, ...)>("openat");
    const int fd = real(directory, name, flags, mode);
    sim::keep(fd, {});
    return fd;
}

int close(int fd) {
    const sim::Open open = sim::openOf(fd);
    sim::keep(fd, {});
    if (open.file != nullptr) {
        if (sim::Disk* disk = sim::Disk::of(open.path)) {
            disk->closed(open.file);
        }
    }
    return sim::system::closeFile(fd);
}

ssize_t write(int fd, const void* bytes, std::size_t count) {
    static auto* const real = sim::next<ssize_t(int, const void*, std::size_t)>("write");
    return sim::mayWrite(fd, count, -1) ? real(fd, bytes, count) : -1;
}

ssize_t pwrite(int fd, const void* bytes, std::size_t count, off_t at) {
    return sim::mayWrite(fd, count, at) ? sim::system::writeAt(fd, bytes, count, at) : -1;
}

ssize_t pwrite64(int fd, const void* bytes, std::size_t count, off64_t at) {
    return pwrite(fd, bytes, count, at);
}

int fsync(int fd) {
    return sim::syncOn(fd, "fsync");
}

int fdatasync(int fd) {
    return sim::syncOn(fd, "fdatasync");
}

int ftruncate(int fd, off_t bytes) noexcept {
    return sim::truncateOn(fd, bytes);
}

int ftruncate64(int fd, off64_t bytes) noexcept {
    return sim::truncateOn(fd, bytes);
}

int renameat(int fromDirectory, const char* from, int toDirectory, const char* to) noexcept {
    const std::string source = sim::pathAt(fromDirectory, from);
    const std::string target = sim::pathAt(toDirectory, to);
    sim::Disk* disk = sim::Disk::of(source);
    if (disk == nullptr) {
        static auto* const real = sim::next<int(int, const char*, int, const char*)>("renameat");
        return real(fromDirectory, from, toDirectory, to);
    }
    return sim::changeOn(*disk, sim::Call::kChange,
                         {sim::Disk::Change::Kind::kMoved, target, source, ""},
                         [&] { return sim::system::rename(source.c_str(), target.c_str()); });
}

int rename(const char* from, const char* to) noexcept {
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
    const std::string path = sim::pathAt(directory, name);
    sim::Disk* disk = sim::Disk::of(path);
    if (disk == nullptr) {
        static auto* const real = sim::next<int(int, const char*, int)>("unlinkat");
        return real(directory, name, flags);
    }
    const bool isDirectory = (flags & AT_REMOVEDIR) != 0;
    using Kind = sim::Disk::Change::Kind;
    return sim::changeOn(*disk, sim::Call::kChange,
                         {isDirectory ? Kind::kRemovedDirectory : Kind::kRemoved, path, "", ""},
                         [&] {
                             return isDirectory ? sim::system::removeDirectory(path.c_str())
                                                : sim::system::remove(path.c_str());
                         });
}

int unlink(const char* path) noexcept {
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char* path) noexcept {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdir(const char* path, mode_t mode) noexcept {
    sim::Disk* disk = sim::Disk::of(path);
    if (disk == nullptr || sim::isThere(path)) {
        return sim::system::makeDirectory(path, mode);
    }
    return sim::changeOn(*disk, sim::Call::kGrow,
                         {sim::Disk::Change::Kind::kMadeDirectory, path, "", ""},
                         [&] { return sim::system::makeDirectory(path, mode); });
}

}  // extern "C"
