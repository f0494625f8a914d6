#include "backend/dataset/dataset.h"

#include <algorithm>
#include <set>

#include "backend/core/hash.h"
#include "backend/core/parallel.h"
#include "backend/csv/csv_types.h"
#include "backend/csv/gzip_text.h"
#include "backend/dataset/description.h"
#include "backend/files/file_identity.h"
#include "backend/files/schema_union.h"
#include "backend/objects/object_store.h"
#include "backend/pages/parquet_footers.h"
#include "backend/spec/data_format.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::dataset {
namespace {

/// A file server answers each check in a fraction of a millisecond, many at a time.
constexpr std::size_t kFilesWorthThreads = 256;
constexpr int kVerifyThreads = 8;

/// A CSV file's columns with the types over all files; kNull stays for a column without values
/// here.
expr::Schema typedBy(const csv::CsvKinds& kinds, expr::Schema one) {
    for (expr::Field& field : one.fields) {
        const auto kind = kinds.find(field.name);
        if (field.type.kind != expr::TypeKind::kNull && kind != kinds.end()) {
            field.type.kind = kind->second;
        }
    }
    return one;
}

/// The key of the spec that sets the column's type.
std::string typesKey(const files::ReadOptions& options, const std::string& column) {
    return options.types.contains(column) ? "dataset.types" : strCat(options.csvKey, ".types");
}

/// The user's types take precedence; columns without any value are strings.
Status pinCsvTypes(expr::Schema& schema, const files::ReadOptions& options) {
    for (const auto& [name, typeName] : options.csvTypes) {
        if (schema.find(name) == nullptr) {
            continue;  // an unknown column, or one from directory names
        }
        Result<expr::DataType> type = expr::parseType(typeName);
        const std::string key = strCat(typesKey(options, name), ".", name);
        RETURN_IF_ERROR(annotate(type.status(), key));
        if (type->isList || type->kind == expr::TypeKind::kDecimal) {
            return invalidArgument(key, ": a CSV column cannot be ", typeName,
                                   "; read it as a string and cast or split it");
        }
        schema.set(name, *type);
    }
    for (expr::Field& field : schema.fields) {
        if (field.type.kind == expr::TypeKind::kNull) {
            field.type.kind = expr::TypeKind::kString;
        }
    }
    return okStatus();
}

/// Keeps the files of these relative paths.
Status keepOnly(const std::vector<std::string>& only, std::vector<files::DataFile>& files) {
    std::set<std::string> missing(only.begin(), only.end());
    std::erase_if(
        files, [&](const files::DataFile& file) { return missing.erase(file.relativePath) == 0; });
    return missing.empty()
               ? okStatus()
               : failedPrecondition("dataset.path: the stream was planned with '", *missing.begin(),
                                    "', which is not among the files any more; put it back, or "
                                    "start anew");
}

bool canHaveOtherText(const expr::DataType& type) {
    return type.element().isInteger() || type.kind == expr::TypeKind::kDate;
}

/// Whether values of the first type have another hash and text once they are read as the second.
bool hasOtherText(const expr::DataType& from, const expr::DataType& to) {
    return (from.element().isInteger() && to.element().isFloat()) ||
           (from.kind == expr::TypeKind::kDate && to.kind == expr::TypeKind::kTimestamp);
}

// The first three reasons, each with its first row and its number of rows.
std::string textOf(const std::vector<files::CsvBadRows>& reasons) {
    constexpr std::size_t kNamed = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(reasons.size(), kNamed); ++i) {
        const std::int64_t rows = reasons[i].rows;
        strAppend(&text, i == 0 ? "" : "; ", reasons[i].first.value,
                  reasons.size() == 1
                      ? ""
                      : strCat(" (", formatCount(rows), rows == 1 ? " row)" : " rows)"));
    }
    const std::size_t more = reasons.size() - std::min(reasons.size(), kNamed);
    return more == 0 ? text : strCat(text, "; and ", more, " more reason", more == 1 ? "" : "s");
}

// Takes files of 0 bytes out, which have no rows; a dataset of such files alone is left as it is.
void leaveOutEmpty(std::vector<files::DataFile>& files, std::vector<std::string>& notes) {
    const auto isEmpty = [](const files::DataFile& file) { return file.bytes == 0; };
    if (std::ranges::all_of(files, isEmpty)) {
        return;
    }
    for (const files::DataFile& file : files) {
        if (isEmpty(file)) {
            notes.push_back(strCat(file.path, ": the file is empty, and is left out"));
        }
    }
    std::erase_if(files, isEmpty);
}

