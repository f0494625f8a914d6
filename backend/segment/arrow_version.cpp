#include "backend/segment/arrow_version.h"

#include <arrow/config.h>

namespace millrace::segment {

std::string arrowVersion() {
    return arrow::GetBuildInfo().version_string;
}

}  // namespace millrace::segment
