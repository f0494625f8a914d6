#pragma once
// Parsed Parquet footers, shared by all readers of a dataset: a wide table's footer costs more to
// parse than a column to decode. The most recent ones are kept, and of wide files only what they
// say of the columns that are read (footer_cut.h).
//
// Threads: any. Failure: as FileSource; kDataLoss "PATH: corrupt Parquet footer: ...".
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/files/file_list.h"
#include "backend/files/file_source.h"
#include "backend/pages/footer_cut.h"
#include "backend/pages/parquet_columns.h"

namespace parquet {
class ColumnChunkMetaData;
class FileMetaData;
}  // namespace parquet

namespace millrace::pages {

struct ByteRange {
    std::int64_t offset = 0, bytes = 0;
    std::int64_t end() const { return offset + bytes; }
};

struct ParquetFooter {
    std::shared_ptr<parquet::FileMetaData> metadata;
    std::shared_ptr<const std::unordered_map<std::string, ColumnLeaves>> columns;
    std::shared_ptr<const ColumnNames> kept;  ///< null: the footer is whole

    /// Whether it says all that the file does of these columns.
    bool covers(const std::vector<std::string>& names) const;
};

/// What libparquet says of a footer: "PATH: corrupt Parquet footer: ...", or that it is encrypted.
Status footerError(const std::string& path, const std::exception& error);

/// A Parquet file's footer with its length and magic: what its hash is of.
Result<std::string> readParquetFooter(const files::DataFile& file, const files::FileSource& source);

class ParquetFooters {
 public:
    static constexpr std::size_t kKept = 64;

    /// What readers will ask for, beside what is expected already.
    void expect(const std::vector<std::string>& columns);

    /// One that covers `columns`. `contentHash`: the planned footer's; another one is
    /// kFailedPrecondition.
    Result<ParquetFooter> get(const files::DataFile& file, const files::FileSource& source,
                              const std::string& contentHash,
                              const std::vector<std::string>& columns);
    /// All of it; from then on of all files, as they are mostly alike.
    Result<ParquetFooter> whole(const files::DataFile& file, const files::FileSource& source,
                                const std::string& contentHash);

 private:
    struct Entry {
        std::string path;
        ParquetFooter footer;
    };
    /// `columns`: null for a whole one.
    const ParquetFooter* knownLocked(const std::string& path,
                                     const std::vector<std::string>* columns) MR_REQUIRES(mutex_);
    std::list<Entry> keepLocked(const std::string& path, const ParquetFooter& footer)
        MR_REQUIRES(mutex_);
    Result<ParquetFooter> read(const files::DataFile& file, const files::FileSource& source,
                               const std::string& contentHash,
                               const std::shared_ptr<const ColumnNames>& kept);

    Mutex mutex_;
    std::shared_ptr<const ColumnNames> expected_
        MR_GUARDED_BY(mutex_);                       ///< null: footers are whole
    std::list<Entry> recent_ MR_GUARDED_BY(mutex_);  ///< newest first
};

/// Where a column chunk lies: its dictionary page, when it has one, and its data pages.
ByteRange rangeOf(const parquet::ColumnChunkMetaData& chunk);

/// Where the column chunks of these columns lie, in file order, and what the page index says of
/// them when it is asked for. Names that the file lacks are left out.
std::vector<ByteRange> columnRanges(const parquet::FileMetaData& footer, int rowGroup,
                                    const std::vector<std::string>& columns,
                                    bool hasIndexes = false);

}  // namespace millrace::pages