Status verifyAll(const std::vector<files::DataFile>& touched) {
    return parallelFor(touched.size(), touched.size() < kFilesWorthThreads ? 1 : kVerifyThreads,
                       "verify",
                       [&touched](std::size_t i) { return files::verifyAtPath(touched[i]); });
}

}  // namespace

files::ReadOptions readOptionsOf(const spec::DatasetSpec& dataset) {
    files::ReadOptions options = readOptionsOf(dataset.path, dataset.format);
    const auto character = [](const std::string& text, char absent) {
        return text.empty() ? absent : text[0];
    };
    const spec::CsvOptions& csv = dataset.csv;
    options.csvSplitRows = dataset.csvSplitRows;
    options.csvDelimiter = character(csv.delimiter, options.csvDelimiter);
    options.csvHasHeader = csv.header;
    options.types = dataset.types;
    options.csvTypes = csv.types;
    options.csvTypes.insert(dataset.types.begin(), dataset.types.end());
    options.csvQuote = character(csv.quote, 0);
    options.csvComment = character(csv.comment, 0);
    options.csvSkipRows = csv.skipRows;
    options.csvHasDecimalComma = csv.decimalComma;
    options.csvNullValues = csv.nullValues;
    options.csvDropsBadRows = csv.onBadRow == "drop";
    options.areMissingColumnsNull = dataset.missingColumns == "null";
    return options;
}

files::ReadOptions readOptionsOf(const std::vector<std::string>& paths, const std::string& format) {
    files::ReadOptions options;
    options.format = format;
    if (options.format.empty()) {
        options.format = paths.empty() ? "" : formatOfPath(paths.front());
        options.format = options.format.empty() ? "parquet" : options.format;
    }
    options.csvDelimiter = paths.empty() ? ',' : spec::delimiterOfName(paths.front());
    return options;
}

std::string formatOfPath(const std::string& path) {
    return spec::formatOfName(path);
}

Dataset::Dataset()
    : footers_(std::make_shared<pages::ParquetFooters>()),
      gzipPoints_(std::make_shared<csv::GzipPoints>()) {}

void Dataset::expectColumns(const std::vector<std::string>& columns) const {
    footers_->expect(columns);
}

bool Dataset::hasObjects() const {
    return std::ranges::any_of(
        files_, [](const files::DataFile& file) { return objects::isObjectUri(file.path); });
}

Status Dataset::uniteSchemas(const FactsOfFiles& facts) {
    const bool isCsv = options_.format == "csv";
    csv::CsvKinds kinds;
    if (isCsv) {
        ASSIGN_OR_RETURN(kinds, csv::csvKinds(files_, facts, options_, notes_));
    }
    ASSIGN_OR_RETURN(files::SchemaUnion united, files::SchemaUnion::make(files_, options_));
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (facts[i] != nullptr) {
            united.add(i, isCsv ? typedBy(kinds, facts[i]->schema) : facts[i]->schema);
        }
    }
    schema_ = united.take();
    if (std::string note = differingNote(schema_); !note.empty()) {
        notes_.push_back(std::move(note));
    }
    noteMixed(facts);
    if (isCsv) {
        noteDelimiter();
    }
    return isCsv ? pinCsvTypes(schema_, options_) : okStatus();
}

void Dataset::noteMixed(const FactsOfFiles& facts) {
    const auto& given = options_.format == "csv" ? options_.csvTypes : options_.types;
    const expr::Schema* last = nullptr;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (facts[i] == nullptr || (last != nullptr && *last == facts[i]->schema)) {
            continue;  // most files are as the one before
        }
        last = &facts[i]->schema;
        for (const expr::Field& own : last->fields) {
            const expr::Field* field =
                canHaveOtherText(own.type) ? schema_.find(own.name) : nullptr;
            if (field != nullptr && hasOtherText(own.type, field->type) &&
                !given.contains(own.name)) {
                mixed_.emplace(own.name,
                               strCat("is ", own.type.name(), " in ", files_[i].path, " and ",
                                      field->type.name(), " in other files; `dataset.types: {",
                                      yamlScalar(own.name, true), ": ", own.type.name(),
                                      "}` reads it as one type in all files"));
            }
        }
    }
}

