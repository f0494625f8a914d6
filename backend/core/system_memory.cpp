#include "backend/core/system_memory.h"

#include <algorithm>

#include <sys/mman.h>

namespace millrace {

SystemMemory::~SystemMemory() {
    if (data_ != nullptr) {
        ::munmap(data_, size_);
    }
}

Result<SystemMemory> SystemMemory::make(std::size_t bytes, std::string_view place) {
    SystemMemory memory;
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* const mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return resourceExhausted(place, ": no memory for ", bytes, " bytes");
    }
    memory.data_ = static_cast<std::byte*>(mapped);
    memory.size_ = size;
    memory.wantHugePages();
    return memory;
}

Status SystemMemory::grow(std::size_t bytes, std::string_view place) {
    void* const moved = ::mremap(data_, size_, bytes, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) {
        return resourceExhausted(place, ": no memory for ", bytes, " bytes");
    }
    data_ = static_cast<std::byte*>(moved);
    size_ = bytes;
    wantHugePages();
    return okStatus();
}

void SystemMemory::wantHugePages() const {
    ::madvise(data_, size_, MADV_HUGEPAGE);
}

}  // namespace millrace
