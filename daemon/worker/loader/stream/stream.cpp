#include "daemon/worker/loader/stream/stream.h"

#include <cstdio>
#include <limits>

#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/dataset/column_cost.h"
#include "backend/filesystem/files.h"
#include "backend/profile/page_probe.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/sequence/sequencer.h"
#include "backend/stream/read_state.h"
#include "backend/stream/steps.h"
#include "backend/table/row_stream.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/checks/labels.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/resolve.h"
#include "daemon/worker/loader/segments.h"
#include "daemon/worker/loader/sinks.h"
#include "daemon/worker/loader/stream/report.h"
#include "daemon/worker/loader/stream/ring_stream.h"
#include "daemon/worker/loader/stream/table.h"

namespace millrace::loader {
namespace {

// Reads a cursor, or the state that a rank keeps around one: text, or a file with it.
Result<stream::Cursor> readCursor(const std::string& from) {
    std::string text = from;
    if (from.empty()) {
        return invalidArgument(
            "--from: an empty cursor; leave --from out to start at the beginning");
    }
    if (from.front() != '{') {
        ASSIGN_OR_RETURN(text, readFile(from));
    }
    const auto state = stream::readState(text);
    if (state.ok()) {
        return state->cursor;
    }
    const auto cursor = stream::readCursor(text);
    return cursor.ok() ? cursor : annotate(cursor.status(), "--from");
}

std::int64_t rowsOf(const std::vector<stream::PlanFile>& files) {
    std::int64_t rows = 0;
    for (const stream::PlanFile& file : files) {
        rows += file.rows;
    }
    return rows;
}

struct Stream {
    options::StreamOptions options;
    ResolvedRun run;
    std::shared_ptr<const segment::StreamInput> input;
    segment::SequencerOptions sequencer;
};

// Metrics of an evaluation without rows or with one class mean nothing: reports that before
// streaming.
Status checkEvaluation(const ResolvedRun& run) {
    ASSIGN_OR_RETURN(const std::vector<LabelFinding> findings,
                     checkLabels(run.spec, run.plan, recipe::Part::kEval,
                                 {std::numeric_limits<std::int64_t>::max()}));
    return findings.empty() ? okStatus()
                            : invalidArgument(findings.front().isPlaced ? "" : "eval.dataset: ",
                                              findings.front().message);
}

int ranksOf(const options::StreamOptions& options) {
    return static_cast<int>(std::max<std::int64_t>(1, options.ranks));
}

// Checks that this many ranks can share a step.
Status checkRanks(const options::StreamOptions& options, const spec::RunSpec& spec) {
    const std::int64_t perStep = spec.microBatchesPerStep();
    if (options.ranks == 0 || perStep % options.ranks == 0) {
        return okStatus();
    }
    return invalidArgument("--ranks: ", options.ranks, " does not divide the ", perStep,
                           " micro-batches of a step (batch.rows ", spec.batch.rows,
                           ", micro_rows ", spec.batch.microRows,
                           "); admissible: ", stream::admissibleRanks(perStep));
}

Result<Stream> openStream(const options::StreamOptions& options,
                          std::unique_ptr<LoaderMemory>& memory) {
    Stream stream;
    stream.options = options;
    // Evaluation rows in their original form are the training rows of the spec that scores them.
    const bool isEval = options.part == "eval";
    ASSIGN_OR_RETURN(stream.run, resolveFile({options.specPath, options.variation, options.sets,
                                              isEval && options.isRows, "", !options.isRows}));
    const auto part = isEval && !options.isRows ? recipe::Part::kEval : recipe::Part::kTrain;
    if (part == recipe::Part::kEval && stream.run.spec.eval) {
        RETURN_IF_ERROR(checkEvaluation(stream.run));
    }
    stream.sequencer.threads = loaderThreads(stream.run.spec, options.threads);
    RETURN_IF_ERROR(checkRanks(options, stream.run.spec));
    LoaderSetUp setUp{stream.sequencer.threads, part, options.isThroughRing ? ranksOf(options) : 0};
    setUp.writesTable = options.isTable();
    memory = std::make_unique<LoaderMemory>(stream.run.spec.resources.memoryLimitMb,
                                            loaderNeed(stream.run.spec, stream.run.plan, setUp));
    RETURN_IF_ERROR(memory->admitted());
    // Rows in their original form need neither features nor labels.
    if (!options.isRows) {
        const bool keepsTypes = options.isTable() && !options.isAsModel;
        ASSIGN_OR_RETURN(stream.input,
                         segment::StreamInput::open(
                             stream.run.spec, stream.run.plan, part, memory->budget(),
                             std::make_shared<recipe::SharedTables>(stream.sequencer.threads),
                             {keepsTypes ? segment::FrameUse::kTable : segment::FrameUse::kModel}));
    }
    // A table has each row once, unless more epochs are asked for.
    const bool isOnce = part == recipe::Part::kEval || options.isTable();
    const std::int64_t specEpochs = isOnce ? 1 : stream.run.spec.batch.epochs;
    stream.sequencer.epochs =
        static_cast<std::uint32_t>(options.epochs > 0 ? options.epochs : specEpochs);
    stream.sequencer.isOrdered = options.without != "order";
    stream.sequencer.stealing = {options.without != "splits", options.without != "columns",
                                 options.without != "pieces", options.without != "haste"};
    if (options.without == "counters") {
        dataset::CostClock::stopAll();
    }
    if (options.from) {
        ASSIGN_OR_RETURN(stream.sequencer.start, readCursor(*options.from));
    }
    return stream;
}

// Adds the share of decompression in the columns' reading; nothing if it cannot be measured.
void addDecompression(const dataset::Dataset& dataset, Explanation& why) {
    std::vector<std::string> names;
    for (const auto& [name, column] : why.columns) {
        if (column.rows > 0) {
            names.push_back(name);
        }
    }
    const auto costs = profile::measurePages(dataset, names);
    if (!costs.ok()) {
        return;
    }
    for (const auto& [name, cost] : *costs) {
        const segment::ColumnCount& column = why.columns.at(name);
        const double readNs = static_cast<double>(column.readNs) / static_cast<double>(column.rows);
        why.codecs[name] = cost.codec;
        why.decompressionShare[name] = std::clamp(cost.nsPerRow / std::max(readNs, 1e-9), 0.0, 1.0);
    }
}

Explanation explain(const Stream& stream, const StreamReport& report,
                    const segment::StageCounters& counters) {
    Explanation why;
    why.threads = report.threads;
    why.streamSeconds = report.streamSeconds;
    why.rowsRead = report.rowsRead();
    for (std::size_t s = 0; s < segment::kNumStages; ++s) {
        why.stages[s] = counters.read(static_cast<segment::Stage>(s));
    }
    why.columns = counters.columns();
    const std::map<std::string, segment::StepTime> steps = counters.steps();
    for (const std::string& name : report.stepNames) {
        const auto step = steps.find(name);
        if (step != steps.end() && ++why.stepsOfName[name] == 1) {
            why.steps.emplace_back(*step);
        }
    }
    const auto labels = steps.find(std::string(segment::kLabelsStep));
    if (labels != steps.end()) {
        why.steps.emplace_back(*labels);
    }
    why.expressions = counters.expressions();
    addDecompression(*stream.input->dataset(), why);
    for (const spec::Step& step : stream.run.spec.recipe) {
        why.stepKinds[step.name] = step.kind();
    }
    why.segmentsAdvice = segmentsAdvice(stream.run.plan);
    why.mix = counters.mix();
    why.shuffle = stream.run.spec.batch.shuffle;
    return why;
}

// Fills in what is the same for all sinks.
void describe(StreamReport& report, const Stream& stream) {
    report.name = stream.run.spec.name;
    report.variation = stream.run.variation;
    report.part = stream.options.part;
    report.sink = stream.options.sink;
    report.isThroughRing = stream.options.isThroughRing;
    report.isLastDropped = stream.options.last == "drop";
    report.ranks = ranksOf(stream.options);
    report.streamHash = stream.run.streamHash;
    report.planHash = stream.run.planHash;
    report.segmentSize = segmentSizeOf(stream.run.plan);
    report.badRows = stream.options.part == "eval" ? stream.run.evalBadRows : stream.run.badRows;
    report.threads = stream.sequencer.threads;
    report.seconds = secondsSinceStart();
    report.cpuSeconds = cpuSeconds();
    report.peakRssMb = peakRssMb();
}

void describe(StreamReport& report, const Stream& stream, const segment::Sequencer& sequencer,
              const segment::StageCounters& counters) {
    describe(report, stream);
    report.epochs = stream.sequencer.epochs;
    report.totals = sequencer.totals();
    report.stepNames = stream.input->recipe().stepNames();
    report.stepReasons = stream.input->recipe().stepReasons();
    report.vocabularies = stream.input->recipe().vocabularies();
    report.heads = stream.input->recipe().heads();
    report.countedValues = stream.run.countedValues;
    report.cursor = sequencer.position();
    report.mix = counters.mix();
    for (int s = 0; s < segment::kNumStages; ++s) {
        const auto stage = static_cast<segment::Stage>(s);
        report.stages.emplace_back(std::string(segment::kStageNames[static_cast<std::size_t>(s)]),
                                   counters.read(stage));
    }
    if (stream.options.isExplained) {
        report.explanation = explain(stream, report, counters);
    }
}

double sinceStart(SumSink::Clock::time_point time) {
    return secondsSinceStart() -
           std::chrono::duration<double>(SumSink::Clock::now() - time).count();
}

// Runs the sequencer with progress, until it ends or a signal stops it.
Status runSequencer(const Watch& watch, segment::Sequencer& sequencer, ProgressLine& progress) {
    return watch.run(
        [&](std::stop_token stop) { return sequencer.run(std::move(stop)); },
        [&](double seconds) { progress.show(sequencer.totals().rowsScanned, seconds); });
}

// Fills in the times of the sink's frames and epochs, since the process's start.
template <class Sink>
void takeTimes(const Sink& sink, double start, StreamReport& report) {
    double last = start;
    for (const auto end : sink.epochEnds()) {
        report.epochSeconds.push_back(sinceStart(end) - last);
        last = sinceStart(end);
    }
    if (const auto first = sink.firstFrame()) {
        report.firstBatchSeconds = sinceStart(*first);
    }
    report.orderHash = sink.orderHash().hex();
}

// Subtracts rows left out from those delivered to the sink.
void leaveOut(StreamReport& report, std::int64_t rows, std::int64_t batches) {
    report.rowsLeftOut = rows;
    report.totals.rowsDelivered -= rows;
    report.totals.microBatches -= batches;
}

StepRule stepRule(const Stream& stream) {
    StepRule rule;
    rule.stepBatches = stream.run.spec.microBatchesPerStep();
    rule.microRows = stream.run.spec.batch.microRows;
    rule.last = stream.options.last == "drop" ? stream::LastStep::kDrop : stream::LastStep::kKeep;
    return rule;
}

Status runSums(const Watch& watch, const Stream& stream, LoaderMemory& memory,
               ProgressLine& progress, StreamReport& report) {
    segment::BufferPool& pool = memory.segments();
    segment::StageCounters counters;
    SumSink sink(memory.frames(), stream.options.sink == "hash", stepRule(stream));
    LimitedSink limited(sink, stream.options.microBatches);
    const double start = secondsSinceStart();
    ASSIGN_OR_RETURN(const auto sequencer, segment::Sequencer::make(stream.input, stream.sequencer,
                                                                    pool, counters, limited));
    const Status status = limited.statusOf(runSequencer(watch, *sequencer, progress));
    sink.close();
    report.isLimited = limited.hasEnough();
    report.streamSeconds = secondsSinceStart() - start;
    takeTimes(sink, start, report);
    if (stream.options.sink == "hash") {
        report.checksum = sink.checksum().text();
    }
    describe(report, stream, *sequencer, counters);
    leaveOut(report, sink.leftOut().rows, sink.leftOut().batches);
    return status;
}

Status runThroughRing(const Watch& watch, const Stream& stream, LoaderMemory& memory,
                      ProgressLine& progress, StreamReport& report) {
    segment::BufferPool& pool = memory.segments();
    segment::StageCounters counters;
    const double start = secondsSinceStart();
    RingStream::Options options;
    options.part = stream.options.part;
    options.reads = stream.options.sink == "hash";
    options.ranks = ranksOf(stream.options);
    options.perStep = stream.run.spec.microBatchesPerStep();
    options.last = stepRule(stream).last;
    options.start = stream.sequencer.start;
    ASSIGN_OR_RETURN(auto ring, RingStream::open(*stream.input, options, memory));
    ASSIGN_OR_RETURN(const auto sequencer, segment::Sequencer::make(stream.input, stream.sequencer,
                                                                    pool, counters, ring->sink()));
    const Status status = runSequencer(watch, *sequencer, progress);
    const Result<RingReading> reading = ring->finish(status);
    report.streamSeconds = secondsSinceStart() - start;
    if (reading.ok()) {
        report.orderHash = reading->orderHash;
        report.checksum = reading->checksum;
        report.firstBatchSeconds = reading->firstBatchSeconds;
        report.steps = reading->steps;
    }
    describe(report, stream, *sequencer, counters);
    if (reading.ok()) {
        leaveOut(report, reading->rowsLeftOut, reading->batchesLeftOut);
    }
    return status.ok() ? reading.status() : status;
}

// Returns the name in double quotes at `at` and moves `at` behind it; quotes inside are doubled.
std::string quotedName(const std::string& text, std::size_t& at) {
    std::string name;
    for (++at; at < text.size(); ++at) {
        if (text[at] != '"') {
            name += text[at];
        } else if (at + 1 < text.size() && text[at + 1] == '"') {
            name += text[++at];
        } else {
            ++at;
            break;
        }
    }
    return name;
}

// Names as CSV has them: a name that holds a comma is put in double quotes.
std::vector<std::string> namesOf(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= text.size() && !text.empty();) {
        at = std::min(text.find_first_not_of(' ', at), text.size());
        const bool isQuoted = at < text.size() && text[at] == '"';
        std::string name = isQuoted ? quotedName(text, at) : "";
        const std::size_t end = std::min(text.find(',', at), text.size());
        // Keeps text after a quoted name as part of it, so that it is reported: no column has such
        // a name.
        std::string plain = text.substr(at, end - at);
        plain.erase(plain.find_last_not_of(' ') + 1);
        name += plain;
        if (!name.empty()) {
            names.push_back(std::move(name));
        }
        at = end + 1;
    }
    return names;
}

Result<std::unique_ptr<table::TableOutput>> openTable(const options::StreamOptions& options,
                                                      int threads, std::int64_t memoryBytes) {
    table::TableOptions table;
    table.directory = options.output;
    table.isForced = options.isForced;
    ASSIGN_OR_RETURN(table.writer.format, table::parseTableFormat(options.sink));
    table.writer.codec = options.codec;
    table.writer.threads = threads;
    table.isShared = options.isRows;
    table.rowGroupRows = options.rowGroupRows;
    table.sort = namesOf(options.sort);
    table.memoryBytes = memoryBytes;
    return table::TableOutput::open(std::move(table));
}

// Returns how a table was made, for a person who finds it.
Json tableFacts(const Stream& stream, const StreamReport& report) {
    const options::StreamOptions& options = stream.options;
    return {
        {"schema_version", 1},
        {"name", stream.run.spec.name},
        {"variation", stream.run.variation},
        {"part", options.part},
        {"content", options.isAllRows ? "all rows"
                    : options.isRows  ? "rows"
                                      : "features"},
        {"epochs", options.isRows ? 1 : report.epochs},
        {"sort", namesOf(options.sort)},
        {"rows", report.totals.rowsDelivered},
        {"stream_hash", stream.run.streamHash},
        {"plan_hash", stream.run.planHash},
        {"order_hash", report.orderHash.empty() ? Json() : Json(report.orderHash)},
        {"order_hash_version", report.orderHash.empty() ? Json() : Json(stream::kOrderHashVersion)},
        {"resolved_spec", stream.run.spec.toJson()}};
}

Status finishTable(const Stream& stream, table::TableOutput& output, StreamReport& report) {
    RETURN_IF_ERROR(output.commit(tableFacts(stream, report)));
    report.output = output.target();
    report.table = output.totals();
    return okStatus();
}

Status runTable(const Watch& watch, const Stream& stream, LoaderMemory& memory,
                ProgressLine& progress, StreamReport& report) {
    segment::BufferPool& pool = memory.segments();
    ASSIGN_OR_RETURN(const auto output,
                     openTable(stream.options, stream.sequencer.threads, memory.outputBytes()));
    table::CarriedTypes types;
    if (!stream.options.isAsModel) {
        ASSIGN_OR_RETURN(types, table::carriedTypes(stream.run.spec, stream.input->columns(),
                                                    *stream.input->dataset()));
    }
    ASSIGN_OR_RETURN(const table::FrameTable frames,
                     table::FrameTable::make(stream.run.spec, stream.input->layout(), types,
                                             namesOf(stream.options.columns)));
    RETURN_IF_ERROR(output->start(frames.schema()));
    segment::StageCounters counters;
    TableSink sink(memory.frames(), stream.sequencer.threads + 2, frames, *output);
    LimitedSink limited(sink, stream.options.microBatches);
    const double start = secondsSinceStart();
    ASSIGN_OR_RETURN(const auto sequencer, segment::Sequencer::make(stream.input, stream.sequencer,
                                                                    pool, counters, limited));
    Status status = limited.statusOf(runSequencer(watch, *sequencer, progress));
    report.isLimited = limited.hasEnough();
    takeTimes(sink, start, report);
    report.totals = sequencer->totals();
    report.epochs = stream.sequencer.epochs;
    if (status.ok()) {
        progress.setNote("writing");
        status = finishTable(stream, *output, report);
    }
    report.streamSeconds = secondsSinceStart() - start;
    describe(report, stream, *sequencer, counters);
    return status;
}

Status runRows(const Watch& watch, const Stream& stream, LoaderMemory& memory,
               ProgressLine& progress, StreamReport& report) {
    ASSIGN_OR_RETURN(const auto output,
                     openTable(stream.options, stream.sequencer.threads, memory.outputBytes()));
    table::RowStream::Options options;
    options.columns = namesOf(stream.options.columns);
    options.threads = stream.sequencer.threads;
    options.pool = &memory.segments();
    spec::RunSpec spec = stream.run.spec;
    if (stream.options.isAllRows) {
        spec.dataset.where.clear();
        spec.recipe.clear();
    }
    ASSIGN_OR_RETURN(const auto rows,
                     table::RowStream::open(spec, stream.run.plan, memory.budget(), options));
    RETURN_IF_ERROR(output->start(rows->schema()));
    if (rows->hasWeights()) {
        std::fputs("millrace-loader: a step weighs rows: --rows has no column for weights\n",
                   stderr);
    }
    const double start = secondsSinceStart();
    Status status = watch.run(
        [&](std::stop_token stop) {
            return rows->run([&](table::BatchPtr batch) { return output->add(std::move(batch)); },
                             std::move(stop), output->sharedWork());
        },
        [&](double seconds) { progress.show(rows->rowsRead(), seconds); });
    report.totals.rowsScanned = rows->rowsRead();
    report.totals.rowsKept = report.totals.rowsDelivered = rows->rowsKept();
    report.epochs = 1;
    report.isRows = true;
    if (status.ok()) {
        status = finishTable(stream, *output, report);
    }
    report.streamSeconds = secondsSinceStart() - start;
    describe(report, stream);
    return status;
}

Status runSink(const Watch& watch, Stream& stream, LoaderMemory& memory, StreamReport& report) {
    const options::StreamOptions& options = stream.options;
    const std::int64_t limit = memory.budget().limitBytes();
    memory.makePools(options.isThroughRing ? limit / 5 : options.isTable() ? limit / 3 : 0);
    if (options.without == "shelves") {
        memory.segments().useOneShelf();
    }
    stream.sequencer.framePool = &memory.frames();
    const std::int64_t epochs = options.isRows ? 1 : stream.sequencer.epochs;
    const std::vector<stream::PlanFile>& files =
        stream.input ? stream.input->files() : stream.run.plan.files;
    ProgressLine progress(rowsOf(files) * epochs, "rows");
    if (options.isRows) {
        return runRows(watch, stream, memory, progress, report);
    }
    if (options.isTable()) {
        return runTable(watch, stream, memory, progress, report);
    }
    return options.isThroughRing ? runThroughRing(watch, stream, memory, progress, report)
                                 : runSums(watch, stream, memory, progress, report);
}

}  // namespace

