#include "backend/pages/page_index.h"

#include <exception>

#include <arrow/io/interfaces.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "backend/pages/parquet_footers.h"

namespace millrace::pages {
namespace {

// Checks that rows have no gap, and that pages follow one another within the chunk.
bool isSane(const std::vector<PagePlace>& places, const ByteRange& chunk, std::int64_t rows) {
    std::int64_t at = chunk.offset, row = 0;
    for (const PagePlace& place : places) {
        if (place.offset < at || place.bytes <= 0 || place.bytes > chunk.end() - place.offset ||
            place.begin != row || place.end <= place.begin) {
            return false;
        }
        at = place.offset + place.bytes;
        row = place.end;
    }
    return row == rows;
}

}  // namespace

PageIndex::PageIndex(std::shared_ptr<parquet::FileMetaData> footer,
                     std::shared_ptr<arrow::io::RandomAccessFile> file)
    : footer_(std::move(footer)),
      file_(std::move(file)),
      properties_(std::make_unique<parquet::ReaderProperties>()) {}
PageIndex::~PageIndex() = default;

parquet::RowGroupPageIndexReader* PageIndex::readerOf(int rowGroup) {
    if (groupOf_ != rowGroup) {
        groupOf_ = rowGroup;
        group_ = nullptr;
        if (reader_ == nullptr) {
            reader_ = parquet::PageIndexReader::Make(file_.get(), footer_, *properties_);
        }
        group_ = reader_->RowGroup(rowGroup);
    }
    return group_.get();
}

std::vector<PagePlace> PageIndex::places(int rowGroup, int leaf) {
    try {
        const auto group = footer_->RowGroup(rowGroup);
        const auto chunk = group->ColumnChunk(leaf);
        if (!chunk->GetOffsetIndexLocation().has_value() || readerOf(rowGroup) == nullptr) {
            return {};
        }
        const std::shared_ptr<parquet::OffsetIndex> index = group_->GetOffsetIndex(leaf);
        if (index == nullptr) {
            return {};
        }
        std::vector<PagePlace> places;
        for (const parquet::PageLocation& page : index->page_locations()) {
            if (!places.empty()) {
                places.back().end = page.first_row_index;
            }
            places.push_back(
                {page.offset, page.compressed_page_size, page.first_row_index, group->num_rows()});
        }
        return isSane(places, rangeOf(*chunk), group->num_rows()) ? places
                                                                  : std::vector<PagePlace>();
    } catch (const std::exception&) {
        return {};
    }
}

std::vector<ColumnStatistics> PageIndex::statistics(int rowGroup, int leaf,
                                                    const std::vector<PagePlace>& places) {
    const std::size_t pages = places.size();
    try {
        const parquet::ColumnDescriptor* const column = footer_->schema()->Column(leaf);
        if (!footer_->RowGroup(rowGroup)->ColumnChunk(leaf)->GetColumnIndexLocation().has_value() ||
            column->sort_order() == parquet::SortOrder::UNKNOWN || readerOf(rowGroup) == nullptr) {
            return {};
        }
        const std::shared_ptr<parquet::ColumnIndex> index = group_->GetColumnIndex(leaf);
        const bool isWhole = index != nullptr && index->null_pages().size() == pages &&
                             index->encoded_min_values().size() == pages &&
                             index->encoded_max_values().size() == pages &&
                             (!index->has_null_counts() || index->null_counts().size() == pages);
        std::vector<ColumnStatistics> all(isWhole ? pages : 0);
        for (std::size_t p = 0; p < all.size(); ++p) {
            if (index->null_pages()[p]) {
                all[p].nulls = places[p].end - places[p].begin;
                continue;
            }
            all[p] = boundsOf(*parquet::Statistics::Make(
                column, index->encoded_min_values()[p], index->encoded_max_values()[p],
                /*num_values=*/0, /*null_count=*/0, /*distinct_count=*/0, /*has_min_max=*/true,
                /*has_null_count=*/false, /*has_distinct_count=*/false));
            if (column->max_definition_level() == 0) {
                all[p].nulls = 0;
            } else if (index->has_null_counts()) {
                all[p].nulls = index->null_counts()[p];
            } else {
                all[p].nulls.reset();
            }
        }
        return all;
    } catch (const std::exception&) {
        return {};
    }
}

}  // namespace millrace::pages
