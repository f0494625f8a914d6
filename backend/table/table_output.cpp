#include "backend/table/table_output.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/files.h"

namespace millrace::table {

Result<std::unique_ptr<TableOutput>> TableOutput::open(TableOptions options) {
    ASSIGN_OR_RETURN(OutputPlace place, OutputPlace::open(options.directory, options.isForced));
    return std::unique_ptr<TableOutput>(new TableOutput(std::move(options), std::move(place)));
}

TableOutput::~TableOutput() = default;

Status TableOutput::start(std::shared_ptr<arrow::Schema> schema) {
    schema_ = std::move(schema);
    if (options_.sort.empty()) {
        return okStatus();
    }
    ExternalSort::Options sort;
    sort.keys = options_.sort;
    sort.directory = place_.path() + "/.runs";
    sort.memoryBytes = options_.memoryBytes / 3;
    sort.threads = options_.writer.threads;
    ASSIGN_OR_RETURN(sort_, ExternalSort::make(schema_, std::move(sort)));
    return okStatus();
}

Status TableOutput::add(BatchPtr batch) {
    return sort_ == nullptr ? collect(std::move(batch)) : sort_->add(std::move(batch));
}

Status TableOutput::collect(BatchPtr batch) {
    // Putting a group together copies it once.
    const std::int64_t share =
        sort_ == nullptr ? options_.memoryBytes / 5 * 2 : options_.memoryBytes / 4;
    const std::int64_t groupBytesMax = std::max<std::int64_t>(1, share);
    while (batch->num_rows() > 0) {
        const std::int64_t room = options_.rowGroupRows - groupRows_;
        BatchPtr part = batch->num_rows() <= room ? batch : batch->Slice(0, room);
        batch = batch->Slice(part->num_rows());
        groupRows_ += part->num_rows();
        const auto bytes = arrow::util::ReferencedBufferSize(*part);
        groupBytes_ += bytes.ok() ? *bytes : arrow::util::TotalBufferSize(*part);
        group_.push_back(std::move(part));
        if (groupRows_ == options_.rowGroupRows || groupBytes_ >= groupBytesMax) {
            if (groupRows_ < options_.rowGroupRows) {
                totals_.smallestGroupRows = totals_.smallestGroupRows == 0
                                                ? groupRows_
                                                : std::min(totals_.smallestGroupRows, groupRows_);
            }
            RETURN_IF_ERROR(writeGroup());
        }
    }
    return okStatus();
}

Status TableOutput::writeGroup() {
    if (writer_ == nullptr) {
        char name[32];
        std::snprintf(name, sizeof name, "/part-%05lld", static_cast<long long>(totals_.files));
        const std::string path = strCat(place_.path(), name, endingOf(options_.writer.format));
        ASSIGN_OR_RETURN(writer_, TableWriter::open(path, schema_, options_.writer));
        ++totals_.files;
    }
    if (groupRows_ == 0) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const BatchPtr group,
                     arrays::fromArrow(arrow::ConcatenateRecordBatches(group_), "row group"));
    group_.clear();
    totals_.rows += groupRows_;
    ++totals_.rowGroups;
    groupRows_ = groupBytes_ = 0;
    RETURN_IF_ERROR(writer_->write(*group));
    ASSIGN_OR_RETURN(const std::int64_t bytes, writer_->bytesWritten());
    return bytes >= options_.fileBytes ? closeFile() : okStatus();
}

Status TableOutput::closeFile() {
    RETURN_IF_ERROR(writer_->close());
    writer_.reset();
    return okStatus();
}

Status TableOutput::commit(const Json& facts) {
    if (sort_ != nullptr) {
        RETURN_IF_ERROR(
            sort_->finish([this](BatchPtr batch) { return collect(std::move(batch)); }));
        totals_.sortRuns = sort_->numRuns();
        sort_.reset();
        std::error_code error;
        std::filesystem::remove_all(place_.path() + "/.runs", error);
    }
    if (groupRows_ > 0 || totals_.files == 0) {
        RETURN_IF_ERROR(writeGroup());
    }
    if (writer_ != nullptr) {
        RETURN_IF_ERROR(closeFile());
    }
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(place_.path(), error)) {
        totals_.bytes += static_cast<std::int64_t>(entry.file_size(error));
    }
    RETURN_IF_ERROR(writeFileAtomic(place_.path() + "/_table.json", dumpJsonPretty(facts) + "\n"));
    return place_.commit();
}

}  // namespace millrace::table
