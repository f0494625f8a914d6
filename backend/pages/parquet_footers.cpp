#include "backend/pages/parquet_footers.h"

#include <algorithm>
#include <exception>
#include <set>

#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>

#include "backend/core/hash.h"
#include "backend/files/file_identity.h"
#include "backend/files/footer_bytes.h"
#include "backend/pages/parquet_columns.h"

namespace millrace::pages {
namespace {

constexpr std::int64_t kChunksKept = 100'000;  // column chunks take about 1 kB each

}  // namespace

Status footerError(const std::string& path, const std::exception& error) {
    std::string_view what = error.what();
    what = what.substr(0, what.find('\n'));
    return what.find("ecrypt") != std::string_view::npos
               ? invalidArgument(path, ": encrypted Parquet files cannot be read")
               : dataLoss(path, ": corrupt Parquet footer: ", what);
}

Result<std::string> readParquetFooter(const files::DataFile& file,
                                      const files::FileSource& source) {
    return files::readFooter(file, source, "a Parquet", "PAR1");
}

Result<ParquetFooter> ParquetFooters::get(const files::DataFile& file,
                                          const files::FileSource& source,
                                          const std::string& contentHash) {
    {
        MutexLock lock(mutex_);
        for (auto it = recent_.begin(); it != recent_.end(); ++it) {
            if (it->path == file.path) {
                recent_.splice(recent_.begin(), recent_, it);
                return recent_.front().footer;
            }
        }
    }
    ASSIGN_OR_RETURN(const std::string bytes, readParquetFooter(file, source));
    RETURN_IF_ERROR(files::verifyHash(file, hashHex(bytes), contentHash));
    ParquetFooter footer;
    try {
        footer.metadata =
            parquet::FileMetaData::Make(bytes.data(), static_cast<std::int64_t>(bytes.size() - 8));
        const auto columns = columnsOf(*footer.metadata->schema());
        footer.columns = std::make_shared<const std::unordered_map<std::string, ColumnLeaves>>(
            columns.begin(), columns.end());
    } catch (const std::exception& e) {
        return footerError(file.path, e);
    }
    MutexLock lock(mutex_);
    recent_.push_front({file.path, footer});
    std::int64_t chunks = 0;
    auto end = recent_.begin();
    for (std::size_t i = 0; end != recent_.end() && (i == 0 || i < kKept); ++i, ++end) {
        chunks += std::int64_t{end->footer.metadata->num_columns()} *
                  end->footer.metadata->num_row_groups();
        if (i > 0 && chunks > kChunksKept) {
            break;
        }
    }
    recent_.erase(end, recent_.end());
    return footer;
}

ByteRange rangeOf(const parquet::ColumnChunkMetaData& chunk) {
    std::int64_t begin = chunk.data_page_offset();
    if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0) {
        begin = std::min(begin, chunk.dictionary_page_offset());
    }
    return {begin, chunk.total_compressed_size()};
}

std::vector<ByteRange> columnRanges(const parquet::FileMetaData& footer, int rowGroup,
                                    const std::vector<std::string>& columns, bool hasIndexes) {
    std::vector<ByteRange> ranges;
    if (rowGroup < 0 || rowGroup >= footer.num_row_groups()) {
        return ranges;
    }
    const std::set<std::string> wanted(columns.begin(), columns.end());
    const auto group = footer.RowGroup(rowGroup);
    for (int leaf = 0; leaf < footer.num_columns(); ++leaf) {
        if (!wanted.contains(columnOfLeaf(*footer.schema(), leaf))) {
            continue;
        }
        const ByteRange range = rangeOf(*group->ColumnChunk(leaf));
        if (range.offset >= 0 && range.bytes > 0) {
            ranges.push_back(range);
        }
    }
    if (hasIndexes && !ranges.empty()) {
        // The page index is read as a whole; an index that cannot be is as if there was none.
        try {
            const auto index =
                parquet::PageIndexReader::DeterminePageIndexRangesInRowGroup(*group, {});
            for (const auto& part : {index.column_index, index.offset_index}) {
                if (part.has_value()) {
                    ranges.push_back({part->offset, part->length});
                }
            }
        } catch (const std::exception&) {
        }
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
    return ranges;
}

}  // namespace millrace::pages