/// A header of one field that holds another usual delimiter was most likely cut by the wrong one,
/// and one with numbers is most likely a row.
void Dataset::noteDelimiter() {
    const std::string hint = csv::headerHint(options_, schema_);
    if (!hint.empty()) {
        notes_.push_back(strCat(files_.front().path, ": ", hint));
    }
}

/// Reads the files again with the types that were found: which rows are bad depends on them.
Status Dataset::dropBadRows(FactsOfFiles& facts, int threads) {
    for (const expr::Field& field : schema_.fields) {
        options_.csvTypes.emplace(field.name, field.type.name());
    }
    ASSIGN_OR_RETURN(facts, cache_->getAll(files_, options_, threads));
    std::vector<files::CsvBadRows> reasons;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        badRows_ += facts[i]->badRows;
        for (files::CsvBadRows bad : facts[i]->bad) {
            bad.first.value = strCat(files_[i].path, ":", bad.first.line, ": ", bad.first.value);
            files::CsvBadRows::add(bad, reasons);
        }
    }
    if (badRows_ > 0) {
        notes_.push_back(strCat(textOf(reasons), "; ", options_.csvKey, ".on_bad_row: drop leaves ",
                                formatCount(badRows_),
                                badRows_ == 1         ? " row"
                                : reasons.size() == 1 ? " such rows"
                                                      : " rows",
                                " out"));
    }
    return okStatus();
}

/// Call it after the files' schema is set: columns of the files take precedence.
Status Dataset::addPartitions() {
    ASSIGN_OR_RETURN(std::vector<PartitionColumn> columns,
                     partitionColumns(files_, options_.areMissingColumnsNull));
    for (PartitionColumn& column : columns) {
        if (schema_.find(column.name) == nullptr && schema_.findRefused(column.name) == nullptr) {
            schema_.fields.push_back({column.name, column.type});
            partitions_.push_back(std::move(column));
        }
    }
    return okStatus();
}

/// Types may be given only to existing columns. A resolved spec also has the types of columns from
/// directory names, which the CSV reader does not use.
Status Dataset::checkTypes() const {
    const auto& types = options_.format == "csv" ? options_.csvTypes : options_.types;
    for (const auto& [name, type] : types) {
        const std::string key = typesKey(options_, name);
        const expr::Field* field = schema_.find(name);
        if (field == nullptr && schema_.findRefused(name) == nullptr) {
            return invalidArgument(key, ": no column '", name, "'",
                                   nameHint(name, schema_.names()));
        }
        if (partition(name) != nullptr && field->type.name() != type) {
            return invalidArgument(key, ".", name,
                                   ": the column is from the names of directories, where it is ",
                                   field->type.name(), "; cast it where it is used");
        }
    }
    return okStatus();
}

const PartitionColumn* Dataset::partition(std::string_view column) const {
    const auto at = std::ranges::find_if(
        partitions_, [column](const auto& each) { return each.name == column; });
    return at == partitions_.end() ? nullptr : &*at;
}

Result<std::shared_ptr<const Dataset>> Dataset::open(const std::vector<std::string>& paths,
                                                     const std::string& baseDir,
                                                     const files::ReadOptions& options,
                                                     std::shared_ptr<MetadataCache> cache,
                                                     int threads,
                                                     const std::vector<std::string>& only) {
    std::shared_ptr<Dataset> dataset(new Dataset);
    dataset->options_ = options;
    dataset->cache_ = std::move(cache);
    ASSIGN_OR_RETURN(dataset->files_, files::listFiles(paths, baseDir, options.format));
    if (!only.empty()) {
        RETURN_IF_ERROR(keepOnly(only, dataset->files_));
    }
    if (options.format == "csv") {
        leaveOutEmpty(dataset->files_, dataset->notes_);
    }
    ASSIGN_OR_RETURN(auto facts, dataset->cache_->getAll(dataset->files_, options, threads));
    RETURN_IF_ERROR(dataset->uniteSchemas(facts));
    RETURN_IF_ERROR(dataset->addPartitions());
    RETURN_IF_ERROR(dataset->checkTypes());
    if (options.format == "csv" && options.csvDropsBadRows) {
        RETURN_IF_ERROR(dataset->dropBadRows(facts, threads));
    }
    MutexLock lock(dataset->mutex_);
    dataset->facts_ = std::move(facts);
    return std::shared_ptr<const Dataset>(std::move(dataset));
}

