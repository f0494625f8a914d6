#include "backend/system/secret.h"

#include <cstring>

#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace millrace {
namespace {

constexpr std::size_t kPageBytes = 4'096;

}  // namespace

Secret::Secret() {
    void* page =
        ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    page_ = static_cast<char*>(page);
    // Where a limit forbids either, the secret is kept without it.
    (void)::mlock(page_, kPageBytes);
    (void)::madvise(page_, kPageBytes, MADV_DONTDUMP);
}

Secret::Secret(std::string_view text) : Secret() {
    for (const char byte : text) {
        append(byte);
    }
}

Secret& Secret::operator=(Secret&& other) noexcept {
    std::swap(page_, other.page_);
    std::swap(size_, other.size_);
    return *this;
}

Secret::~Secret() {
    if (page_ != nullptr) {
        clear();
        ::munmap(page_, kPageBytes);
    }
}

bool Secret::append(char byte) {
    if (page_ == nullptr || size_ == kMostBytes) {
        return false;
    }
    page_[size_++] = byte;
    return true;
}

void Secret::removeLast() {
    if (size_ > 0) {
        page_[--size_] = '\0';
    }
}

void Secret::clear() {
    if (page_ != nullptr) {
        ::explicit_bzero(page_, kPageBytes);
    }
    size_ = 0;
}

void forbidCoreDumps() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace millrace
