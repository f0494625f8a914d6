#include "backend/core/status.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <absl/strings/cord.h>

#include "backend/core/transient.h"

namespace millrace {
namespace {

// Payload key that marks a status as transient.
constexpr char kTransientUrl[] = "millrace/transient";

}  // namespace

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
        case EFBIG:
            return resourceExhausted(message);
        case EMFILE:
        case ENFILE:
            return transient(resourceExhausted(message));
        case EIO:
        case ESTALE:  // a failing disk or a stale mount may recover
            return transient(internalError(message));
        case ECONNREFUSED:
        case ECONNRESET:
        case EPIPE:
            return unavailable(message);
        default:
            return internalError(message);
    }
}

bool isTransient(const Status& status) {
    return absl::IsUnavailable(status) || status.GetPayload(kTransientUrl).has_value();
}

bool mayPass(const Status& status) {
    return isTransient(status) || absl::IsResourceExhausted(status);
}

Status transient(Status status) {
    status.SetPayload(kTransientUrl, absl::Cord());
    return status;
}

Status annotate(const Status& status, std::string_view place) {
    if (status.ok()) {
        return status;
    }
    const Status annotated(status.code(), strCat(place, ": ", messageOf(status)));
    return status.GetPayload(kTransientUrl) ? transient(annotated) : annotated;
}

namespace internal {
void invariantFailed(const char* file, int line, const char* condition, const char* why) {
    std::fprintf(stderr, "%s:%d: invariant broken: %s (%s)\n", file, line, condition, why);
    std::abort();
}
}  // namespace internal
}  // namespace millrace
