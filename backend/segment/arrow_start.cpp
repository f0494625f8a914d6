#include "backend/segment/arrow_start.h"

#include <arrow/compute/initialize.h>
#include <arrow/config.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/function_kernels.h"

namespace millrace::segment {

Status initializeKernels() {
    RETURN_IF_ERROR(arrays::fromArrow(arrow::compute::Initialize(), "arrow's kernels"));
    return eval::checkFunctionKernels();
}

std::string arrowVersion() {
    return arrow::GetBuildInfo().version_string;
}

}  // namespace millrace::segment
