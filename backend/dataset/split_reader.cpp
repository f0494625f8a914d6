#include "backend/dataset/split_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <arrow/chunked_array.h>
#include <arrow/memory_pool.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/same_numbers.h"
#include "backend/dataset/decoders.h"
#include "backend/dataset/read_ahead.h"
#include "backend/dataset/split_metadata.h"
#include "backend/objects/object_store.h"
#include "backend/pages/page_decoder.h"
#include "backend/pages/page_index.h"
#include "backend/text/text.h"

namespace millrace::dataset {

Result<expr::DataType> typeOfColumn(const DecoderInput& input, const std::string& column) {
    const auto type = input.types->find(column);
    if (type == input.types->end()) {
        return invalidArgument(input.path, ": no column '", column, "'",
                               nameHint(column, input.schema->names()));
    }
    return *type->second;
}

Result<std::shared_ptr<arrow::Array>> pinStored(const DecoderInput& input,
                                                const arrow::ChunkedArray& values,
                                                const std::string& column, const std::string& place,
                                                arrow::MemoryPool* pool) {
    ASSIGN_OR_RETURN(const expr::DataType type, typeOfColumn(input, column));
    Result<std::shared_ptr<arrow::Array>> pinned = arrays::pinArray(values, type, place, pool);
    const expr::Field* stored = input.facts->schema.find(column);
    // A file whose column has another type than the dataset's is read only if no value changes: the
    // cast alone may round, for example int64 to double.
    if (pinned.ok() && stored != nullptr && !stored->type.isSame(type)) {
        const Status exact = arrays::checkSameNumbers(values, **pinned, place, pool);
        pinned = exact.ok() ? std::move(pinned) : Result<std::shared_ptr<arrow::Array>>(exact);
    }
    if (pinned.status().code() != absl::StatusCode::kInvalidArgument || stored == nullptr ||
        stored->type.isSame(type)) {
        return pinned;
    }
    const std::string name = type.name(), own = stored->type.name();
    return invalidArgument(messageOf(pinned.status()), "; the column is ", own,
                           " here and is read as ", name, ", ",
                           input.options->types.contains(column)
                               ? strCat("as dataset.types.", column,
                                        " says: give it another type, or correct the value")
                               : strCat("as in other files of the dataset; `dataset.types: {",
                                        yamlScalar(column, true), ": ", own, "}` reads it as ", own,
                                        " in all of them"));
}

SplitReader::SplitReader(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool,
                         std::shared_ptr<ReadAhead> readAhead, Role role)
    : dataset_(std::move(dataset)),
      pool_(pool != nullptr ? pool : arrow::default_memory_pool()),
      readAhead_(readAhead != nullptr || !dataset_->hasObjects()
                     ? std::move(readAhead)
                     : std::make_shared<ReadAhead>(dataset_, pool_)),
      role_(role) {
    for (const expr::Field& field : dataset_->schema().fields) {
        types_.emplace(field.name, &field.type);
    }
}

SplitReader::~SplitReader() {
    decoder_.reset();
    leaveSplit();
}

// A helper reads columns of a split while its owner reads others: only the owner knows when the
// fetched bytes are needed no more.
void SplitReader::leaveSplit() {
    if (readAhead_ != nullptr && split_.rows > 0 && role_ == Role::kOwner) {
        readAhead_->release(split_);
    }
    split_.rows = 0;
}

void SplitReader::announce(const std::vector<SplitRange>& splits,
                           const std::vector<std::string>& columns) {
    for (const SplitRange& split : splits) {
        if (readAhead_ != nullptr && objects::isObjectUri(dataset_->files()[split.file].path)) {
            readAhead_->announce(split, columns);
        }
    }
}

void SplitReader::skip(const SplitRange& split) {
    if (readAhead_ != nullptr) {
        readAhead_->release(split);
    }
}

Status SplitReader::openFile(std::uint32_t file, const std::vector<std::string>& columns) {
    // Footers of wide files are read only for the columns in use. Another column of the same file
    // needs a new footer and decoder.
    if (decoder_ != nullptr && openFile_ == file && footer_.covers(columns)) {
        return okStatus();
    }
    if (file >= dataset_->files().size()) {
        return internalError("file ", file, " is not in the plan");
    }
    decoder_.reset();
    footer_ = {};
    ASSIGN_OR_RETURN(std::shared_ptr<const files::FileMetadata> facts, dataset_->facts(file));
    ASSIGN_OR_RETURN(const files::DataFile data, dataset_->checkedFile(file));
    ASSIGN_OR_RETURN(source_, files::FileSource::openAhead(data, pool_, readAhead_, file));
    DecoderInput input{
        data.path, *source_, facts, &dataset_->schema(), &types_, &dataset_->options(), pool_};
    const std::string& format = dataset_->options().format;
    if (format == "csv") {
        input.gzipPoints = dataset_->gzipPoints();
        ASSIGN_OR_RETURN(decoder_, openCsv(input));
    } else if (format == "arrow") {
        ASSIGN_OR_RETURN(decoder_, openArrow(input));
    } else {
        ASSIGN_OR_RETURN(footer_,
                         dataset_->footers().get(data, *source_, facts->contentHash, columns));
        input.footer = footer_;
        input.wholeFooter = [this, data, hash = facts->contentHash] {
            return dataset_->footers().whole(data, *source_, hash);
        };
        if (pages_ == nullptr) {
            pages_ = std::make_unique<pages::PageDecoder>(pool_);
        }
        input.pages = pages_.get();
        ASSIGN_OR_RETURN(decoder_, openParquet(input));
    }
    openFile_ = file;
    decoder_->keepMemory(keepsMemory_);
    return okStatus();
}

Result<std::vector<std::shared_ptr<arrow::Array>>> FileDecoder::readRows(
    const SplitRange& split, const std::vector<std::string>& columns,
    const pages::RowSelection& selection, arrow::MemoryPool* pool) {
    ASSIGN_OR_RETURN(auto arrays, readColumns(split, columns));
    for (std::shared_ptr<arrow::Array>& array : arrays) {
        ASSIGN_OR_RETURN(array, pages::selectRows(std::move(array), selection, pool));
        ASSIGN_OR_RETURN(array, pages::zeroNullFloats(std::move(array), pool));
    }
    return arrays;
}

Result<bool> SplitReader::provesEmpty(const SplitRange& split, const SplitPruner& pruner) {
    if (!pruner.hasFilters() || split.file >= dataset_->files().size()) {
        return false;
    }
    // Values in directory names are free to check, so they come before the footer.
    const auto fromPath = [&](const std::string& column) -> std::optional<ColumnFactsOfSplit> {
        const PartitionColumn* partition = dataset_->partition(column);
        if (partition == nullptr) {
            return std::nullopt;
        }
        return partitionFacts(*partition, split.file);
    };
    if (!dataset_->partitions().empty() && pruner.provesEmpty(fromPath)) {
        return true;
    }
    if (dataset_->options().format != "parquet") {
        return false;
    }
    RETURN_IF_ERROR(openFile(split.file, pruner.columns()));
    const ParquetSplitMetadata facts(footer_.metadata, *source_, static_cast<int>(split.chunk),
                                     dataset_->schema());
    return pruner.provesEmpty([&](const std::string& column) {
        auto known = fromPath(column);
        return known ? known : facts.of(column);
    });
}

Result<std::optional<std::vector<std::int64_t>>> SplitReader::rowsNotRuledOut(
    const SplitRange& split, const SplitPruner& pruner) {
    std::optional<std::vector<std::int64_t>> all;
    if (!pruner.hasFilters() || dataset_->options().format != "parquet") {
        return all;
    }
    RETURN_IF_ERROR(openFile(split.file, pruner.columns()));
    ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> file,
                     dataset_->facts(split.file));
    const auto group = static_cast<std::size_t>(split.chunk);
    if (split.chunk < 0 || group >= file->chunks.size()) {
        return all;
    }
    // Page statistics count rows from the row group's first one, splits count from the file's.
    std::int64_t begin = split.firstRow;
    for (std::size_t before = 0; before < group; ++before) {
        begin -= file->chunks[before].rows;
    }
    // Plan and footer disagree: nothing is ruled out.
    if (begin < 0 || begin + split.rows > file->chunks[group].rows) {
        return all;
    }
    const ParquetSplitMetadata facts(footer_.metadata, *source_, static_cast<int>(split.chunk),
                                     dataset_->schema());
    pages::PageIndex index(footer_.metadata, source_->input());
    std::map<std::string, std::vector<ParquetSplitMetadata::PageMetadata>> pages;
    for (const std::string& column : pruner.columns()) {
        auto known = dataset_->partition(column) == nullptr
                         ? facts.pagesOf(column, index)
                         : std::vector<ParquetSplitMetadata::PageMetadata>();
        if (!known.empty()) {
            pages.emplace(column, std::move(known));
        }
    }
    if (pages.empty()) {
        return all;
    }
    const auto others = [&](const std::string& column) {
        const PartitionColumn* partition = dataset_->partition(column);
        return partition != nullptr ? std::optional(partitionFacts(*partition, split.file))
                                    : facts.of(column);
    };
    return dataset::rowsNotRuledOut(pages, others, pruner, begin, split.rows);
}

Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::readColumns(
    const SplitRange& split, const std::vector<std::string>& columns) {
    return readAny(split, columns, nullptr);
}

Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::readRows(
    const SplitRange& split, const std::vector<std::string>& columns,
    const pages::RowSelection& selection) {
    return readAny(split, columns, &selection);
}

