// millrace-loader: reads, processes and delivers data. Roles: feed (a job's), stream (with a sink),
// inspect (questions about specs and datasets), count, preview, profile and init (what a spec would
// cost, what a dataset is like, a first spec for it), scores (of an evaluation).
#include <cstdio>
#include <string>

#include <malloc.h>
#include <signal.h>

#include <CLI/CLI.hpp>

#include "backend/core/build_id.h"
#include "backend/segment/arrow_start.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/feed.h"
#include "daemon/worker/loader/questions/count.h"
#include "daemon/worker/loader/questions/inspect.h"
#include "daemon/worker/loader/questions/preview.h"
#include "daemon/worker/loader/questions/profile.h"
#include "daemon/worker/loader/questions/scores.h"
#include "daemon/worker/loader/stream/ring_reader.h"
#include "daemon/worker/loader/stream/stream.h"

namespace {

using namespace millrace;

constexpr int kWorldMost = 4096;

constexpr char kFooter[] =
    "Exit codes: 0 done, 2 usage, 3 stopped on request, 4 input or data error, 5 other, "
    "6 memory, disk or a limit too small.";

struct Arguments {
    std::string job;
    loader::FeedRequest feed;
    std::string streamSpec;
    options::OptionValues stream;
    loader::CountOptions count;
    loader::PreviewOptions preview;
    loader::ProfileRequest profile;
    loader::RingReaderOptions reader;
    std::string scores;
};

/// Values as they are typed; who reads them checks them again.
void addOption(CLI::App& app, const options::OptionSpec& option, options::OptionValues& values) {
    const std::string name = option.name();
    if (option.kind == options::ValueKind::kFlag) {
        app.add_flag_callback(option.names, [&values, name] { values[name]; }, option.help);
        return;
    }
    // CLI11 puts the name before the sentence itself.
    const auto check = [option](const std::string& value) {
        const Status status = options::checkValue(option, value);
        return status.ok() ? std::string()
                           : std::string(messageOf(status)).substr(option.name().size() + 2);
    };
    // By hand: CLI11 takes an empty text for an option that was not given.
    if (!option.isRepeatable) {
        app.add_option_function<std::string>(
               option.names, [&values, name](const std::string& value) { values[name] = {value}; },
               option.help)
            ->check(CLI::Validator(check, option.valueName));
        return;
    }
    app.add_option_function<std::vector<std::string>>(
           option.names,
           [&values, name](const std::vector<std::string>& all) { values[name] = all; },
           option.help)
        ->allow_extra_args(false)
        ->take_all();
}

void addStream(CLI::App& app, Arguments& arguments) {
    CLI::App* stream = app.add_subcommand(
        "stream", "run the loader of a spec alone, read every value, say what was done");
    stream->add_option("SPEC", arguments.streamSpec, "the spec, a YAML file")->required();
    for (const auto* table : {&options::streamOptions(), &options::loaderOptions()}) {
        for (const options::OptionSpec& option : *table) {
            addOption(*stream, option, arguments.stream);
        }
    }
}

CLI::Option* addSet(CLI::App& role, std::vector<std::string>& sets) {
    return role.add_option("--set", sets, "KEY=VALUE: change the spec; may be repeated")
        ->allow_extra_args(false)
        ->take_all();
}

CLI::Option* addVariation(CLI::App& role, std::string& variation) {
    return role.add_option("--variation", variation, "the variation of this name");
}

/// The spec that a role is about, and what changes it.
template <class Options>
void addSpec(CLI::App& role, Options& options) {
    role.add_option("SPEC", options.specPath, "the spec, a YAML file")->required();
    addSet(role, options.sets);
    addVariation(role, options.variation);
}

void addCount(CLI::App& app, loader::CountOptions& options) {
    CLI::App* count =
        app.add_subcommand("count", "how many rows and steps each epoch of a spec has");
    addSpec(*count, options);
    count->add_option("--threads", options.threads, "threads (the spec's, else one a core)")
        ->check(CLI::PositiveNumber);
    count->add_flag("--json", options.isJson, "prints one JSON document");
}

void addPreview(CLI::App& app, loader::PreviewOptions& options) {
    CLI::App* preview =
        app.add_subcommand("preview", "what a spec would keep and cost, from some of its splits");
    addSpec(*preview, options);
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

void addFeed(CLI::App& app, std::string& job, loader::FeedRequest& request) {
    CLI::App* feed = app.add_subcommand(
        "feed", "a stream into the rings of its ranks: of a daemon's job, or of a spec");
    CLI::Option* ofJob = feed->add_option("--job", job, "the job's job.json; the daemon starts it");
    CLI::Option* spec =
        feed->add_option("--spec", request.specPath, "the spec, a YAML file: without a daemon");
    CLI::Option* socket = feed->add_option("--socket", request.socketPath,
                                           "where ranks come to: a path that is to be made");
    CLI::Option* ofSpec[] = {
        socket,
        addSet(*feed, request.sets),
        addVariation(*feed, request.variation),
        feed->add_option("--world", request.worldSize, "ranks of the stream (the spec's)")
            ->check(CLI::Range(1, kWorldMost)),
        feed->add_option("--ranks", request.ranks, "the ranks served here: 0,1 (all)")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber),
        feed->add_option("--attempt", request.attempt, "ranks of another are refused (0)"),
        feed->add_option("--life-fd", request.lifeFd,
                         "a descriptor: the feed ends when it comes to its end")
            ->check(CLI::NonNegativeNumber)};
    for (CLI::Option* option : ofSpec) {
        option->needs(spec);
    }
    spec->needs(socket)->excludes(ofJob);
    feed->callback([ofJob, spec] {
        if (ofJob->empty() && spec->empty()) {
            throw CLI::RequiredError("--spec (or a daemon's --job)");
        }
    });
}

int runRole(const CLI::App& app, Arguments& arguments) {
    if (app.got_subcommand("ring-reader")) {
        return loader::runRingReader(arguments.reader);
    }
    if (app.got_subcommand("scores")) {
        return loader::runScores(arguments.scores);
    }
    const Status ready = segment::initializeKernels();
    if (!ready.ok()) {
        return loader::fail(ready);
    }
    if (app.got_subcommand("inspect")) {
        return loader::runInspect();
    }
    if (app.got_subcommand("feed")) {
        return arguments.job.empty() ? loader::runFeed(arguments.feed)
                                     : loader::runFeed(arguments.job);
    }
    if (app.got_subcommand("count")) {
        return loader::runCount(arguments.count);
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
    Result<options::StreamOptions> stream = options::readStreamOptions(arguments.stream);
    if (!stream.ok()) {
        return loader::fail(stream.status());
    }
    stream->specPath = arguments.streamSpec;
    return loader::runStream(*stream);
}

// Columns come and go by the hundred: blocks up to 32 MB stay in the process when they are freed,
// since fresh pages cost more than what is written to them. What threads take from the system they
// take by the megabyte: each step is a system call.
void keepFreedMemory() {
#if defined(__GLIBC__)
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
    ::mallopt(M_TOP_PAD, 1 << 20);
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
    app.set_version_flag("--version",
                         strCat("millrace-loader " MILLRACE_VERSION ", build ", buildId()));
    app.footer(kFooter);
    app.require_subcommand(1);
    addStream(app, arguments);
    addCount(app, arguments.count);
    addPreview(app, arguments.preview);
    addProfile(app, arguments.profile);
    addFeed(app, arguments.job, arguments.feed);
    app.add_subcommand("inspect", "answer one JSON request from stdin on stdout");
    app.add_subcommand("scores", "keep an evaluation's scores from stdin in a run's directory")
        ->add_option("DIRECTORY", arguments.scores)
        ->required();
    CLI::App* reader = app.add_subcommand("ring-reader", "")->group("");
    reader->add_option("--socket", arguments.reader.socketPath)->required();
    reader->add_option("--data", arguments.reader.part);
    reader->add_option("--ranks", arguments.reader.ranks);
    reader->add_option("--state", arguments.reader.statePath);
    reader->add_flag("--reads", arguments.reader.reads);
    reader->add_flag("--drops-last", arguments.reader.dropsLast);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kExitDone : kExitUsage;
    }
    // Libraries below throw, and so does a list of files on a damaged file system.
    return endInWords("millrace-loader", [&] { return runRole(app, arguments); });
}
