#include "backend/profile/measure.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include <arrow/record_batch.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"

namespace millrace::profile {

namespace {

constexpr int kReadings = 3;

Result<double> readOnce(const std::shared_ptr<const dataset::Dataset>& dataset) {
    dataset::SplitReader reader(dataset);
    ASSIGN_OR_RETURN(const auto facts, dataset->facts(0));
    const std::vector<std::string> columns = dataset->schema().names();
    dataset::CostClock clock;
    std::int64_t firstRow = 0;
    for (std::size_t chunk = 0; chunk < facts->chunks.size(); ++chunk) {
        const std::int64_t rows = facts->chunks[chunk].rows;
        RETURN_IF_ERROR(
            reader.readColumns({0, static_cast<std::int64_t>(chunk), firstRow, rows}, columns)
                .status());
        reader.takeCosts();
        firstRow += rows;
    }
    return static_cast<double>(clock.lap("", 0).busyNs) * 1e-9;
}

Status write(const arrow::RecordBatch& rows, const table::WriterOptions& options,
             std::int64_t rowGroupRows, const std::string& path) {
    ASSIGN_OR_RETURN(const auto writer, table::TableWriter::open(path, rows.schema(), options));
    const std::int64_t group = rowGroupRows > 0 ? rowGroupRows : rows.num_rows();
    for (std::int64_t at = 0; at < rows.num_rows(); at += group) {
        RETURN_IF_ERROR(writer->write(*rows.Slice(at, group)));
    }
    return writer->close();
}

}  // namespace

Result<Measured> measureWritten(const arrow::RecordBatch& rows, const table::WriterOptions& options,
                                std::int64_t rowGroupRows, const std::string& directory) {
    const std::string path = directory + "/measured.parquet";
    std::remove(path.c_str());
    RETURN_IF_ERROR(write(rows, options, rowGroupRows, path));
    ASSIGN_OR_RETURN(const auto dataset,
                     dataset::Dataset::open({path}, directory, files::ReadOptions{},
                                            std::make_shared<dataset::MetadataCache>()));
    Measured measured;
    measured.bytes = dataset->files().front().bytes;
    measured.seconds = std::numeric_limits<double>::infinity();
    for (int reading = 0; reading < kReadings; ++reading) {
        ASSIGN_OR_RETURN(const double seconds, readOnce(dataset));
        measured.seconds = std::min(measured.seconds, seconds);
    }
    std::remove(path.c_str());
    return measured;
}

}  // namespace millrace::profile
