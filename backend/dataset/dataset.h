#pragma once
// A dataset: an ordered list of files of one format with one schema.
//
// open() lists the files that a spec names and reads the facts of all of them (in `inspect`).
// ofPlan() takes the files that a plan pinned; it reads a file's facts when the file is first used,
// and checks then that it still is the planned one (in the feed and the data workers).
// Threads: any; immutable except for what it reads on demand, which is locked.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/dataset/metadata_cache.h"
#include "backend/dataset/plan/partitions.h"
#include "backend/expr/schema.h"
#include "backend/files/file_metadata.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::csv {
class GzipPoints;
}
namespace millrace::pages {
class ParquetFooters;
}

namespace millrace::dataset {

/// The reading options that a spec's dataset section asks for.
files::ReadOptions readOptionsOf(const spec::DatasetSpec& dataset);
/// The default options for files without a spec. `format`: "" to use the first path's suffix.
files::ReadOptions readOptionsOf(const std::vector<std::string>& paths, const std::string& format);

class Dataset {
 public:
    /// Lists files and reads their facts with up to `threads` threads. `only`: the files of these
    /// relative paths alone (empty: all); others are not opened and decide nothing. Failure: no
    /// such file, empty glob, corrupt file, a type given to a column that no file has;
    /// kFailedPrecondition where one of `only` is gone. Columns that differ between files are
    /// refused in schema().
    static Result<std::shared_ptr<const Dataset>> open(const std::vector<std::string>& paths,
                                                       const std::string& baseDir,
                                                       const files::ReadOptions& options,
                                                       std::shared_ptr<MetadataCache> cache,
                                                       int threads = 4,
                                                       const std::vector<std::string>& only = {});

    /// The files that a plan pinned. `schema`: the dataset's schema from the plan (empty: it is
    /// built from the facts of all files).
    static Result<std::shared_ptr<const Dataset>> ofPlan(const std::vector<stream::PlanFile>& files,
                                                         const files::ReadOptions& options,
                                                         std::shared_ptr<MetadataCache> cache,
                                                         const expr::Schema& schema = {});

    const expr::Schema& schema() const { return schema_; }
    const files::ReadOptions& options() const { return options_; }
    const std::vector<files::DataFile>& files() const { return files_; }
    const std::shared_ptr<MetadataCache>& cache() const { return cache_; }
    /// XXH3-128 hex of what identifies the files' versions: path, size, change times of a local
    /// file, ETag of an object. Unlike the plan's hash it changes with any byte of a file. Only for
    /// a dataset from open().
    std::string version() const;
    /// Whether a file is an object of a store, and so worth reading ahead.
    bool hasObjects() const;
    /// Columns from directory names.
    const std::vector<PartitionColumn>& partitions() const { return partitions_; }
    /// Notes on how the files were read: rows left out, words that stay text.
    const std::vector<std::string>& notes() const { return notes_; }
    /// Number of rows in all files that dataset.csv.on_bad_row dropped; unknown (0) for a dataset
    /// of a plan.
    std::int64_t badRows() const { return badRows_; }
    /// Columns whose values would have other hashes and texts in some files than in the rest, as
    /// integers beside floats and dates beside timestamps: by name, why. Filled by open() alone.
    const std::map<std::string, std::string>& mixed() const { return mixed_; }
    /// Null when the column is not one of them.
    const PartitionColumn* partition(std::string_view column) const;
    /// Parsed Parquet footers, shared by the readers.
    pages::ParquetFooters& footers() const { return *footers_; }
    /// The saved restart points of compressed CSV files, shared by the readers.
    const std::shared_ptr<csv::GzipPoints>& gzipPoints() const { return gzipPoints_; }
    /// Announces the columns that readers will request: wide files' footers are parsed only for
    /// these.
    void expectColumns(const std::vector<std::string>& columns) const;

    /// The file's facts. For a dataset of a plan, the first call verifies the planned size and
    /// hash. Failure: kFailedPrecondition "PATH: changed since the run was planned ..."; kNotFound
    /// if the file is gone.
    Result<std::shared_ptr<const files::FileMetadata>> facts(std::size_t file) const;

    /// The file with its identity when its facts were checked: what FileSource opens.
    Result<files::DataFile> checkedFile(std::size_t file) const;

    /// Verifies that the local files used so far are unchanged since they were checked; returns the
    /// first error, in the words of facts(). For the end of an epoch.
    Status verifyFiles() const;
    /// Verifies only these files, by index in the plan.
    Status verifyFiles(std::span<const std::uint32_t> which) const;

 private:
    Dataset();
    using FactsOfFiles = std::vector<std::shared_ptr<const files::FileMetadata>>;
    Status uniteSchemas(const FactsOfFiles& facts);
    void noteMixed(const FactsOfFiles& facts);
    Status dropBadRows(FactsOfFiles& facts, int threads);
    void noteDelimiter();
    Status addPartitions();
    Status checkTypes() const;

    files::ReadOptions options_;
    std::vector<files::DataFile> files_;
    expr::Schema schema_;
    std::vector<PartitionColumn> partitions_;
    std::vector<std::string> notes_;
    std::map<std::string, std::string> mixed_;
    std::int64_t badRows_ = 0;
    std::shared_ptr<MetadataCache> cache_;
    std::shared_ptr<pages::ParquetFooters> footers_;
    std::shared_ptr<csv::GzipPoints> gzipPoints_;
    std::vector<std::string> plannedHash_;  ///< by file; empty for open()
    mutable Mutex mutex_;
    mutable std::vector<std::shared_ptr<const files::FileMetadata>> facts_ MR_GUARDED_BY(mutex_);
    mutable std::map<std::size_t, files::DataFile> checked_ MR_GUARDED_BY(mutex_);  ///< by file
};

/// parquet, csv or arrow by the name's suffix ("" for other suffixes).
std::string formatOfPath(const std::string& path);

}  // namespace millrace::dataset
