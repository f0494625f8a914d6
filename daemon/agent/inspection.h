#pragma once
// Inspection: answers the requests of the service Inspect about specs, datasets and scores. It
// stores and starts nothing.
//
// It checks the request and passes it to `millrace-loader inspect`. It returns that worker's answer
// unchanged, except for pairs: one line of JSON in the form of the response messages of
// proto/millrace/v1/inspect.proto. Threads: any; a call blocks while the worker reads. Failure:
// kInvalidArgument for a request that is not valid, else as Inspector::ask.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "backend/core/status.h"
#include "backend/values/inspection.h"
#include "daemon/agent/inspector.h"

namespace millrace::agent {

/// Returns the worker's request for a spec as it was received.
InspectRequest inspectRequestOf(const values::SpecSource& spec);
InspectRequest inspectRequestOf(const values::SubmitRequest& request);

/// OK, or what is wrong with a spec's text or directory; checked before anything reads it.
Status checkSpecText(const InspectRequest& spec, std::int64_t maxBytes);

/// Returns the stored plan of a run by its id.
using ReadPlan = std::function<Result<std::string>(const std::string& id)>;

class Inspection {
 public:
    /// `inspector` outlives it, and so does all that `readPlan` uses.
    Inspection(Inspector& inspector, std::int64_t maxSpecBytes, std::string runsDir,
               ReadPlan readPlan)
        : inspector_(inspector),
          maxSpecBytes_(maxSpecBytes),
          runsDir_(std::move(runsDir)),
          readPlan_(std::move(readPlan)) {}

    Result<std::string> check(const values::CheckRequest& request,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> dataset(const values::DatasetRequest& request,
                                const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> steps(const values::StepsRequest& request,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> preview(const values::PreviewRequest& request,
                                const IsUnwanted& isUnwanted = {}) const;
    /// Pairs the runs' scores and compares the files of their plans. Does not pair scores of
    /// evaluations whose files differ in content: rows at equal positions are then other rows.
    Result<std::string> pair(const values::PairRequest& request,
                             const IsUnwanted& isUnwanted = {}) const;

 private:
    Inspector& inspector_;
    const std::int64_t maxSpecBytes_;
    const std::string runsDir_;
    const ReadPlan readPlan_;
};

}  // namespace millrace::agent
