#pragma once
// Leaves this process no free descriptor, or only a few.
#include <sys/resource.h>
#include <unistd.h>

namespace millrace::tests {

/// While it lives, this process can open only `left` more descriptors.
class NoDescriptors {
 public:
    explicit NoDescriptors(int left = 0) {
        const int next = ::dup(0);
        ::close(next);
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit limit = before_;
        limit.rlim_cur = static_cast<rlim_t>(next + left);
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
    rlimit before_{};
};

}  // namespace millrace::tests
