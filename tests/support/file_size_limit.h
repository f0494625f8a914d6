#pragma once
// FileSizeLimit: while it lives, no file can grow beyond a size, which looks like a full disk to a
// writer.
#include <csignal>

#include <sys/resource.h>

namespace millrace::tests {

class FileSizeLimit {
 public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        oldHandler_ = ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, oldHandler_);
    }

 private:
    rlimit before_{};
    void (*oldHandler_)(int);
};

}  // namespace millrace::tests
