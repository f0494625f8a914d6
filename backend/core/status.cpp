#include "backend/core/status.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace millrace {

Status errnoStatus(int error, std::string_view place) {
    const std::string message = strCat(place, ": ", std::strerror(error));
    switch (error) {
        case ENOENT:
            return notFound(message);
        case EEXIST:
            return alreadyExists(message);
        case EACCES:
        case EPERM:
            return permissionDenied(message);
        case ENOSPC:
        case EDQUOT:
        case ENOMEM:
        case EMFILE:
        case ENFILE:
        case EFBIG:
            return resourceExhausted(message);
        case ECONNREFUSED:
        case ECONNRESET:
        case EPIPE:
            return unavailable(message);
        default:
            return internalError(message);
    }
}

Status annotate(const Status& status, std::string_view place) {
    if (status.ok()) {
        return status;
    }
    return Status(status.code(), strCat(place, ": ", messageOf(status)));
}

namespace internal {
void invariantFailed(const char* file, int line, const char* condition, const char* why) {
    std::fprintf(stderr, "%s:%d: invariant broken: %s (%s)\n", file, line, condition, why);
    std::abort();
}
}  // namespace internal
}  // namespace millrace
