#include "backend/core/exit_codes.h"

#include <cstdio>
#include <exception>
#include <new>
#include <utility>

namespace millrace {

int workerExitOf(const Status& status) {
    switch (status.code()) {
        case absl::StatusCode::kOk:
            return kExitDone;
        case absl::StatusCode::kCancelled:
            return kExitStopped;
        case absl::StatusCode::kInvalidArgument:
        case absl::StatusCode::kNotFound:
        case absl::StatusCode::kAlreadyExists:
        case absl::StatusCode::kDataLoss:
        case absl::StatusCode::kFailedPrecondition:
        case absl::StatusCode::kPermissionDenied:
        case absl::StatusCode::kOutOfRange:
            return kExitInput;
        case absl::StatusCode::kResourceExhausted:
            return kExitResources;
        default:
            return kExitOther;
    }
}

std::string_view meaningOf(int code) {
    constexpr std::pair<int, std::string_view> kMeanings[] = {
        {kExitDone, "done"},
        {kExitUsage, "usage"},
        {kExitStopped, "told to end"},
        {kExitInput, "input or data error"},
        {kExitOther, "other"},
        {kExitResources, "memory, disk or a limit too small"},
        {kExitShim, "the shim's own trouble"}};
    for (const auto& [known, meaning] : kMeanings) {
        if (known == code) {
            return meaning;
        }
    }
    return "";
}

int endInWords(std::string_view program, const std::function<int()>& body) {
    const int length = static_cast<int>(program.size());
    try {
        return body();
    } catch (const std::bad_alloc&) {
        // A fixed message: building one would need memory.
        std::fprintf(stderr, "%.*s: out of memory (std::bad_alloc)\n", length, program.data());
        return kExitResources;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%.*s: %s\n", length, program.data(), e.what());
        return kExitOther;
    }
}

}  // namespace millrace
