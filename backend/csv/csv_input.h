#pragma once
// The text of a CSV file: plain, or decompressed from gzip or zstd, detected by the first bytes.
//
// Offsets count the text. Compressed text is read forwards; for an offset before that, a gzip file
// is begun again at the nearest point that was kept (gzip_text.h), a zstd file at its start, so
// that pieces of it out of order cost a pass each. Threads: one at a time. Failure: as FileSource;
// kDataLoss for a damaged or truncated compressed file, kInvalidArgument for a file that
// packed_content.h knows.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/csv/gzip_text.h"
#include "backend/files/file_source.h"

namespace arrow {
class MemoryPool;
namespace io {
class InputStream;
}
namespace util {
class Codec;
}
}  // namespace arrow

namespace millrace::csv {

class CsvInput {
 public:
    /// `points`: of a dataset whose files are read out of order; null: always restarts at the
    /// beginning.
    static Result<CsvInput> open(const std::string& path, files::FileSource file,
                                 arrow::MemoryPool* pool,
                                 std::shared_ptr<GzipPoints> points = nullptr);

    /// Reads up to `bytes` bytes of text at `offset`; fewer only at the end.
    Result<std::int64_t> readSome(std::int64_t offset, std::int64_t bytes, void* out);
    bool isCompressed() const { return gzip_ != nullptr || codec_ != nullptr; }

 private:
    explicit CsvInput(files::FileSource file) : file_(std::move(file)) {}
    Status restart();

    std::string path_;
    files::FileSource file_;
    arrow::MemoryPool* pool_ = nullptr;
    std::unique_ptr<GzipText> gzip_;             ///< null: not a gzip file
    std::shared_ptr<arrow::util::Codec> codec_;  ///< null: not a zstd file
    std::shared_ptr<arrow::io::InputStream> stream_;
    std::int64_t at_ = 0;  ///< position in stream_
};

}  // namespace millrace::csv
