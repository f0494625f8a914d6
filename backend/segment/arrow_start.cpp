#include "backend/segment/arrow_start.h"

#include <arrow/compute/initialize.h>
#include <arrow/config.h>

namespace millrace::segment {

Status initializeArrow() {
    const arrow::Status ready = arrow::compute::Initialize();
    return ready.ok() ? okStatus() : internalError("arrow: ", ready.ToString());
}

std::string arrowVersion() {
    return arrow::GetBuildInfo().version_string;
}

}  // namespace millrace::segment
