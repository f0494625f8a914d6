#pragma once
// A pipe whose ends are not inherited by started programs.
//
// Threads: any. Failure: errnoStatus.
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

inline Status makePipe(UniqueFd& readEnd, UniqueFd& writeEnd) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return errnoStatus(errno, "pipe");
    }
    readEnd.reset(ends[0]);
    writeEnd.reset(ends[1]);
    return okStatus();
}

}  // namespace millrace
