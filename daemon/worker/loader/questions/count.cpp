#include "daemon/worker/loader/questions/count.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "backend/core/memory_budget.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/job/job_file.h"
#include "backend/segment/stream_input.h"
#include "backend/spec/spec_reader.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/split_pass.h"

namespace millrace::loader {
namespace {

constexpr std::int64_t kStoreVersion = 1;
constexpr std::size_t kStoreBytesMax = std::size_t{64} << 20;
/// Most lines shown to people if epochs differ.
constexpr std::size_t kEpochsShown = 20, kNameWidth = 10;

// Returns the spec without the parts that do not affect the number of rows.
spec::RunSpec rowsOnly(spec::RunSpec spec) {
    spec.labels.clear();
    spec.embeddings.clear();
    spec.eval.reset();
    spec.batch.order = "as_is";
    return bareSpec(std::move(spec), {});
}

// Returns whether epochs keep different rows.
bool redraws(const spec::RunSpec& spec) {
    return std::any_of(spec.recipe.begin(), spec.recipe.end(), [](const spec::Step& step) {
        const auto* sample = step.as<spec::SampleStep>();
        return step.enabled && sample != nullptr && sample->redrawEachEpoch && sample->keep < 1;
    });
}

// Counts the rows that passes over the splits of a plan keep.
class RowCounter {
 public:
    explicit RowCounter(std::int64_t limitBytes) : budget_(limitBytes) {}
    static Result<std::unique_ptr<RowCounter>> open(const ResolvedRun& run, int threads) {
        const std::int64_t limitBytes = run.spec.resources.memoryLimitMb * 1'000'000;
        auto counter = std::make_unique<RowCounter>(limitBytes);
        stream::Plan single = run.plan;
        single.segmentSplits = 1;
        ASSIGN_OR_RETURN(auto input,
                         segment::StreamInput::open(
                             rowsOnly(run.spec), std::move(single), recipe::Part::kTrain,
                             counter->budget_, std::make_shared<recipe::SharedTables>(threads)));
        counter->pass_.emplace(std::move(input), limitBytes, threads,
                               [kept = &counter->kept_](const segment::SegmentOutput& output) {
                                   *kept += output.counts.rowsKept;
                               });
        return counter;
    }

    /// Returns the number of rows that `epoch` keeps.
    Result<std::int64_t> count(std::uint32_t epoch, const std::stop_token& stop) {
        kept_ = 0;
        RETURN_IF_ERROR(pass_->run(epoch, stop));
        return kept_.load();
    }

    std::int64_t rowsScanned() const { return pass_->rowsScanned(); }
    bool dropsRows() const { return pass_->input().recipe().dropsRows(); }

 private:
    MemoryBudget budget_;
    std::atomic<std::int64_t> kept_{0};
    std::optional<SplitPass> pass_;
};

struct Counted {
    std::vector<std::int64_t> rows;  ///< by epoch; one entry if all are alike
    bool isCached = false;
};

// Counts as many epochs as differ; known ones are not counted again.
Status countEpochs(const ResolvedRun& run, int threads, const Watch& watch, Counted& counted) {
    const auto wanted = static_cast<std::size_t>(redraws(run.spec) ? run.spec.batch.epochs : 1);
    const CountStore store(cacheDirectory("counts"), run);
    counted.rows = store.read();
    counted.isCached = counted.rows.size() >= wanted;
    if (counted.isCached) {
        counted.rows.resize(wanted);
        return okStatus();
    }
    ASSIGN_OR_RETURN(const auto counter, RowCounter::open(run, threads));
    if (!counter->dropsRows()) {
        counted.rows.assign(wanted, run.plan.numRows());
        return okStatus();
    }
    const auto passes = static_cast<std::int64_t>(wanted - counted.rows.size());
    ProgressLine progress(run.plan.numRows() * passes, "rows");
    RETURN_IF_ERROR(watch.run(
        [&](const std::stop_token& stop) {
            while (counted.rows.size() < wanted) {
                ASSIGN_OR_RETURN(
                    const std::int64_t rows,
                    counter->count(static_cast<std::uint32_t>(counted.rows.size()), stop));
                counted.rows.push_back(rows);
            }
            return okStatus();
        },
        [&](double seconds) { progress.show(counter->rowsScanned(), seconds); }));
    store.write(counted.rows);
    return okStatus();
}

/// Epochs with this number of rows.
struct EpochCount {
    std::int64_t rows = 0, microBatches = 0, steps = 0, wholeSteps = 0;

