#include "daemon/worker/loader_stream.h"

#include <cstdio>
#include <filesystem>
#include <thread>

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/files.h"
#include "backend/core/paths.h"
#include "backend/core/text.h"
#include "backend/core/thread.h"
#include "backend/core/unique_fd.h"
#include "backend/segment/sequencer.h"
#include "backend/stream/receipt.h"
#include "daemon/worker/loader_exit.h"
#include "daemon/worker/loader_memory.h"
#include "daemon/worker/loader_process.h"
#include "daemon/worker/loader_report.h"
#include "daemon/worker/loader_resolve.h"
#include "daemon/worker/loader_ring_stream.h"
#include "daemon/worker/loader_sinks.h"

namespace millrace::loader {
namespace {

Result<ResolvedRun> resolveRun(const StreamOptions& options) {
    const std::string path =
        absolutePath(options.specPath, std::filesystem::current_path().string());
    ASSIGN_OR_RETURN(const std::string text, readFile(path, std::size_t{64} << 20));
    ResolveRequest request;
    request.text = text;
    request.fileName = options.specPath;
    request.baseDir = std::filesystem::path(path).parent_path().string();
    request.variations = {options.variation};
    request.sets = options.sets;
    ResolveReply reply = resolveSpec(request);
    if (!reply.errors.empty()) {
        return spec::toStatus(reply.errors, options.specPath);
    }
    return std::move(reply.runs.front());
}

// A cursor, or the state that a rank keeps around one; text, or a file that holds it.
Result<stream::Cursor> readCursor(const std::string& from) {
    std::string text = from;
    if (!from.empty() && from.front() != '{') {
        ASSIGN_OR_RETURN(text, readFile(from));
    }
    const auto state = stream::StreamState::fromText(text);
    if (state.ok()) {
        return state->cursor;
    }
    const auto cursor = stream::Cursor::fromText(text);
    return cursor.ok() ? cursor : annotate(cursor.status(), "--from");
}

class ProgressLine {
 public:
    ProgressLine(std::int64_t rowsTotal, bool isShown) : total_(rowsTotal), isShown_(isShown) {}
    ~ProgressLine() {
        if (isShown_) {
            std::fputs("\r\x1b[K", stderr);
        }
    }
    void show(const segment::SequencerTotals& totals, double seconds) const {
        if (!isShown_ || seconds <= 0) {
            return;
        }
        const double rate = static_cast<double>(totals.rowsScanned) / seconds;
        const double left = rate > 0 ? static_cast<double>(total_ - totals.rowsScanned) / rate : 0;
        const std::string text =
            strCat(formatCount(totals.rowsScanned), " of ", formatCount(total_), " rows, ",
                   formatCount(static_cast<std::int64_t>(rate)), " rows/s, ", formatDuration(left),
                   " left");
        std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    }

 private:
    const std::int64_t total_;
    const bool isShown_;
};

std::int64_t rowsOf(const std::vector<stream::PlanFile>& files) {
    std::int64_t rows = 0;
    for (const stream::PlanFile& file : files) {
        rows += file.rows;
    }
    return rows;
}

// SIGINT and SIGTERM as events. Made before the first thread, which inherits the blocked signals.
class Watch {
 public:
    Watch() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
        signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    /// True when a signal came within the time.
    bool wait(int timeoutMs) const {
        pollfd fds{signals_.get(), POLLIN, 0};
        return ::poll(&fds, 1, timeoutMs) > 0;
    }

