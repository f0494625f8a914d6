#pragma once
// Inspection: what the service Inspect asks about specs, datasets and scores. Nothing is stored or
// started.
//
// Checks the question and hands it to `millrace-loader inspect`; the answers are that worker's,
// untouched: one line of JSON in the form of the response messages of
// proto/millrace/v1/inspect.proto. Threads: any; a call blocks while the worker reads. Failure:
// kInvalidArgument for a question that cannot be asked, else as Inspector::ask.
#include <cstdint>
#include <string>
#include <utility>

#include "backend/core/status.h"
#include "backend/values/inspection.h"
#include "daemon/agent/inspector.h"

namespace millrace::agent {

/// A spec as it came, as the worker is asked about it.
InspectRequest inspectRequestOf(const values::SpecSource& spec);
InspectRequest inspectRequestOf(const values::SubmitRequest& request);

/// OK, or what is wrong with a spec's text or directory before anybody reads it.
Status checkSpecText(const InspectRequest& spec, std::int64_t maxBytes);

class Inspection {
 public:
    /// `inspector` outlives it.
    Inspection(Inspector& inspector, std::int64_t maxSpecBytes, std::string runsDir)
        : inspector_(inspector), maxSpecBytes_(maxSpecBytes), runsDir_(std::move(runsDir)) {}

    Result<std::string> check(const values::CheckRequest& request,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> dataset(const values::DatasetRequest& request,
                                const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> steps(const values::StepsRequest& request,
                              const IsUnwanted& isUnwanted = {}) const;
    Result<std::string> preview(const values::PreviewRequest& request,
                                const IsUnwanted& isUnwanted = {}) const;
    /// Of a run that is not there: that it has no scores.
    Result<std::string> pair(const values::PairRequest& request,
                             const IsUnwanted& isUnwanted = {}) const;

 private:
    Inspector& inspector_;
    const std::int64_t maxSpecBytes_;
    const std::string runsDir_;
};

}  // namespace millrace::agent
