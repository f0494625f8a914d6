#include "daemon/worker/loader/questions/preview.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include <time.h>

#include "backend/segment/frame_gatherer.h"
#include "backend/segment/segment_runner.h"
#include "backend/text/json.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/checks/labels.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/questions/estimate.h"
#include "daemon/worker/loader/resolve.h"
#include "daemon/worker/loader/segments.h"

namespace millrace::loader {

namespace {

double clockSeconds(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Measurements of one split.
struct SplitFigures {
    double rows = 0, kept = 0;
    double diskBytes = 0, frameBytes = 0;
    double cpuSeconds = 0, waitSeconds = 0;
    std::vector<double> stepRows;   ///< out of each step
    std::vector<double> positives;  ///< by head
    std::vector<double> labelled;   ///< by head: rows whose label counts
    std::vector<recipe::StepCount> steps;
};

// A column (reading, encoding) or the steps of a name: its share of the processor time, 0 to 1.
struct CostShare {
    std::string kind, name;
    double share = 0;
};

constexpr std::size_t kDearestShown = 8;

// Runs whole splits of a stream, one at a time, on one thread, up to finished frames.
class Sampler {
 public:
    Sampler(std::shared_ptr<const segment::StreamInput> input, segment::BufferPool& pool)
        : input_(std::move(input)),
          pool_(pool),
          runner_(input_, pool, counters_),
          gatherer_(input_->layout()) {}

    Result<SplitFigures> run(std::int64_t split) {
        const double wall = clockSeconds(CLOCK_MONOTONIC);
        const double cpu = clockSeconds(CLOCK_THREAD_CPUTIME_ID);
        const std::int64_t disk = counters_.read(segment::Stage::kRead).bytes;
        SplitFigures figures;
        figures.positives.resize(input_->spec().heads().size());
        figures.labelled.resize(figures.positives.size());
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, runner_.run(0, split));
        RETURN_IF_ERROR(collate(output, figures));
        figures.cpuSeconds = clockSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
        figures.waitSeconds =
            std::max(0.0, clockSeconds(CLOCK_MONOTONIC) - wall - figures.cpuSeconds);
        figures.rows = static_cast<double>(output.counts.rowsScanned);
        figures.kept = static_cast<double>(output.rowsKept());
        figures.diskBytes = static_cast<double>(counters_.read(segment::Stage::kRead).bytes - disk);
        for (const recipe::StepCount& step : output.counts.steps) {
            figures.stepRows.push_back(static_cast<double>(step.rowsOut));
        }
        figures.steps = output.counts.steps;
        cpuSeconds_ += figures.cpuSeconds;
        return figures;
    }

    /// The most expensive columns and steps of all splits that were run, the most expensive first.
    std::vector<CostShare> dearest() const {
        std::vector<CostShare> costs;
        const double total = std::max(cpuSeconds_, 1e-9) * 1e9;
        for (const auto& [name, column] : counters_.columns()) {
            costs.push_back({"column", name, static_cast<double>(column.busyNs()) / total});
        }
        for (const auto& [name, step] : counters_.steps()) {
            costs.push_back({"step", name, static_cast<double>(step.busyNs) / total});
        }
        std::stable_sort(costs.begin(), costs.end(),
                         [](const CostShare& a, const CostShare& b) { return a.share > b.share; });
        costs.resize(std::min(costs.size(), kDearestShown));
        return costs;
    }

 private:
    Status collate(const segment::SegmentOutput& output, SplitFigures& figures) {
        for (std::int64_t first = 0; first < output.rowsKept(); first += input_->microRows()) {
            const std::int64_t rows = std::min(input_->microRows(), output.rowsKept() - first);
            ASSIGN_OR_RETURN(const std::uint64_t bytes, gatherer_.measure(output, first, rows));
            if (frame_.size() < static_cast<std::int64_t>(bytes)) {
                ASSIGN_OR_RETURN(frame_, segment::PooledBuffer::allocate(
                                             pool_, static_cast<std::int64_t>(bytes * 5 / 4)));
            }
            RETURN_IF_ERROR(gatherer_.write(frame_.bytes().first(bytes), {}));
            RETURN_IF_ERROR(countLabels(frame_.bytes().first(bytes), figures));
            figures.frameBytes += static_cast<double>(bytes);
        }
        return okStatus();
    }

    Status countLabels(std::span<const std::byte> frame, SplitFigures& figures) const {
        ASSIGN_OR_RETURN(const frame::FrameView view,
                         frame::FrameView::open(frame, frame::CheckLevel::kDirectory));
        const std::vector<std::string> heads = input_->spec().heads();
        for (std::size_t h = 0; h < heads.size(); ++h) {
            const auto column = [&](frame::Role role) {
                return static_cast<std::size_t>(view.find(role, heads[h]));
            };
            const auto labels = view.values<float>(column(frame::Role::kLabel));
            const auto masks = view.values<std::uint8_t>(column(frame::Role::kMask));
            for (std::size_t r = 0; r < labels.size(); ++r) {
                figures.labelled[h] += masks[r] != 0 ? 1 : 0;
                figures.positives[h] += masks[r] != 0 && labels[r] > 0 ? 1 : 0;
            }
        }
        return okStatus();
    }

    const std::shared_ptr<const segment::StreamInput> input_;
    segment::BufferPool& pool_;
    segment::StageCounters counters_;
    segment::SegmentRunner runner_;
    segment::FrameGatherer gatherer_;
    segment::PooledBuffer frame_;
    double cpuSeconds_ = 0;  ///< of all splits that were run
};

// The order in which splits are sampled: every split has the same probability.
std::vector<std::int64_t> sampleOrder(std::int64_t splits, std::uint64_t seed) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(splits));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed);
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random() % i]);
    }
    return order;
}

