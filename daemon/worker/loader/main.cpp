// millrace-loader: reads, processes and delivers data. Roles: feed (a job's), stream (with a sink),
// inspect (questions about specs and datasets), preview, profile and init (what a spec would cost,
// what a dataset is like, a first spec for it).
#include <cstdio>
#include <string>

#include <malloc.h>
#include <signal.h>

#include <CLI/CLI.hpp>

#include "backend/segment/arrow_start.h"
#include "backend/segment/stream_input.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/feed.h"
#include "daemon/worker/loader/questions/inspect.h"
#include "daemon/worker/loader/questions/preview.h"
#include "daemon/worker/loader/questions/profile.h"
#include "daemon/worker/loader/stream/stream.h"

namespace {

using namespace millrace;

constexpr char kFooter[] =
    "Exit codes: 0 done, 2 usage, 3 stopped on request, 4 input or data error, 5 other, "
    "6 memory, disk or a limit too small.";

struct Arguments {
    std::string job;
    loader::StreamOptions stream;
    loader::PreviewOptions preview;
    loader::ProfileRequest profile;
    bool isEval = false;
    std::string readerSocket, readerPart = "train";
    bool reads = false;
};

// CLI11's own check names a range of doubles.
CLI::Validator countFromOne() {
    return CLI::Validator(
        [](const std::string& text) {
            const bool isCount = !text.empty() && text.size() <= 18 &&
                                 text.find_first_not_of("0123456789") == std::string::npos &&
                                 text.find_first_not_of('0') != std::string::npos;
            return isCount ? std::string() : "'" + text + "' is not a whole number from 1 on";
        },
        "N");
}

void addTable(CLI::App& stream, loader::StreamOptions& options) {
    stream.add_option("--output", options.output, "the directory to make, of a table");
    stream.add_flag("--force", options.isForced, "replace the table that stands there");
    stream.add_flag("--rows", options.isRows, "the dataset's own columns of the kept rows");
    stream.add_flag("--all-rows", options.isAllRows, "with --rows: also those that steps drop");
    stream.add_flag("--as-model", options.isAsModel,
                    "carried columns as the model gets them: numbers, nulls as 0 or empty");
    stream.add_option("--row-group-rows", options.rowGroupRows, "rows of a row group (65536)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
    stream.add_option("--sort", options.sort, "columns to sort by, separated by commas");
    stream.add_option("--columns", options.columns, "columns to keep, separated by commas");
    stream.add_option("--codec", options.codec, "of Parquet")
        ->check(CLI::IsMember({"zstd", "lz4", "snappy", "none"}));
}

void addStream(CLI::App& app, Arguments& arguments) {
    CLI::App* stream = app.add_subcommand(
        "stream", "run the loader of a spec alone, read every value, say what was done");
    loader::StreamOptions& options = arguments.stream;
    stream->add_option("SPEC", options.specPath, "the spec, a YAML file")->required();
    stream->add_option("--set", options.sets, "KEY=VALUE: change the spec; may be repeated")
        ->allow_extra_args(false)
        ->take_all();
    stream->add_option("--variation", options.variation, "the variation of this name");
    stream->add_option("--epochs", options.epochs, "epochs to deliver (the spec's)")
        ->check(countFromOne());
    stream->add_option("--micro-batches", options.microBatches, "end after so many")
        ->check(countFromOne());
    stream->add_option("--threads", options.threads, "threads (the spec's, else one a core)")
        ->check(countFromOne());
    stream
        ->add_option("--sink", options.sink,
                     "hash: read every value; null: none; parquet, arrow, csv: write a table")
        ->check(CLI::IsMember({"hash", "null", "parquet", "arrow", "csv"}));
    addTable(*stream, options);
    stream
        ->add_option("--link", options.linkMegabytes,
                     "MB/s: frames coded and decoded as for a link of this speed")
        ->check(CLI::PositiveNumber);
    stream->add_option("--codecs", options.codecs,
                       "with --link: the codecs of an earlier stream, from its JSON document");
    stream
        ->add_option("--without", options.without,
                     "to measure what it costs: counters, or order (segments as they are ready)")
        ->check(CLI::IsMember({"counters", "order"}));
    stream->add_flag("--explain", options.isExplained, "say where the time went");
    stream->add_option("--data", options.part, "train or eval")
        ->check(CLI::IsMember({"train", "eval"}));
    stream->add_flag("--eval", arguments.isEval, "the evaluation set: --data eval");
    // By hand: CLI11 takes an empty text for an optional that was not given.
    stream->add_option_function<std::string>(
        "--from", [&options](const std::string& cursor) { options.from = cursor; },
        "go on from a cursor: its text, or a file's name");
    stream->add_flag("--through-ring", options.isThroughRing,
                     "through shared memory to a reader process, as in a run");
    stream->add_flag("--json", options.isJson, "print one JSON document");
}

void addPreview(CLI::App& app, loader::PreviewOptions& options) {
    CLI::App* preview =
        app.add_subcommand("preview", "what a spec would keep and cost, from some of its splits");
    preview->add_option("SPEC", options.specPath, "the spec, a YAML file")->required();
    preview->add_option("--set", options.sets, "KEY=VALUE: change the spec; may be repeated")
        ->allow_extra_args(false)
        ->take_all();
    preview->add_option("--variation", options.variation, "the variation of this name");
    preview->add_option("--rows-per-second", options.rowsPerSecond, "what the ranks take together")
        ->check(CLI::NonNegativeNumber);
    preview->add_option("--seconds", options.seconds, "time for samples (3)")
        ->check(CLI::NonNegativeNumber);
    preview->add_option("--threads", options.threads, "of the loader, for the epoch's time")
        ->check(CLI::PositiveNumber);
}

void addProfile(CLI::App& app, loader::ProfileRequest& request) {
    CLI::App* profile = app.add_subcommand("profile", "what a dataset's columns are like");
    CLI::App* init = app.add_subcommand("init", "a first spec for a dataset");
    for (CLI::App* role : {profile, init}) {
        role->add_option("PATH", request.paths, "files or globs")->required();
        role->add_option("--base-dir", request.baseDir, "what relative paths are relative to");
        role->add_option("--format", request.format, "parquet, csv or arrow");
        role->add_option("--seconds", request.seconds, "time for reading splits (4)")
            ->check(CLI::NonNegativeNumber);
        role->add_flag("--full", request.isFull, "read all splits");
        role->add_option("--request", request.request, "the column that tells requests apart");
        role->add_option("--threads", request.threads, "threads (one a core)")
            ->check(CLI::PositiveNumber);
    }
    init->add_option("--name", request.name, "of the spec");
    init->add_option("--spec-path", request.specPaths, "the paths as the spec is to have them");
    init->add_option("--label", request.label, "the column that is to be predicted");
}

int runRole(const CLI::App& app, Arguments& arguments) {
    if (app.got_subcommand("ring-reader")) {
        return loader::runRingReader(arguments.readerSocket, arguments.readerPart, arguments.reads);
    }
    const Status ready = segment::initializeKernels();
    if (!ready.ok()) {
        return loader::fail(ready);
    }
    if (app.got_subcommand("inspect")) {
        return loader::runInspect();
    }
    if (app.got_subcommand("feed")) {
        return loader::runFeed(arguments.job);
    }
    if (app.got_subcommand("preview")) {
        return loader::runPreview(arguments.preview);
    }
    if (app.got_subcommand("profile")) {
        return loader::runProfile(arguments.profile);
    }
    if (app.got_subcommand("init")) {
        return loader::runInit(arguments.profile);
    }
    if (arguments.isEval) {
        arguments.stream.part = "eval";
    }
    return loader::runStream(arguments.stream);
}

// Columns come and go by the hundred: blocks up to 32 MB stay in the process when they are freed,
// since fresh pages cost more than what is written to them.
void keepFreedMemory() {
#if defined(__GLIBC__)
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
    keepFreedMemory();
    Arguments arguments;
    CLI::App app("Millrace's loader: reads, processes and delivers training data.",
                 "millrace-loader");
    app.set_version_flag("--version", "millrace-loader " MILLRACE_VERSION);
    app.footer(kFooter);
    app.require_subcommand(1);
    addStream(app, arguments);
    addPreview(app, arguments.preview);
    addProfile(app, arguments.profile);
    app.add_subcommand("feed", "the feed of a job; started by the daemon")
        ->add_option("--job", arguments.job, "the job's job.json")
        ->required();
    app.add_subcommand("inspect", "answer one JSON request from stdin on stdout");
    CLI::App* reader = app.add_subcommand("ring-reader", "")->group("");
    reader->add_option("--socket", arguments.readerSocket)->required();
    reader->add_option("--data", arguments.readerPart);
    reader->add_flag("--reads", arguments.reads);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kExitDone : kExitUsage;
    }
    // Libraries below throw, and so does a list of files on a damaged file system.
    return endInWords("millrace-loader", [&] { return runRole(app, arguments); });
}
