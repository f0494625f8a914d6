#include "backend/table/table_output.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/filesystem/files.h"

namespace millrace::table {

Result<std::unique_ptr<TableOutput>> TableOutput::open(TableOptions options) {
    ASSIGN_OR_RETURN(OutputPlace place, OutputPlace::open(options.directory, options.isForced));
    return std::unique_ptr<TableOutput>(new TableOutput(std::move(options), std::move(place)));
}

TableOutput::~TableOutput() = default;

Status TableOutput::start(std::shared_ptr<arrow::Schema> schema) {
    schema_ = std::move(schema);
    ASSIGN_OR_RETURN(encoder_, TableEncoder::make(schema_, options_.writer));
    // Together with collected rows, encoded groups take at most twice the rest of the row memory.
    pipeline_ = std::make_unique<GroupPipeline>(
        *encoder_,
        GroupPipeline::Options{options_.writer.threads, isShared(), options_.memoryBytes / 5},
        [this](const EncodedGroup& group) { return append(group); });
    if (options_.sort.empty()) {
        return okStatus();
    }
    ExternalSort::Options sort;
    sort.keys = options_.sort;
    sort.directory = place_.path() + "/.runs";
    sort.memoryBytes = options_.memoryBytes / 20 * 9;
    sort.threads = options_.writer.threads;
    ASSIGN_OR_RETURN(sort_, ExternalSort::make(schema_, std::move(sort)));
    return okStatus();
}

Status TableOutput::add(BatchPtr batch) {
    return sort_ == nullptr ? collect(std::move(batch)) : sort_->add(std::move(batch));
}

Status TableOutput::collect(BatchPtr batch) {
    // Leaves room for the one copy that encoding a group makes.
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
    totals_.rows += groupRows_;
    ++totals_.rowGroups;
    groupRows_ = 0;
    return pipeline_->add(std::exchange(group_, {}), std::exchange(groupBytes_, 0));
}

Status TableOutput::openFile() {
    char name[32];
    std::snprintf(name, sizeof name, "/part-%05lld", static_cast<long long>(totals_.files));
    const std::string path = strCat(place_.path(), name, endingOf(options_.writer.format));
    ASSIGN_OR_RETURN(file_, encoder_->open(path));
    ++totals_.files;
    writeback_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    writebackBytes_ = 0;
    return okStatus();
}

// Starts disk writes while the next rows are made: commit() then waits for little more than the
// last group. Only an optimization: without this system call, commit() writes everything.
void TableOutput::startWriteback(std::int64_t bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
    constexpr std::int64_t kLeast = std::int64_t{8} << 20;
    if (bytes - writebackBytes_ >= kLeast) {
        (void)::sync_file_range(writeback_.get(), writebackBytes_, bytes - writebackBytes_,
                                SYNC_FILE_RANGE_WRITE);
        writebackBytes_ = bytes;
    }
#else
    (void)bytes;
#endif
}

Status TableOutput::append(const EncodedGroup& group) {
    if (file_ == nullptr) {
        RETURN_IF_ERROR(openFile());
    }
    RETURN_IF_ERROR(file_->append(group));
    ASSIGN_OR_RETURN(const std::int64_t bytes, file_->bytesWritten());
    startWriteback(bytes);
    return bytes >= options_.fileBytes ? closeFile() : okStatus();
}

Status TableOutput::closeFile() {
    RETURN_IF_ERROR(file_->close());
    file_.reset();
    writeback_.reset();
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
    if (groupRows_ > 0) {
        RETURN_IF_ERROR(writeGroup());
    }
    if (totals_.rowGroups > 0) {
        RETURN_IF_ERROR(pipeline_->finish());
    } else {
        RETURN_IF_ERROR(encoder_->prepare({}));
        RETURN_IF_ERROR(openFile());
    }
    if (file_ != nullptr) {
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
