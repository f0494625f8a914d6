#pragma once
// Cache of parsed Parquet footers, shared by all readers of a dataset: parsing a wide table's
// footer costs more than decoding a column. Keeps the most recent ones, and for wide files only the
// metadata of columns that are read (footer_cut.h).
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

    /// Whether it has everything about these columns.
    bool covers(const std::vector<std::string>& names) const;
};

/// The error for a footer that libparquet rejects: "PATH: corrupt Parquet footer: ...", or that it
/// is encrypted.
Status footerError(const std::string& path, const std::exception& error);

/// A Parquet file's footer with its length and magic: the bytes that its hash covers.
Result<std::string> readParquetFooter(const files::DataFile& file, const files::FileSource& source);

class ParquetFooters {
 public:
    static constexpr std::size_t kKept = 64;

    /// Announces columns that readers will request, in addition to earlier ones.
    void expect(const std::vector<std::string>& columns);

    /// Returns a footer that covers `columns`. `contentHash`: the planned footer's; a different
    /// footer is kFailedPrecondition.
    Result<ParquetFooter> get(const files::DataFile& file, const files::FileSource& source,
                              const std::string& contentHash,
                              const std::vector<std::string>& columns);
    /// Returns the whole footer; from then on all files' footers are read whole, as files are
    /// mostly alike.
    Result<ParquetFooter> whole(const files::DataFile& file, const files::FileSource& source,
                                const std::string& contentHash);

 private:
    struct Entry {
        std::string path;
        ParquetFooter footer;
    };
    /// `columns`: null for a whole footer.
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

/// Range of a column chunk: its dictionary page, if it has one, and its data pages.
ByteRange rangeOf(const parquet::ColumnChunkMetaData& chunk);

/// Ranges of these columns' chunks in file order, and of their page index with `hasIndexes`. Names
/// that the file lacks are left out.
std::vector<ByteRange> columnRanges(const parquet::FileMetaData& footer, int rowGroup,
                                    const std::vector<std::string>& columns,
                                    bool hasIndexes = false);

}  // namespace millrace::pages
