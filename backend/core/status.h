#pragma once
// Errors as values: Status and Result<T>, and the two macros that propagate them.
//
// Message: lower case, the place first, then what would be right. Codes are absl's canonical ones.
// Used on purpose: kInvalidArgument (the user's input), kNotFound, kAlreadyExists,
// kFailedPrecondition (right request, wrong state), kResourceExhausted (memory, disk, full),
// kUnavailable (a peer is away; try again), kDataLoss (corrupt bytes), kCancelled, kInternal.
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

namespace millrace {

using Status = absl::Status;
template <class T>
using Result = absl::StatusOr<T>;

namespace internal {
template <class T>
decltype(auto) piece(const T& value) {
    if constexpr (std::is_same_v<T, std::string_view>) {
        return absl::string_view(value.data(), value.size());
    } else {
        return (value);
    }
}
}  // namespace internal

/// Concatenates text and numbers. (Debian's absl::string_view is not std::string_view: use this
/// one.)
template <class... Parts>
std::string strCat(const Parts&... parts) {
    return absl::StrCat(internal::piece(parts)...);
}
template <class... Parts>
void strAppend(std::string* text, const Parts&... parts) {
    absl::StrAppend(text, internal::piece(parts)...);
}

/// A status's message.
inline std::string_view messageOf(const Status& status) {
    return {status.message().data(), status.message().size()};
}

/// Errors by code; the message is concatenated as in strCat.
template <class... P>
Status invalidArgument(const P&... parts) {
    return absl::InvalidArgumentError(strCat(parts...));
}
template <class... P>
Status notFound(const P&... parts) {
    return absl::NotFoundError(strCat(parts...));
}
template <class... P>
Status alreadyExists(const P&... parts) {
    return absl::AlreadyExistsError(strCat(parts...));
}
template <class... P>
Status failedPrecondition(const P&... parts) {
    return absl::FailedPreconditionError(strCat(parts...));
}
template <class... P>
Status resourceExhausted(const P&... parts) {
    return absl::ResourceExhaustedError(strCat(parts...));
}
template <class... P>
Status unavailable(const P&... parts) {
    return absl::UnavailableError(strCat(parts...));
}
template <class... P>
Status dataLoss(const P&... parts) {
    return absl::DataLossError(strCat(parts...));
}
template <class... P>
Status permissionDenied(const P&... parts) {
    return absl::PermissionDeniedError(strCat(parts...));
}
template <class... P>
Status deadlineExceeded(const P&... parts) {
    return absl::DeadlineExceededError(strCat(parts...));
}
template <class... P>
Status cancelled(const P&... parts) {
    return absl::CancelledError(strCat(parts...));
}
template <class... P>
Status internalError(const P&... parts) {
    return absl::InternalError(strCat(parts...));
}
inline Status okStatus() {
    return absl::OkStatus();
}

/// A Status from errno: "PLACE: strerror". The code depends on the errno, e.g. kNotFound for
/// ENOENT.
Status errnoStatus(int error, std::string_view place);

/// The same status with "PLACE: " before its message; OK stays OK.
Status annotate(const Status& status, std::string_view place);

namespace internal {
[[noreturn]] void invariantFailed(const char* file, int line, const char* condition,
                                  const char* why);
inline Status toStatus(Status s) {
    return s;
}
template <class T>
Status toStatus(const Result<T>& r) {
    return r.status();
}
}  // namespace internal
}  // namespace millrace

#define MILLRACE_CONCAT_INNER(a, b) a##b
#define MILLRACE_CONCAT(a, b) MILLRACE_CONCAT_INNER(a, b)

/// Returns from the enclosing function when EXPR (a Status) is not OK.
#define RETURN_IF_ERROR(expr)                                     \
    do {                                                          \
        if (::millrace::Status _status = (expr); !_status.ok()) { \
            return _status;                                       \
        }                                                         \
    } while (false)

/// ASSIGN_OR_RETURN(auto x, makeX()): x is the value, or the enclosing function returns the error.
#define ASSIGN_OR_RETURN(lhs, expr) \
    MILLRACE_ASSIGN_OR_RETURN_INNER(MILLRACE_CONCAT(_result_, __LINE__), lhs, expr)
#define MILLRACE_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
    auto result = (expr);                                  \
    if (!result.ok()) {                                    \
        return std::move(result).status();                 \
    }                                                      \
    lhs = std::move(result).value()

/// For programmer errors only, never reachable from input. Always on.
#define INVARIANT(condition, why)                                                       \
    do {                                                                                \
        if (!(condition)) {                                                             \
            ::millrace::internal::invariantFailed(__FILE__, __LINE__, #condition, why); \
        }                                                                               \
    } while (false)
