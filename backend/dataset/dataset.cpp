#include "backend/dataset/dataset.h"

#include <algorithm>

#include "backend/core/text.h"
#include "backend/dataset/csv_scan.h"

namespace millrace::dataset {
namespace {

Status differ(const DataFile& first, const DataFile& other, std::string_view column,
              std::string_view what) {
    return invalidArgument(other.path, ": column '", column, "' ", what, " ", first.path,
                           "; all files of a dataset must have the same columns");
}

/// Brings one more file's columns into `schema`. CSV types may widen; others must be equal.
Status uniteOne(spec::Schema& schema, const DataFile& first, const DataFile& file,
                const FileFacts& facts, const ReadOptions& options) {
    for (spec::Field& field : schema.fields) {
        const spec::Field* other = facts.schema.find(field.name);
        if (other == nullptr) {
            if (!options.areMissingColumnsNull) {
                return invalidArgument(file.path, ": column '", field.name, "' is missing, which ",
                                       first.path,
                                       " has; dataset.missing_columns: null reads it as null");
            }
            continue;
        }
        if (field.type.isSame(other->type)) {
            continue;
        }
        if (options.format == "csv") {
            const spec::TypeKind kind = uniteCsvTypes(field.type.kind, other->type.kind);
            const bool isWider =
                kind != spec::TypeKind::kString || options.csvTypes.contains(field.name);
            if (isWider) {
                field.type.kind = kind;
                continue;
            }
        }
        return differ(first, file, field.name,
                      strCat("is ", other->type.name(), ", but ", field.type.name(), " in"));
    }
    for (const spec::Field& field : facts.schema.fields) {
        if (schema.find(field.name) == nullptr) {
            if (!options.areMissingColumnsNull) {
                return differ(first, file, field.name, "is not in");
            }
            schema.fields.push_back(field);
        }
    }
    return okStatus();
}

/// The user's types win; columns without any value are strings.
Status pinCsvTypes(spec::Schema& schema, const ReadOptions& options) {
    for (const auto& [name, typeName] : options.csvTypes) {
        if (schema.find(name) == nullptr) {
            return invalidArgument("dataset.csv.types: no column '", name, "'",
                                   nameHint(name, schema.names()));
        }
        Result<spec::DataType> type = spec::parseType(typeName);
        RETURN_IF_ERROR(annotate(type.status(), strCat("dataset.csv.types.", name)));
        if (type->isList || type->kind == spec::TypeKind::kDecimal) {
            return invalidArgument("dataset.csv.types.", name, ": a CSV column cannot be ",
                                   typeName, "; read it as a string and cast or split it");
        }
        schema.set(name, *type);
    }
    for (spec::Field& field : schema.fields) {
        if (field.type.kind == spec::TypeKind::kNull) {
            field.type.kind = spec::TypeKind::kString;
        }
    }
    return okStatus();
}

}  // namespace

ReadOptions readOptionsOf(const spec::DatasetSpec& dataset) {
    ReadOptions options;
    options.format = dataset.format;
    if (options.format.empty()) {
        options.format = dataset.path.empty() ? "" : formatOfPath(dataset.path.front());
        options.format = options.format.empty() ? "parquet" : options.format;
    }
    options.csvSplitRows = dataset.csvSplitRows;
    options.csvDelimiter = dataset.csv.delimiter.empty() ? ',' : dataset.csv.delimiter[0];
    options.csvHasHeader = dataset.csv.header;
    options.csvTypes = dataset.csv.types;
    options.areMissingColumnsNull = dataset.missingColumns == "null";
    return options;
}

std::string formatOfPath(const std::string& path) {
    const auto ends = [&path](std::string_view end) { return path.ends_with(end); };
    if (ends(".csv") || ends(".tsv") || ends(".txt")) {
        return "csv";
    }
    if (ends(".parquet") || ends(".pq") || ends(".parq")) {
        return "parquet";
    }
    return ends(".arrow") || ends(".feather") || ends(".ipc") ? "arrow" : "";
}

Status Dataset::uniteSchemas(const std::vector<std::shared_ptr<const FileFacts>>& facts) {
    bool isFirst = true;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (facts[i] == nullptr) {
            continue;
        }
        if (isFirst) {
            schema_ = facts[i]->schema;
            isFirst = false;
            continue;
        }
        RETURN_IF_ERROR(uniteOne(schema_, files_.front(), files_[i], *facts[i], options_));
    }
    return options_.format == "csv" ? pinCsvTypes(schema_, options_) : okStatus();
}