struct Preview {
    PreviewOptions options;
    ResolvedRun run;
    std::unique_ptr<LoaderMemory> memory;  // before what is taken from it
    std::shared_ptr<const segment::StreamInput> input;
    std::vector<SplitFigures> sample;
    std::vector<CostShare> dearest;
    std::vector<std::string> notes;
    std::int64_t threads = 1;
    std::int64_t rows = 0;

    Estimate perRow(const std::function<double(const SplitFigures&)>& figure,
                    bool isTime = false) const {
        std::vector<ClusterValue> values;
        for (const SplitFigures& split : sample) {
            values.push_back({split.rows, figure(split)});
        }
        return ratioPerRow(values, isTime ? 0 : input->numSegments());
    }
    /// The same per kept row.
    Estimate perKept(const std::function<double(const SplitFigures&)>& figure,
                     bool isTime = false) const {
        std::vector<ClusterValue> values;
        for (const SplitFigures& split : sample) {
            values.push_back({split.kept, figure(split)});
        }
        return ratioPerRow(values, isTime ? 0 : input->numSegments());
    }
};

Json stepsJson(const Preview& preview) {
    Json steps = Json::array();
    const auto& names = preview.input->recipe().stepNames();
    for (std::size_t s = 0; s < names.size(); ++s) {
        const Estimate out = preview.perRow([s](const SplitFigures& f) { return f.stepRows[s]; });
        steps.push_back(
            {{"name", names[s]}, {"rows_out", out.scaled(double(preview.rows)).toJson()}});
    }
    return steps;
}

Json headsJson(const Preview& preview) {
    Json heads = Json::array();
    const std::vector<std::string> names = preview.run.spec.heads();
    for (std::size_t h = 0; h < names.size(); ++h) {
        std::vector<ClusterValue> share;
        for (const SplitFigures& split : preview.sample) {
            share.push_back({split.labelled[h], split.positives[h]});
        }
        const auto total = [&](auto member) {
            return preview.perRow([h, member](const SplitFigures& f) { return (f.*member)[h]; })
                .scaled(static_cast<double>(preview.rows))
                .toJson();
        };
        heads.push_back(
            {{"name", names[h]},
             {"labelled", total(&SplitFigures::labelled)},
             {"positives", total(&SplitFigures::positives)},
             {"positive_share", ratioPerRow(share, preview.input->numSegments()).toJson()}});
    }
    return heads;
}