 private:
    UniqueFd signals_;
};

// Runs `body` (until it ends or a signal stops it) while showing progress.
template <class Body>
Status runWatched(const Watch& watch, const segment::Sequencer& sequencer,
                  const ProgressLine& progress, Body body) {
    Status result;
    std::atomic<bool> isDone{false};
    const double start = secondsSinceStart();
    std::jthread runner = startThread("stream", [&](std::stop_token stop) {
        result = body(stop);
        isDone = true;
    });
    constexpr int kTickMs = 20;
    for (int tick = 0; !isDone; ++tick) {
        if (watch.wait(tick < 10 ? 2 : kTickMs)) {
            runner.request_stop();
        }
        if (tick % 10 == 9) {
            progress.show(sequencer.totals(), secondsSinceStart() - start);
        }
    }
    runner.join();
    return result;
}

struct Stream {
    StreamOptions options;
    ResolvedRun run;
    std::shared_ptr<const segment::StreamInput> input;
    segment::SequencerOptions sequencer;
};

Result<Stream> openStream(const StreamOptions& options, std::unique_ptr<LoaderMemory>& memory) {
    Stream stream;
    stream.options = options;
    ASSIGN_OR_RETURN(stream.run, resolveRun(options));
    memory = std::make_unique<LoaderMemory>(stream.run.spec.resources.memoryLimitMb);
    const auto part = options.part == "eval" ? recipe::Part::kEval : recipe::Part::kTrain;
    ASSIGN_OR_RETURN(stream.input, segment::StreamInput::open(stream.run.spec, stream.run.plan,
                                                              part, memory->budget()));
    const std::int64_t specThreads = stream.run.spec.resources.loaderThreads;
    stream.sequencer.threads = static_cast<int>(options.threads > 0 ? options.threads
                                                : specThreads > 0   ? specThreads
                                                                    : usableCores());
    const std::int64_t specEpochs = part == recipe::Part::kEval ? 1 : stream.run.spec.batch.epochs;
    stream.sequencer.epochs =
        static_cast<std::uint32_t>(options.epochs > 0 ? options.epochs : specEpochs);
    if (!options.from.empty()) {
        ASSIGN_OR_RETURN(stream.sequencer.start, readCursor(options.from));
    }
    return stream;
}

void describe(StreamReport& report, const Stream& stream, const segment::Sequencer& sequencer,
              const segment::StageCounters& counters) {
    report.name = stream.run.spec.name;
    report.variation = stream.run.variation;
    report.part = stream.options.part;
    report.sink = stream.options.sink;
    report.isThroughRing = stream.options.isThroughRing;
    report.streamHash = stream.run.streamHash;
    report.planHash = stream.run.planHash;
    report.threads = stream.sequencer.threads;
    report.epochs = stream.sequencer.epochs;
    report.totals = sequencer.totals();
    report.stepNames = stream.input->recipe().stepNames();
    report.stepReasons = stream.input->recipe().stepReasons();
    report.vocabularies = stream.input->recipe().vocabularies();
    report.cursor = sequencer.position();
    for (int s = 0; s < segment::kNumStages; ++s) {
        const auto stage = static_cast<segment::Stage>(s);
        report.stages.emplace_back(std::string(segment::kStageNames[static_cast<std::size_t>(s)]),
                                   counters.read(stage));
    }
    report.seconds = secondsSinceStart();
    report.cpuSeconds = cpuSeconds();
    report.peakRssMb = peakRssMb();
}

double sinceStart(SumSink::Clock::time_point time) {
    return secondsSinceStart() -
           std::chrono::duration<double>(SumSink::Clock::now() - time).count();
}

Status runSums(const Watch& watch, const Stream& stream, segment::BufferPool& pool,
               const ProgressLine& progress, StreamReport& report) {
    segment::StageCounters counters;
    SumSink sink(pool, stream.options.sink == "hash");
    const double start = secondsSinceStart();
    ASSIGN_OR_RETURN(const auto sequencer, segment::Sequencer::make(stream.input, stream.sequencer,
                                                                    pool, counters, sink));
    const Status status = runWatched(watch, *sequencer, progress, [&](std::stop_token stop) {
        return sequencer->run(std::move(stop));
    });
    report.streamSeconds = secondsSinceStart() - start;
    double last = start;
    for (const auto end : sink.epochEnds()) {
        report.epochSeconds.push_back(sinceStart(end) - last);
        last = sinceStart(end);
    }
    if (const auto first = sink.firstFrame()) {
        report.firstBatchSeconds = sinceStart(*first);
    }
    report.orderHash = sink.orderHash().hex();
    if (stream.options.sink == "hash") {
        report.checksum = sink.checksum().text();
    }
    describe(report, stream, *sequencer, counters);
    return status;
}

Status runThroughRing(const Watch& watch, const Stream& stream, LoaderMemory& memory,
                      segment::BufferPool& pool, const ProgressLine& progress,
                      StreamReport& report) {
    segment::StageCounters counters;
    const double start = secondsSinceStart();
    ASSIGN_OR_RETURN(auto ring, RingStream::open(*stream.input, stream.options.part,
                                                 stream.options.sink == "hash", &memory.budget()));
    ASSIGN_OR_RETURN(const auto sequencer, segment::Sequencer::make(stream.input, stream.sequencer,
                                                                    pool, counters, ring->sink()));
    const Status status = runWatched(watch, *sequencer, progress, [&](std::stop_token stop) {
        return sequencer->run(std::move(stop));
    });
    const Result<RingReading> reading = ring->finish(status);
    report.streamSeconds = secondsSinceStart() - start;
    if (reading.ok()) {
        report.orderHash = reading->orderHash;
        report.checksum = reading->checksum;
        report.firstBatchSeconds = reading->firstBatchSeconds;
    }
    describe(report, stream, *sequencer, counters);
    return status.ok() ? reading.status() : status;
}

}  // namespace

int runStream(const StreamOptions& options) {
    const Watch watch;
    secondsSinceStart();
    std::unique_ptr<LoaderMemory> memory;
    const Result<Stream> stream = openStream(options, memory);
    if (!stream.ok()) {
        return fail(stream.status());
    }
    segment::BufferPool& pool =
        memory->makePool(options.isThroughRing ? memory->budget().limitBytes() / 5 : 0);
    StreamReport report;
    Status status;
    {
        const ProgressLine progress(rowsOf(stream->input->files()) * stream->sequencer.epochs,
                                    ::isatty(STDERR_FILENO) != 0);
        status = options.isThroughRing
                     ? runThroughRing(watch, *stream, *memory, pool, progress, report)
                     : runSums(watch, *stream, pool, progress, report);
    }
    report.isComplete = status.ok();
    const bool isStopped = status.code() == absl::StatusCode::kCancelled;
    if (status.ok() || isStopped) {
        const std::string text =
            options.isJson ? dumpJsonPretty(report.toJson()) + "\n" : report.toText();
        std::fwrite(text.data(), 1, text.size(), stdout);
        return std::fflush(stdout) != 0 ? kExitOther : isStopped ? kExitStopped : kExitDone;
    }
    return fail(status);
}

}  // namespace millrace::loader
