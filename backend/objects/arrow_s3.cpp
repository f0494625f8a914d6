#include "backend/objects/arrow_s3.h"

#include <arrow/filesystem/s3fs.h>

namespace millrace::objects {

Status fromArrowS3(const arrow::Status& status) {
    return status.ok() ? okStatus() : internalError("s3: ", status.message());
}

Status startArrowS3() {
    static const Status started = [] {
        auto global = arrow::fs::S3GlobalOptions::Defaults();
        global.log_level = arrow::fs::S3LogLevel::Off;
        return fromArrowS3(arrow::fs::InitializeS3(global));
    }();
    return started;
}

}  // namespace millrace::objects
