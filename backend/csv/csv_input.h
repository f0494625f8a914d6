#pragma once
// The text of a CSV file: as it lies there, or out of a gzip or zstd file, told by its first bytes.
//
// Offsets count the text. Compressed text is read forwards; for an offset before that, a gzip file
// is begun again at the nearest point that was kept (gzip_text.h), a zstd file at its start, so
// that pieces of it out of order cost a pass each. Threads: one at a time. Failure: as FileSource;
// kDataLoss for a damaged or truncated compressed file, kInvalidArgument for a ZIP archive.
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
    /// `points`: of a dataset whose files are read out of order; null: from their start on.
    static Result<CsvInput> open(const std::string& path, files::FileSource file,
                                 arrow::MemoryPool* pool,
                                 std::shared_ptr<GzipPoints> points = nullptr);

    /// Up to `bytes` bytes of text at `offset`; less only at the end.
    Result<std::int64_t> readSome(std::int64_t offset, std::int64_t bytes, void* out);
    bool isCompressed() const { return gzip_ != nullptr || codec_ != nullptr; }

 private:
    explicit CsvInput(files::FileSource file) : file_(std::move(file)) {}
    Status restart();

    std::string path_;
    files::FileSource file_;
    arrow::MemoryPool* pool_ = nullptr;
    std::unique_ptr<GzipText> gzip_;             ///< null: no gzip file
    std::shared_ptr<arrow::util::Codec> codec_;  ///< null: no zstd file
    std::shared_ptr<arrow::io::InputStream> stream_;
    std::int64_t at_ = 0;  ///< of stream_
};

}  // namespace millrace::csv
