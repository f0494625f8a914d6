#pragma once
// Inspection: what the service Inspect asks about specs and datasets. Nothing is stored or started.
//
// Checks the question and hands it to `millrace-loader inspect`; the answers are that worker's,
// untouched: one line of JSON in the form of the response messages of
// proto/millrace/v1/inspect.proto. Threads: any; a call blocks while the worker reads. Failure:
// kInvalidArgument for a question that cannot be asked, else as Inspector::ask.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "daemon/agent/inspector.h"

namespace millrace::agent {

struct DatasetQuestion {
    std::vector<std::string> paths;  ///< none: those of `spec`
    std::string baseDir, format;
    InspectRequest spec;
    std::int64_t filesMax = 0;  ///< 0: the worker's own number
};

struct StepsQuestion {
    InspectRequest spec;
    std::string variation;
    std::uint64_t rows = 0;  ///< 0: 50
    std::uint64_t split = 0, firstRow = 0;
};

struct PreviewQuestion {
    InspectRequest spec;
    std::string variation;
    double seconds = 0;        ///< for samples; 0: 3
    std::int64_t threads = 0;  ///< of the loader; 0: the spec's, else one a core
};

/// OK, or what is wrong with a spec's text or directory before anybody reads it.
Status checkSpecText(const InspectRequest& spec, std::int64_t maxBytes);

class Inspection {
 public:
    /// `inspector` outlives it.
    Inspection(Inspector& inspector, std::int64_t maxSpecBytes)
        : inspector_(inspector), maxSpecBytes_(maxSpecBytes) {}

    Result<std::string> check(const InspectRequest& request,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> dataset(const DatasetQuestion& question,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> steps(const StepsQuestion& question,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> preview(const PreviewQuestion& question,
                                const IsUnwanted& isUnwanted = {}) const;

 private:
    Inspector& inspector_;
    const std::int64_t maxSpecBytes_;
};

}  // namespace millrace::agent
