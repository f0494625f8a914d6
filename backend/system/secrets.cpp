#include "backend/system/secrets.h"

#include <algorithm>
#include <cerrno>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace millrace {

Status keepOutOfDumps() {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_CORE, &none) != 0) {
        return errnoStatus(errno, "setrlimit RLIMIT_CORE");
    }
#if !defined(__SANITIZE_ADDRESS__)  // its leak check inspects the process from a thread
    if (::prctl(PR_SET_DUMPABLE, 0) != 0) {
        return errnoStatus(errno, "prctl PR_SET_DUMPABLE");
    }
#endif
    return okStatus();
}

void wipe(void* bytes, std::size_t size) {
    ::explicit_bzero(bytes, size);
}

Secret::Secret() {
    void* page =
        ::mmap(nullptr, kMax + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    page_ = static_cast<char*>(page);
    // If a limit forbids either, the secret is kept without it.
    (void)::mlock(page_, kMax + 1);
    (void)::madvise(page_, kMax + 1, MADV_DONTDUMP);
}

Secret& Secret::operator=(Secret&& other) noexcept {
    std::swap(page_, other.page_);
    std::swap(size_, other.size_);
    return *this;
}

Secret::~Secret() {
    if (page_ != nullptr) {
        wipe(page_, kMax + 1);
        ::munmap(page_, kMax + 1);
    }
}

bool Secret::append(std::string_view bytes) {
    const std::size_t taken = page_ == nullptr ? 0 : std::min(bytes.size(), kMax - size_);
    std::copy_n(bytes.data(), taken, page_ + size_);
    size_ += taken;
    return taken == bytes.size();
}

void Secret::cutAt(char end) {
    const std::size_t at = view().find(end);
    if (at != std::string_view::npos) {
        wipe(page_ + at, size_ - at);
        size_ = at;
    }
}

}  // namespace millrace
