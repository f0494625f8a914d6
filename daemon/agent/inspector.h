#pragma once
// Inspector: asks `millrace-loader inspect` what a spec means. No user file is parsed in the
// daemon.
//
// Threads: any that lasts (the worker dies with the thread that asked, and with the daemon); a call
// blocks for as long as the dataset's footers take. Failure: errors in the
// spec are a value; a Status says that the question could not be answered (time, memory, a crash).
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/runs/run_table.h"
#include "backend/spec/spec_reader.h"
#include "backend/system/subprocess.h"

namespace millrace::agent {

struct InspectRequest {
    std::string text, fileName, baseDir;
    std::vector<std::string> variations;  ///< "" is the base
    bool isAll = false;                   ///< the base and every variation
    std::vector<std::string> sets;
    /// Of who submits: where a command is looked for. Without a path it is not.
    std::string searchPath, workingDirectory;
};

struct InspectedRun {
    std::string variation, name;
    Json spec;  ///< resolved, canonical
    std::string specHash, streamHash;
    std::shared_ptr<const std::string>
        plan;        ///< canonical JSON; one text for all runs that have it
    Json planFacts;  ///< numbers: files, splits, rows, bytes
    std::string planHash;
    std::vector<std::string> warnings;
};

struct InspectReply {
    std::vector<InspectedRun> runs;
    spec::SpecErrors errors;  ///< not empty: no runs
};

/// Asked several times a second while a worker reads: true when nobody wants its answer any more.
/// Empty: somebody does.
using IsUnwanted = std::function<bool()>;

class Inspector {
 public:
    virtual ~Inspector() = default;
    virtual Result<InspectReply> resolve(const InspectRequest& request,
                                         const IsUnwanted& isUnwanted) = 0;
    /// The worker's answer to any of its questions, one line of JSON; `about` names in a message
    /// what was asked about ("spec.yaml").
    virtual Result<std::string> ask(const Json& question, const std::string& about,
                                    const IsUnwanted& isUnwanted) = 0;
    /// Workers that read are ended, questions that come are refused. Does not wait.
    virtual void end() {}
};

/// What the worker reads and writes, apart from starting it. `op`: "resolve" or "check".
Json inspectQuestion(const InspectRequest& request, std::string_view op = "resolve");
/// Plans are cut out of the text and never built as trees.
Result<InspectReply> parseInspectReply(const std::string& text);

/// Asks for the values of a run's vocabularies to be counted, as CountValues of a Workplace; takes
/// as long as its rows do.
Result<runs::CountedSpec> countValues(Inspector& inspector, const std::string& resolvedSpec,
                                      const std::string& plan, const std::string& progressFile,
                                      const IsUnwanted& isUnwanted);

/// So many may run at once: a call of each thread that serves submits, of each that serves
/// questions, and of the one that serves previews.
inline constexpr int kInspectorsMax = 5;

struct LoaderInspectorOptions {
    std::string program;     ///< millrace-loader
    bool trainsHere = true;  ///< runs are held against this machine's GPUs and memory
    std::chrono::milliseconds timeout{120'000};
    std::int64_t memoryLimitBytes = memoryShareOf(kInspectorsMax);  ///< of address space
    std::int64_t maxAnswerBytes = std::int64_t{256} << 20;
};

class LoaderInspector final : public Inspector {
 public:
    explicit LoaderInspector(LoaderInspectorOptions options) : options_(std::move(options)) {}
    Result<InspectReply> resolve(const InspectRequest& request,
                                 const IsUnwanted& isUnwanted) override;
    /// kDeadlineExceeded after `timeout`, kResourceExhausted when its memory or its answer grows
    /// too large, kInternal when it crashes: each with one sentence that begins with `about`.
    /// kCancelled when it is unwanted, kUnavailable after end().
    Result<std::string> ask(const Json& question, const std::string& about,
                            const IsUnwanted& isUnwanted) override;
    void end() override { isEnding_ = true; }

 private:
    const LoaderInspectorOptions options_;
    std::atomic<bool> isEnding_{false};
};

}  // namespace millrace::agent