Json dearestJson(const Preview& preview) {
    Json costs = Json::array();
    for (const CostShare& cost : preview.dearest) {
        costs.push_back({{"kind", cost.kind}, {"name", cost.name}, {"share", cost.share}});
    }
    return costs;
}

// Cores, bytes and time at a given number of kept rows per second.
Json appetiteJson(const Preview& preview) {
    const double rate = preview.options.rowsPerSecond;
    if (rate <= 0) {
        return nullptr;
    }
    const Estimate kept = preview.perRow([](const SplitFigures& f) { return f.kept; });
    return {
        {"rows_per_second", rate},
        {"cores", preview.perKept([](const SplitFigures& f) { return f.cpuSeconds; }, true)
                      .scaled(rate)
                      .toJson()},
        {"disk_bytes_per_second",
         preview.perKept([](const SplitFigures& f) { return f.diskBytes; }).scaled(rate).toJson()},
        {"delivered_bytes_per_second",
         preview.perKept([](const SplitFigures& f) { return f.frameBytes; }).scaled(rate).toJson()},
        {"epoch_seconds", kept.scaled(static_cast<double>(preview.rows) / rate).toJson()}};
}

Json documentOf(const Preview& preview) {
    const auto all = static_cast<double>(preview.rows);
    const Estimate cpu = preview.perRow([](const SplitFigures& f) { return f.cpuSeconds; }, true);
    const Estimate wait = preview.perRow([](const SplitFigures& f) { return f.waitSeconds; }, true);
    const Estimate kept = preview.perRow([](const SplitFigures& f) { return f.kept; });
    const Estimate cpuPerKept =
        preview.perKept([](const SplitFigures& f) { return f.cpuSeconds; }, true);
    double sampledRows = 0;
    for (const SplitFigures& split : preview.sample) {
        sampledRows += split.rows;
    }
    const auto bytes = [&](auto member) {
        return preview.perRow([member](const SplitFigures& f) { return f.*member; })
            .scaled(all)
            .toJson();
    };
    Json json = {{"schema_version", 1},
                 {"name", preview.run.spec.name},
                 {"variation", preview.run.variation},
                 {"stream_hash", preview.run.streamHash},
                 {"plan_hash", preview.run.planHash},
                 {"files", preview.run.plan.files.size()},
                 {"splits", preview.input->numSegments()},
                 {"splits_sampled", preview.sample.size()},
                 {"rows", preview.rows},
                 {"rows_sampled", static_cast<std::int64_t>(sampledRows)},
                 {"threads", preview.threads},
                 {"rows_kept", kept.scaled(all).toJson()},
                 {"keep_share", kept.toJson()},
                 {"steps", stepsJson(preview)},
                 {"heads", headsJson(preview)},
                 {"disk_bytes_per_epoch", bytes(&SplitFigures::diskBytes)},
                 {"delivered_bytes_per_epoch", bytes(&SplitFigures::frameBytes)},
                 {"cpu_seconds_per_epoch", cpu.scaled(all).toJson()},
                 {"wait_seconds_per_epoch", wait.scaled(all).toJson()},
                 {"rows_per_second_per_core", cpuPerKept.inverted(1).toJson()},
                 {"epoch_seconds", cpu.scaled(all / static_cast<double>(preview.threads)).toJson()},
                 {"dearest", dearestJson(preview)},
                 {"appetite", appetiteJson(preview)},
                 {"seconds", secondsSinceStart()}};
    addSegments(segmentSizeOf(preview.run.plan), json);
    const std::string advice = segmentsAdvice(preview.run.plan);
    json["segments_advice"] = advice.empty() ? Json() : Json(advice);
    json["notes"] = preview.notes;
    return json;
}