Status checkOptions(const options::StreamOptions& options) {
    const bool isTable = options.isTable();
    if (isTable && options.output.empty()) {
        return invalidArgument("--sink ", options.sink, " needs --output DIR");
    }
    const std::pair<bool, const char*> ofTables[] = {
        {!options.output.empty(), "--output"},   {!options.sort.empty(), "--sort"},
        {!options.columns.empty(), "--columns"}, {options.isRows, "--rows"},
        {options.isAsModel, "--as-model"},       {options.isForced, "--force"}};
    for (const auto& [isGiven, name] : ofTables) {
        if (isGiven && !isTable) {
            return invalidArgument(name, " is for --sink parquet, arrow and csv");
        }
    }
    for (const std::string* names : {&options.columns, &options.sort}) {
        if (std::count(names->begin(), names->end(), '"') % 2 != 0) {
            return invalidArgument("--columns and --sort: a quote is not closed in '", *names,
                                   "'; a name with a comma is put in double quotes, and a quote in "
                                   "it twice");
        }
    }
    if (options.isThroughRing && (isTable || options.microBatches > 0)) {
        return invalidArgument("--through-ring is for --sink hash and null, to the end");
    }
    if (options.ranks > 0 && !options.isThroughRing) {
        return invalidArgument("--ranks goes with --through-ring");
    }
    if (options.last == "drop" && (isTable || options.part == "eval")) {
        return invalidArgument(
            "--last drop is about the steps of training: it goes with --sink hash and null and not "
            "with --data eval");
    }
    const bool isPartial = options.from || options.epochs > 0 || options.microBatches > 0;
    if (options.isAllRows && !options.isRows) {
        return invalidArgument("--all-rows goes with --rows");
    }
    if (options.isRows && options.isAsModel) {
        return invalidArgument(
            "--as-model is about carried columns: it does not go with --rows, which writes the "
            "dataset's own");
    }
    if (options.isRows && isPartial) {
        return invalidArgument(
            "--rows reads the rows once, in file order: --from, --epochs and --micro-batches do "
            "not "
            "go with it");
    }
    if (options.isRows && options.isExplained) {
        return invalidArgument("--explain is about training's stream: it does not go with --rows");
    }
    return okStatus();
}

int runStream(const options::StreamOptions& options) {
    const Status possible = checkOptions(options);
    if (!possible.ok()) {
        fail(possible);
        return kExitUsage;
    }
    const Watch watch;
    secondsSinceStart();
    std::unique_ptr<LoaderMemory> memory;
    Result<Stream> stream = openStream(options, memory);
    if (!stream.ok()) {
        return fail(stream.status());
    }
    StreamReport report;
    const Status status = runSink(watch, *stream, *memory, report);
    report.isComplete = status.ok() && !report.isLimited;
    const bool isStopped = status.code() == absl::StatusCode::kCancelled;
    if (status.ok() || isStopped) {
        const Screen screen = Screen::of(STDOUT_FILENO);
        const std::string text = options.isJson ? dumpJsonPretty(report.toJson()) + "\n"
                                                : report.toText(screen.width, screen.isUtf8);
        return endWith(text, isStopped ? kExitStopped : kExitDone);
    }
    return fail(status);
}

}  // namespace millrace::loader
