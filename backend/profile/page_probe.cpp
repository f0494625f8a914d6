#include "backend/profile/page_probe.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "backend/dataset/column_cost.h"
#include "backend/pages/parquet_columns.h"

namespace millrace::profile {

namespace {

// Reads and discards all pages of a column chunk: file, decompression, page headers.
void passOver(parquet::RowGroupReader& group, int leaf) {
    const auto pages = group.GetColumnPageReader(leaf);
    while (pages->NextPage() != nullptr) {
    }
}

std::map<std::string, PageCost> measureGroup(parquet::ParquetFileReader& file,
                                             arrow::io::RandomAccessFile& bytes,
                                             const std::vector<std::string>& columns,
                                             double seconds) {
    const auto footer = file.metadata();
    const int number = footer->num_row_groups() / 2;
    const auto facts = footer->RowGroup(number);
    const auto group = file.RowGroup(number);
    const auto start = std::chrono::steady_clock::now();
    std::map<std::string, PageCost> costs;
    for (int leaf = 0; leaf < footer->num_columns(); ++leaf) {
        const std::string name = pages::columnOfLeaf(*footer->schema(), leaf);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (spent.count() > seconds) {
            break;
        }
        if (std::find(columns.begin(), columns.end(), name) == columns.end()) {
            continue;
        }
        const auto chunk = facts->ColumnChunk(leaf);
        const std::int64_t from = chunk->has_dictionary_page() ? chunk->dictionary_page_offset()
                                                               : chunk->data_page_offset();
        passOver(*group, leaf);  // warms up the page cache and memory
        dataset::CostClock clock;
        const auto raw = bytes.ReadAt(from, chunk->total_compressed_size());
        const std::int64_t fileNs = clock.lap("", 0).busyNs;
        passOver(*group, leaf);
        const std::int64_t pagesNs = clock.lap("", 0).busyNs;
        PageCost& cost = costs[name];
        cost.codec = arrow::util::Codec::GetCodecAsString(chunk->compression());
        cost.nsPerRow += static_cast<double>(std::max<std::int64_t>(0, pagesNs - fileNs)) /
                         static_cast<double>(std::max<std::int64_t>(1, facts->num_rows()));
    }
    return costs;
}

}  // namespace

Result<std::map<std::string, PageCost>> measurePages(const dataset::Dataset& dataset,
                                                     const std::vector<std::string>& columns,
                                                     double seconds) {
    std::map<std::string, PageCost> costs;
    if (dataset.options().format != "parquet" || dataset.files().empty()) {
        return costs;
    }
    const std::string& path = dataset.files()[dataset.files().size() / 2].path;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return costs;
    }
    try {
        const auto bytes = arrow::io::ReadableFile::Open(path);
        if (!bytes.ok()) {
            return dataLoss(path, ": ", bytes.status().message());
        }
        const auto file = parquet::ParquetFileReader::Open(*bytes);
        if (file->metadata()->num_row_groups() > 0) {
            costs = measureGroup(*file, **bytes, columns, seconds);
        }
        return costs;
    } catch (const std::exception& e) {
        return dataLoss(path, ": ", e.what());
    }
}

}  // namespace millrace::profile
