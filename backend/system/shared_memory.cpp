#include "backend/system/shared_memory.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

SharedMemory::~SharedMemory() {
    if (!bytes_.empty()) {
        ::munmap(bytes_.data(), bytes_.size());
    }
}

Status SharedMemory::map(std::uint64_t bytes, int protection) {
    void* memory = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) {
        return errnoStatus(errno, "shared memory: map");
    }
    bytes_ = {static_cast<std::byte*>(memory), bytes};
    return okStatus();
}

Result<SharedMemory> SharedMemory::make(const char* name, std::uint64_t bytes) {
    SharedMemory memory;
    memory.fd_.reset(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.fd_.isOpen() || ::ftruncate(memory.fd(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(memory.fd(), F_ADD_SEALS, kSeals) != 0) {
        return errnoStatus(errno, "shared memory");
    }
    RETURN_IF_ERROR(memory.map(bytes, PROT_READ | PROT_WRITE));
    return memory;
}

Result<SharedMemory> SharedMemory::open(UniqueFd fd, std::uint64_t bytes) {
    SharedMemory memory;
    memory.fd_ = std::move(fd);
    struct stat file{};
    const int seals = ::fcntl(memory.fd(), F_GET_SEALS);
    if (bytes == 0 || seals < 0 || (seals & kSeals) != kSeals || ::fstat(memory.fd(), &file) != 0 ||
        static_cast<std::uint64_t>(file.st_size) != bytes) {
        return invalidArgument("shared memory: the descriptor that came is not sealed memory of ",
                               bytes, " bytes");
    }
    RETURN_IF_ERROR(memory.map(bytes, PROT_READ));
    return memory;
}

void SharedMemory::giveBack() const {
    ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(bytes_.size()));
}

}  // namespace millrace