// Opens the stream of a resolved run.
Status openInput(Preview& preview) {
    spec::RunSpec& spec = preview.run.spec;
    preview.threads = loaderThreads(spec, preview.options.threads);
    // A segment has one split, so that the runner's unit is the sample's.
    stream::Plan plan = preview.run.plan;
    plan.segmentSplits = spec.batch.segmentSplits = 1;
    preview.memory = std::make_unique<LoaderMemory>(
        spec.resources.memoryLimitMb, loaderNeed(spec, plan, {static_cast<int>(preview.threads)}));
    RETURN_IF_ERROR(preview.memory->admitted());
    ASSIGN_OR_RETURN(preview.input, segment::StreamInput::open(spec, plan, recipe::Part::kTrain,
                                                               preview.memory->budget()));
    preview.rows = plan.numRows();
    preview.memory->makePools(0);
    ASSIGN_OR_RETURN(const auto findings, checkLabels(spec, preview.run.plan, recipe::Part::kTrain,
                                                      {kCheckBytes, &preview.run.columns}));
    for (const LabelFinding& finding : findings) {
        if (finding.isNan) {
            preview.notes.push_back(finding.message);
        }
    }
    return okStatus();
}

// Notes joins in which no sampled row found a partner: their keys never meet.
void addLonelyJoins(Preview& preview) {
    std::vector<recipe::StepCount> steps(preview.input->recipe().stepNames().size());
    for (const SplitFigures& split : preview.sample) {
        for (std::size_t s = 0; s < steps.size(); ++s) {
            steps[s].add(split.steps[s]);
        }
    }
    for (const auto& [step, note] : lonelyJoins(preview.input->recipe(), steps, "rows")) {
        preview.notes.push_back(note);
    }
}

Status takeSample(Preview& preview, std::stop_token stop, std::atomic<std::int64_t>& done) {
    Sampler sampler(preview.input, preview.memory->segments());
    const std::vector<std::int64_t> order =
        sampleOrder(preview.input->numSegments(), preview.run.spec.batch.seed);
    const double start = secondsSinceStart();
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (stop.stop_requested()) {
            return cancelled("stopped");
        }
        if (i == 0 && order.size() > 1) {
            // One-time costs (code, memory, open files) are not the cost of a split. Runs another
            // split than the first sampled one, because decoders may keep what they read last.
            RETURN_IF_ERROR(sampler.run(order.back()).status());
        }
        ASSIGN_OR_RETURN(SplitFigures figures, sampler.run(order[i]));
        preview.sample.push_back(std::move(figures));
        ++done;
        const bool isLate = secondsSinceStart() - start > preview.options.seconds;
        if (isLate && static_cast<std::int64_t>(preview.sample.size()) >= kPreviewSplitsLeast) {
            break;
        }
    }
    preview.dearest = sampler.dearest();
    addLonelyJoins(preview);
    return okStatus();
}

Status runOn(const Watch& watch, Preview& preview) {
    ASSIGN_OR_RETURN(preview.run, resolveFile({preview.options.specPath, preview.options.variation,
                                               preview.options.sets}));
    RETURN_IF_ERROR(openInput(preview));
    std::atomic<std::int64_t> done{0};
    const std::int64_t most = preview.input->numSegments();
    ProgressLine progress(most, "splits");
    return watch.run(
        [&](std::stop_token stop) { return takeSample(preview, std::move(stop), done); },
        [&](double seconds) {
            progress.say(strCat("sampling: ", done.load(), " of ", most, " splits, ",
                                static_cast<std::int64_t>(seconds), " s"));
        });
}

}  // namespace

Result<Json> previewOf(ResolvedRun run, const PreviewOptions& options) {
    Preview preview;
    preview.options = options;
    preview.run = std::move(run);
    RETURN_IF_ERROR(openInput(preview));
    std::atomic<std::int64_t> done{0};
    RETURN_IF_ERROR(takeSample(preview, {}, done));
    return documentOf(preview);
}

int runPreview(const PreviewOptions& options) {
    const Watch watch;
    secondsSinceStart();
    Preview preview;
    preview.options = options;
    const Status status = runOn(watch, preview);
    if (!status.ok()) {
        return fail(status);
    }
    return endWith(dumpJson(documentOf(preview)) + "\n");
}

}  // namespace millrace::loader
