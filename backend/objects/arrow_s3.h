#pragma once
// Arrow's process-wide S3 state, which is there before anything of its S3 filesystem is made.
//
// Threads: any. Owns: the state, from the first call to the end of the process, where whoever made
// the first filesystem ends it (s3_files.cpp).
#include "backend/core/status.h"

namespace arrow {
class Status;
}

namespace millrace::objects {

/// Once a process; later calls say how the first one went.
Status startArrowS3();

Status fromArrowS3(const arrow::Status& status);

}  // namespace millrace::objects