    static EpochCount of(std::int64_t rows, const spec::BatchSpec& batch) {
        const auto up = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
        return {rows, up(rows, batch.microRows), up(rows, batch.rows), rows / batch.rows};
    }
    void add(const EpochCount& other) {
        rows += other.rows;
        microBatches += other.microBatches;
        steps += other.steps;
        wholeSteps += other.wholeSteps;
    }
    Json toJson() const {
        return {{"rows", rows},
                {"micro_batches", microBatches},
                {"steps", steps},
                {"whole_steps", wholeSteps}};
    }
    std::string toText() const {
        return strCat(formatCount(rows), " rows, ", formatCount(microBatches), " micro-batches, ",
                      formatCount(steps), " steps, ", formatCount(wholeSteps), " of them whole");
    }
};

std::vector<EpochCount> epochsOf(const ResolvedRun& run, const Counted& counted) {
    std::vector<EpochCount> epochs;
    for (std::int64_t e = 0; e < run.spec.batch.epochs; ++e) {
        const std::size_t same = std::min<std::size_t>(e, counted.rows.size() - 1);
        epochs.push_back(EpochCount::of(counted.rows[same], run.spec.batch));
    }
    return epochs;
}

std::string textOf(const ResolvedRun& run, const Counted& counted, bool isJson) {
    const std::vector<EpochCount> epochs = epochsOf(run, counted);
    EpochCount total;
    for (const EpochCount& epoch : epochs) {
        total.add(epoch);
    }
    if (isJson) {
        Json json = total.toJson();
        json["schema_version"] = 1;
        json["name"] = run.spec.name;
        json["variation"] = run.variation;
        json["stream_hash"] = run.streamHash;
        json["plan_hash"] = run.planHash;
        json["step_rows"] = run.spec.batch.rows;
        json["micro_rows"] = run.spec.batch.microRows;
        json["cached"] = counted.isCached;
        json["epochs"] = Json::array();
        for (const EpochCount& epoch : epochs) {
            json["epochs"].push_back(epoch.toJson());
        }
        return dumpJsonPretty(json) + "\n";
    }
    const bool isAlike = counted.rows.size() == 1;
    const std::size_t shown = std::min(isAlike ? 1 : epochs.size(), kEpochsShown);
    std::string text;
    const auto addLine = [&text](const std::string& name, const EpochCount& rows) {
        const std::string room(name.size() < kNameWidth ? kNameWidth - name.size() : 0, ' ');
        strAppend(&text, name, room, " ", rows.toText(), "\n");
    };
    for (std::size_t e = 0; e < shown; ++e) {
        addLine(isAlike ? "an epoch" : strCat("epoch ", e), epochs[e]);
    }
    if (shown < epochs.size() && !isAlike) {
        strAppend(&text, "... and ", epochs.size() - shown, " more\n");
    }
    if (epochs.size() > 1) {
        addLine(strCat(epochs.size(), " epochs"), total);
    }
    return text;
}

// The plan identifies the files' contents by their footers, so filesVersion stays empty.
Result<ResolvedRun> runOfJob(const CountOptions& options) {
    ASSIGN_OR_RETURN(job::JobFile job, job::JobFile::read(options.jobPath));
    ASSIGN_OR_RETURN(const Json plan, parseJson(job.planText, options.jobPath));
    ResolvedRun run;
    run.variation = job.spec.variation;
    run.spec = std::move(job.spec);
    ASSIGN_OR_RETURN(run.plan, stream::Plan::fromJson(plan));
    if (options.isForScoring && !run.spec.eval) {
        return invalidArgument(options.jobPath, ": the run's spec has no eval section");
    }
    if (options.isForScoring) {
        run.spec = spec::evaluationRows(std::move(run.spec));
        if (!run.plan.evalFiles.empty()) {
            run.plan.files = std::exchange(run.plan.evalFiles, {});
            run.plan.schema = std::exchange(run.plan.evalSchema, {});
        }
    }
    hashRun(run);
    return run;
}

}  // namespace

CountStore::CountStore(const std::string& directory, const ResolvedRun& run)
    : directory_(directory),
      path_(directory.empty() ? "" : strCat(directory, "/", run.streamHash, ".json")),
      streamHash_(run.streamHash),
      planHash_(run.planHash),
      filesVersion_(run.filesVersion) {}

std::vector<std::int64_t> CountStore::read() const {
    const auto text =
        path_.empty() ? Result<std::string>(notFound("no cache")) : readFile(path_, kStoreBytesMax);
    const auto json = text.ok() ? parseJson(*text, path_) : Result<Json>(text.status());
    if (!json.ok() || jsonInt(*json, "version") != kStoreVersion ||
        jsonString(*json, "stream_hash") != streamHash_ ||
        jsonString(*json, "plan_hash") != planHash_ ||
        jsonString(*json, "files_version") != filesVersion_) {
        return {};
    }
    std::vector<std::int64_t> rows;
    for (const Json& one : jsonMember(*json, "rows")) {
        if (!one.is_number_unsigned() || one.get<std::uint64_t>() > INT64_MAX) {
            return {};
        }
        rows.push_back(one.get<std::int64_t>());
    }
    return rows;
}

void CountStore::write(const std::vector<std::int64_t>& rows) const {
    if (path_.empty() || !makeDirectories(directory_, 0700).ok()) {
        return;
    }
    const Status written = writeFileAtomic(path_, dumpJson({{"version", kStoreVersion},
                                                            {"stream_hash", streamHash_},
                                                            {"plan_hash", planHash_},
                                                            {"files_version", filesVersion_},
                                                            {"rows", rows}}));
    static_cast<void>(written);  // if it failed, the next run counts again
}

Result<std::int64_t> rowsOfFirstEpoch(const ResolvedRun& run, int threads, const Watch& watch) {
    Counted counted;
    RETURN_IF_ERROR(countEpochs(run, threads, watch, counted));
    return counted.rows.front();
}

int runCount(const CountOptions& options) {
    const Watch watch;
    secondsSinceStart();
    const Result<ResolvedRun> run =
        options.jobPath.empty() ? resolveFile(options) : runOfJob(options);
    if (!run.ok()) {
        return fail(run.status());
    }
    Counted counted;
    const Status status =
        countEpochs(*run, loaderThreads(run->spec, options.threads), watch, counted);
    if (!status.ok()) {
        return fail(status);
    }
    return endWith(textOf(*run, counted, options.isJson));
}

}  // namespace millrace::loader
