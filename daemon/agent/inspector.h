#pragma once
// Inspector: asks `millrace-loader inspect` what a spec means, so that the daemon never parses a
// user's file. Used by RunService and Inspection.
//
// Threads: any thread that outlives its call (the worker ends with the thread that asked, and with
// the daemon). A call blocks for as long as the dataset's footers take. Failure: errors in the spec
// are a value; a Status means that the question could not be answered (time, memory, a crash).
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_table.h"
#include "backend/spec/spec_reader.h"
#include "backend/system/subprocess.h"
#include "backend/text/json.h"

namespace millrace::agent {

struct InspectRequest {
    std::string text, fileName, baseDir;
    std::vector<std::string> variations;  ///< "" is the base spec
    bool isAll = false;                   ///< the base and every variation
    std::vector<std::string> sets;
    /// The path in which the submitting process searches a command. Empty: it is not searched.
    std::string searchPath, workingDirectory;
};

struct InspectedRun {
    std::string variation, name;
    Json spec;  ///< resolved, canonical
    std::string specHash, streamHash;
    std::shared_ptr<const std::string>
        plan;        ///< canonical JSON; runs with the same plan share one text
    Json planFacts;  ///< numbers: files, splits, rows, bytes
    std::string planHash;
    std::vector<std::string> warnings;
};

struct InspectReply {
    std::vector<InspectedRun> runs;
    spec::SpecErrors errors;            ///< not empty: no runs
    std::vector<std::string> warnings;  ///< beside errors: on how the files are read
};

/// Called several times a second while a worker reads; returns true when the answer is no longer
/// wanted. Empty: it is always wanted.
using IsUnwanted = std::function<bool()>;

class Inspector {
 public:
    virtual ~Inspector() = default;
    virtual Result<InspectReply> resolve(const InspectRequest& request,
                                         const IsUnwanted& isUnwanted) = 0;
    /// Returns the worker's answer to any of its questions, one line of JSON. `about` is the name
    /// in error messages of what was asked about ("spec.yaml").
    virtual Result<std::string> ask(const Json& question, const std::string& about,
                                    const IsUnwanted& isUnwanted) = 0;
    /// Ends workers that read, and refuses further questions. Does not wait.
    virtual void end() {}
};

/// Returns what the worker reads. `op`: "resolve" or "check".
Json inspectQuestion(const InspectRequest& request, std::string_view op = "resolve");
/// Reads what the worker wrote. Cuts plans out of the text and never builds them as trees.
Result<InspectReply> parseInspectReply(const std::string& text);

/// Counts the values of a run's vocabularies, as CountValues of a Workplace. Takes as long as
/// reading their rows.
Result<runs::CountedSpec> countValues(Inspector& inspector, const std::string& resolvedSpec,
                                      const std::string& plan, const std::string& progressFile,
                                      const IsUnwanted& isUnwanted);

/// Most workers that run at once: one for each thread that serves submits or questions, and one for
/// the thread that serves previews.
inline constexpr int kInspectorsMax = 5;

struct LoaderInspectorOptions {
    std::string program;     ///< millrace-loader
    bool trainsHere = true;  ///< runs are checked against this machine's GPUs and memory
    std::chrono::milliseconds timeout{120'000};
    std::int64_t memoryLimitBytes = memoryShareOf(kInspectorsMax);  ///< of address space
    std::int64_t maxAnswerBytes = std::int64_t{256} << 20;
};

class LoaderInspector final : public Inspector {
 public:
    explicit LoaderInspector(LoaderInspectorOptions options) : options_(std::move(options)) {}
    Result<InspectReply> resolve(const InspectRequest& request,
                                 const IsUnwanted& isUnwanted) override;
    /// kDeadlineExceeded after `timeout`. kResourceExhausted when its memory or its answer grows
    /// too large. kInternal when it crashes. Each has one sentence that begins with `about`.
    /// kCancelled when the answer is no longer wanted, kUnavailable after end().
    Result<std::string> ask(const Json& question, const std::string& about,
                            const IsUnwanted& isUnwanted) override;
    void end() override { isEnding_ = true; }

 private:
    const LoaderInspectorOptions options_;
    std::atomic<bool> isEnding_{false};
};

}  // namespace millrace::agent