Result<std::shared_ptr<const Dataset>> Dataset::ofPlan(const std::vector<stream::PlanFile>& files,
                                                       const files::ReadOptions& options,
                                                       std::shared_ptr<MetadataCache> cache,
                                                       const expr::Schema& schema) {
    if (files.empty()) {
        return invalidArgument("plan: no files");
    }
    std::shared_ptr<Dataset> dataset(new Dataset);
    dataset->options_ = options;
    dataset->cache_ = std::move(cache);
    for (const stream::PlanFile& planned : files) {
        files::DataFile file;
        file.path = planned.path;
        file.relativePath = planned.relativePath;
        file.bytes = planned.bytes;
        dataset->files_.push_back(std::move(file));
        dataset->plannedHash_.push_back(planned.footerHash);
    }
    {
        MutexLock lock(dataset->mutex_);
        dataset->facts_.resize(files.size());
    }
    if (!schema.fields.empty()) {
        dataset->schema_ = schema;
        RETURN_IF_ERROR(dataset->addPartitions());
        return std::shared_ptr<const Dataset>(std::move(dataset));
    }
    std::vector<std::shared_ptr<const files::FileMetadata>> facts(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        ASSIGN_OR_RETURN(facts[i], dataset->facts(i));
    }
    RETURN_IF_ERROR(dataset->uniteSchemas(facts));
    RETURN_IF_ERROR(dataset->addPartitions());
    RETURN_IF_ERROR(dataset->checkTypes());
    return std::shared_ptr<const Dataset>(std::move(dataset));
}

Result<std::shared_ptr<const files::FileMetadata>> Dataset::facts(std::size_t file) const {
    {
        MutexLock lock(mutex_);
        if (facts_[file] != nullptr) {
            return facts_[file];
        }
    }
    const files::DataFile& planned = files_[file];
    Result<files::DataFile> now = files::statFile(planned.path, planned.path);
    if (!now.ok()) {
        return Status(now.status().code(),
                      strCat(messageOf(now.status()), "; the run was planned with it"));
    }
    if (now->bytes != planned.bytes) {
        return files::verifySize(planned, now->bytes);
    }
    ASSIGN_OR_RETURN(std::shared_ptr<const files::FileMetadata> read, cache_->get(*now, options_));
    RETURN_IF_ERROR(files::verifyHash(planned, read->contentHash, plannedHash_[file]));
    now->relativePath = planned.relativePath;
    MutexLock lock(mutex_);
    // If two threads arrive at once, both use the facts that were stored first.
    if (facts_[file] == nullptr) {
        facts_[file] = read;
        checked_.emplace(file, *std::move(now)).first->second.etag = read->etag;
    }
    return facts_[file];
}

Result<files::DataFile> Dataset::checkedFile(std::size_t file) const {
    ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts, this->facts(file));
    MutexLock lock(mutex_);
    const auto [at, isNew] = checked_.try_emplace(file, files_[file]);
    if (isNew) {
        at->second.etag = facts->etag;
    }
    return at->second;
}

std::string Dataset::version() const {
    std::string text;
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const files::DataFile& file = files_[i];
        strAppend(&text, file.path, "\n", file.bytes, "\n", file.mtimeNs, "\n", file.changeNs, "\n",
                  facts_[i] == nullptr ? "" : facts_[i]->etag, "\n");
    }
    return hashHex(text);
}

Status Dataset::verifyFiles() const {
    std::vector<files::DataFile> touched;
    {
        MutexLock lock(mutex_);
        for (const auto& [index, file] : checked_) {
            touched.push_back(file);
        }
    }
    return verifyAll(touched);
}

Status Dataset::verifyFiles(std::span<const std::uint32_t> which) const {
    std::vector<files::DataFile> touched;
    {
        MutexLock lock(mutex_);
        for (const std::uint32_t index : which) {
            if (const auto file = checked_.find(index); file != checked_.end()) {
                touched.push_back(file->second);
            }
        }
    }
    return verifyAll(touched);
}

}  // namespace millrace::dataset
