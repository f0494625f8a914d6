#pragma once
// DocumentPages: documents of possibly many megabytes, whole or by pages.
//
// Threads: any. Failure: as of RunStore.
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

class StoreFile;

class DocumentPages {
 public:
    explicit DocumentPages(StoreFile& file) : file_(file) {}

    /// "" if the run has none, or none any more.
    Result<std::string> document(std::string_view id, values::LargeDocument which) const;
    /// At most `bytesMax` bytes of it, starting at `offset`; empty behind its end.
    Result<DocumentPage> documentPage(std::string_view id, values::LargeDocument which,
                                      std::int64_t offset, std::int64_t bytesMax) const;

 private:
    StoreFile& file_;
};

}  // namespace millrace::runs