Result<std::shared_ptr<const Dataset>> Dataset::open(const std::vector<std::string>& paths,
                                                     const std::string& baseDir,
                                                     const ReadOptions& options,
                                                     std::shared_ptr<FactsCache> cache,
                                                     int threads) {
    std::shared_ptr<Dataset> dataset(new Dataset);
    dataset->options_ = options;
    dataset->cache_ = std::move(cache);
    ASSIGN_OR_RETURN(dataset->files_, listFiles(paths, baseDir, options.format));
    ASSIGN_OR_RETURN(auto facts, dataset->cache_->getAll(dataset->files_, options, threads));
    RETURN_IF_ERROR(dataset->uniteSchemas(facts));
    MutexLock lock(dataset->mutex_);
    dataset->facts_ = std::move(facts);
    return std::shared_ptr<const Dataset>(std::move(dataset));
}

Result<std::shared_ptr<const Dataset>> Dataset::ofPlan(const std::vector<stream::PlanFile>& files,
                                                       const ReadOptions& options,
                                                       std::shared_ptr<FactsCache> cache) {
    if (files.empty()) {
        return invalidArgument("plan: no files");
    }
    std::shared_ptr<Dataset> dataset(new Dataset);
    dataset->options_ = options;
    dataset->cache_ = std::move(cache);
    for (const stream::PlanFile& planned : files) {
        DataFile file;
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
    // One file's columns are every file's, unless CSV types or missing columns are put together.
    std::vector<std::shared_ptr<const FileFacts>> facts(files.size());
    ASSIGN_OR_RETURN(facts[0], dataset->facts(0));
    bool needsAll = options.areMissingColumnsNull;
    if (options.format == "csv") {
        needsAll |= options.csvTypes.size() < facts[0]->schema.fields.size();
    }
    for (std::size_t i = 1; needsAll && i < files.size(); ++i) {
        ASSIGN_OR_RETURN(facts[i], dataset->facts(i));
    }
    RETURN_IF_ERROR(dataset->uniteSchemas(facts));
    return std::shared_ptr<const Dataset>(std::move(dataset));
}

Result<std::shared_ptr<const FileFacts>> Dataset::facts(std::size_t file) const {
    {
        MutexLock lock(mutex_);
        if (facts_[file] != nullptr) {
            return facts_[file];
        }
    }
    const DataFile& planned = files_[file];
    Result<DataFile> now = statFile(planned.path, planned.path);
    if (!now.ok()) {
        return Status(now.status().code(),
                      strCat(messageOf(now.status()), "; the run was planned with it"));
    }
    if (now->bytes != planned.bytes) {
        return failedPrecondition(planned.path, ": changed since the run was planned: ", now->bytes,
                                  " bytes, planned ", planned.bytes);
    }
    ASSIGN_OR_RETURN(std::shared_ptr<const FileFacts> read, cache_->get(*now, options_));
    if (read->contentHash != plannedHash_[file]) {
        return failedPrecondition(planned.path, ": changed since the run was planned: its hash is ",
                                  read->contentHash, ", planned ", plannedHash_[file]);
    }
    MutexLock lock(mutex_);
    facts_[file] = read;
    return read;
}

Result<spec::Schema> schemaOf(const std::vector<std::string>& paths, const std::string& baseDir,
                              const ReadOptions& options, std::shared_ptr<FactsCache> cache) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                     Dataset::open(paths, baseDir, options, std::move(cache)));
    return dataset->schema();
}

}  // namespace millrace::dataset