/// Partition columns come from the path, the others from the decoder. `selection`: null for all
/// rows.
Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::readAny(
    const SplitRange& split, const std::vector<std::string>& columns,
    const pages::RowSelection* selection) {
    if (dataset_->partitions().empty()) {
        return readStored(split, columns, selection);
    }
    std::vector<std::string> stored;
    for (const std::string& column : columns) {
        if (dataset_->partition(column) == nullptr) {
            stored.push_back(column);
        }
    }
    std::vector<std::shared_ptr<arrow::Array>> read;
    if (!stored.empty()) {
        ASSIGN_OR_RETURN(read, readStored(split, stored, selection));
    }
    const std::int64_t rows = selection == nullptr ? split.rows : selection->count(split.rows);
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    std::size_t next = 0;
    for (const std::string& column : columns) {
        const PartitionColumn* partition = dataset_->partition(column);
        if (partition == nullptr) {
            arrays.push_back(std::move(read[next++]));
            continue;
        }
        ASSIGN_OR_RETURN(auto array, partition->array(split.file, rows, pool_));
        arrays.push_back(std::move(array));
    }
    return arrays;
}

Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::readStored(
    const SplitRange& split, const std::vector<std::string>& columns,
    const pages::RowSelection* selection) {
    // The splits of a row group share their fetched bytes: only leaving the row group releases
    // them.
    if (split.file != split_.file || split.chunk != split_.chunk) {
        leaveSplit();
    }
    split_ = split;
    if (split.file < dataset_->files().size() &&
        objects::isObjectUri(dataset_->files()[split.file].path)) {
        readAhead_->need(split, columns);
    }
    RETURN_IF_ERROR(openFile(split.file, columns));
    const std::int64_t before = decoder_->bytesRead();
    CostClock clock;
    auto arrays = selection == nullptr ? decoder_->readColumns(split, columns)
                                       : decoder_->readRows(split, columns, *selection, pool_);
    const std::int64_t bytes = decoder_->bytesRead() - before;
    bytesRead_ += bytes;
    // Bytes of a file that changed meanwhile are not the run's, whether they decode or not.
    RETURN_IF_ERROR(source_->verify());
    std::vector<ColumnCost> costs = decoder_->takeCosts();
    if (costs.empty() && !columns.empty()) {
        costs.push_back(clock.lap("", bytes));
    }
    std::move(costs.begin(), costs.end(), std::back_inserter(costs_));
    return arrays;
}

void SplitReader::keepMemory(bool keeps) {
    keepsMemory_ = keeps;
    if (decoder_ != nullptr) {
        decoder_->keepMemory(keeps);
    } else if (!keeps && pages_ != nullptr) {
        pages_->release();
    }
}

}  // namespace millrace::dataset
