#pragma once
// Row groups of a Parquet table, encoded in any order by any thread, and the file that takes them
// in order. Private to table.
//
// Threads: as for TableEncoder and TableFile. Failure: kResourceExhausted for a full disk, else as
// in parquet_chunk.h, with the path.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <arrow/io/type_fwd.h>

#include "backend/core/status.h"
#include "backend/table/parquet_chunk.h"
#include "backend/table/table_writer.h"

namespace parquet {
class FileMetaDataBuilder;
class PageIndexBuilder;
class RowGroupMetaDataBuilder;
class SchemaDescriptor;
}  // namespace parquet

namespace millrace::table {

/// Encoding choices by leaf: `varied` has no dictionary; `packed` has integers as differences
/// (DELTA_BINARY_PACKED) or texts after their lengths (DELTA_LENGTH_BYTE_ARRAY); `dense` is not
/// compressed, as no codec makes it smaller.
struct LeafEncodings {
    std::set<int> varied, packed, dense;
};

class ParquetEncoder final : public TableEncoder {
 public:
    static Result<std::unique_ptr<TableEncoder>> make(std::shared_ptr<arrow::Schema> schema,
                                                      const WriterOptions& options);
    Status prepare(const std::vector<BatchPtr>& first) override;
    std::size_t numParts() const override { return firstLeaf_.size(); }
    Result<EncodedPart> encode(const std::vector<BatchPtr>& batches,
                               std::size_t column) const override;
    Result<std::unique_ptr<TableFile>> open(const std::string& path) const override;

    const arrow::Schema& schema() const { return *schema_; }
    const parquet::SchemaDescriptor& leaves() const { return *leaves_; }
    const std::shared_ptr<parquet::WriterProperties>& properties() const { return properties_; }

 private:
    ParquetEncoder(std::shared_ptr<arrow::Schema> schema, WriterOptions options)
        : schema_(std::move(schema)), options_(std::move(options)) {}
    Status findLeaves();
    /// The first rows of a row group, from which the encoding is chosen.
    struct Trial {
        std::vector<BatchPtr> batches;
        std::int64_t rows = 0, ofGroup = 0;
    };
    static Trial trialOf(const std::vector<BatchPtr>& group);
    /// Sizes of a column in a row group, extrapolated from its first rows.
    struct Sizes {
        std::int64_t before = 0, after = 0;  ///< compression
    };
    Status packVaried(const Trial& trial, std::vector<Sizes>& sizes, LeafEncodings& ways);
    Result<Sizes> sizeOf(const Trial& trial, int column) const;
    Result<std::vector<Sizes>> sizesOf(const Trial& trial) const;
    Result<std::vector<EncodedChunk>> encodeColumn(const std::vector<BatchPtr>& batches,
                                                   int column) const;

    const std::shared_ptr<arrow::Schema> schema_;
    const WriterOptions options_;
    std::shared_ptr<parquet::SchemaDescriptor> leaves_;
    std::vector<int> firstLeaf_;  ///< by column
    std::shared_ptr<parquet::WriterProperties> properties_;
};

class ParquetFile final : public TableFile {
 public:
    ParquetFile(std::string path, std::shared_ptr<arrow::io::FileOutputStream> file,
                const ParquetEncoder& encoder);
    ~ParquetFile() override;
    Status begin();
    Status append(const EncodedGroup& group) override;
    Status close() override;
    Result<std::int64_t> bytesWritten() const override;

 private:
    Status appendChunks(const EncodedGroup& group);
    Status appendChunk(const EncodedChunk& chunk, parquet::RowGroupMetaDataBuilder& rowGroup,
                       int leaf);
    Status finish();

    const std::string path_;
    const std::shared_ptr<arrow::io::FileOutputStream> file_;
    const ParquetEncoder& encoder_;
    std::unique_ptr<parquet::FileMetaDataBuilder> facts_;
    std::unique_ptr<parquet::PageIndexBuilder> index_;
    int groups_ = 0;
};

}  // namespace millrace::table
