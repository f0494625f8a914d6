#include "backend/pages/parquet_footers.h"

#include <algorithm>
#include <set>

#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>

#include "backend/core/hash.h"
#include "backend/files/file_identity.h"
#include "backend/files/footer_bytes.h"

namespace millrace::pages {
namespace {

constexpr std::int64_t kChunksKept = 100'000;  // a column chunk's metadata takes about 1 kB
constexpr std::size_t kTailBytes = 8;          // length and magic at the end of a footer

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

bool ParquetFooter::covers(const std::vector<std::string>& names) const {
    return kept == nullptr || std::ranges::all_of(names, [this](const std::string& name) {
               return kept->contains(name);
           });
}

void ParquetFooters::expect(const std::vector<std::string>& columns) {
    ColumnNames names = withStructs(columns);
    MutexLock lock(mutex_);
    if (expected_ != nullptr) {
        names.insert(expected_->begin(), expected_->end());
    }
    expected_ = std::make_shared<const ColumnNames>(std::move(names));
}

Result<ParquetFooter> ParquetFooters::get(const files::DataFile& file,
                                          const files::FileSource& source,
                                          const std::string& contentHash,
                                          const std::vector<std::string>& columns) {
    std::shared_ptr<const ColumnNames> kept;
    {
        MutexLock lock(mutex_);
        if (const ParquetFooter* const known = knownLocked(file.path, &columns)) {
            return *known;
        }
        const bool isExpected = ParquetFooter{nullptr, nullptr, expected_}.covers(columns);
        kept = isExpected ? expected_ : nullptr;
    }
    return read(file, source, contentHash, kept);
}

Result<ParquetFooter> ParquetFooters::whole(const files::DataFile& file,
                                            const files::FileSource& source,
                                            const std::string& contentHash) {
    {
        MutexLock lock(mutex_);
        expected_ = nullptr;
        if (const ParquetFooter* const known = knownLocked(file.path, nullptr)) {
            return *known;
        }
    }
    return read(file, source, contentHash, nullptr);
}

const ParquetFooter* ParquetFooters::knownLocked(const std::string& path,
                                                 const std::vector<std::string>* columns) {
    const auto known = std::ranges::find_if(recent_, [&](const Entry& entry) {
        return entry.path == path &&
               (columns == nullptr ? entry.footer.kept == nullptr : entry.footer.covers(*columns));
    });
    if (known == recent_.end()) {
        return nullptr;
    }
    recent_.splice(recent_.begin(), recent_, known);
    return &recent_.front().footer;
}

Result<ParquetFooter> ParquetFooters::read(const files::DataFile& file,
                                           const files::FileSource& source,
                                           const std::string& contentHash,
                                           const std::shared_ptr<const ColumnNames>& kept) {
    ASSIGN_OR_RETURN(const std::string bytes, readParquetFooter(file, source));
    RETURN_IF_ERROR(files::verifyHash(file, hashHex(bytes), contentHash));
    const std::string_view all = std::string_view(bytes).substr(0, bytes.size() - kTailBytes);
    const std::optional<std::string> cut = kept == nullptr ? std::nullopt : cutFooter(all, *kept);
    const std::string_view wanted = cut.has_value() ? std::string_view(*cut) : all;
    ParquetFooter footer;
    try {
        footer.metadata =
            parquet::FileMetaData::Make(wanted.data(), static_cast<std::int64_t>(wanted.size()));
        const auto columns = columnsOf(*footer.metadata->schema());
        footer.columns = std::make_shared<const std::unordered_map<std::string, ColumnLeaves>>(
            columns.begin(), columns.end());
    } catch (const std::exception& e) {
        return footerError(file.path, e);
    }
    footer.kept = cut.has_value() ? kept : nullptr;
    std::list<Entry> old;  // freed without the lock: thousands of small objects
    MutexLock lock(mutex_);
    old = keepLocked(file.path, footer);
    return footer;
}

/// Returns the entries that are dropped.
std::list<ParquetFooters::Entry> ParquetFooters::keepLocked(const std::string& path,
                                                            const ParquetFooter& footer) {
    recent_.push_front({path, footer});
    std::int64_t chunks = 0;
    auto end = recent_.begin();
    for (std::size_t i = 0; end != recent_.end() && (i == 0 || i < kKept); ++i, ++end) {
        chunks += std::int64_t{end->footer.metadata->num_columns()} *
                  end->footer.metadata->num_row_groups();
        if (i > 0 && chunks > kChunksKept) {
            break;
        }
    }
    std::list<Entry> old;
    old.splice(old.begin(), recent_, end, recent_.end());
    return old;
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
        // The page index is read as a whole; an unreadable one counts as absent.
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
    std::ranges::sort(ranges,
                      [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
    return ranges;
}

}  // namespace millrace::pages
