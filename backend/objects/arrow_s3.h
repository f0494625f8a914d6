#pragma once
// Arrow's process-wide S3 state; it must be started before anything of Arrow's S3 filesystem is
// made.
//
// Threads: any. Owns: the state, from the first call to the end of the process, when the code that
// made the first filesystem ends it (s3_files.cpp).
#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::objects {

/// Starts it once per process; later calls return the first result.
Status startArrowS3();

Status fromArrowS3(const arrow::Status& status);

}  // namespace millrace::objects
