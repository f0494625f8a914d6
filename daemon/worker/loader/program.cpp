// Roles: feed (for a job), data (computes segments for a feed), stream (with a sink), inspect
// (questions about specs and datasets), count, preview, profile and init (the costs of a spec, the
// contents of a dataset, a first spec for it), scores (of an evaluation).
#include "daemon/worker/loader/program.h"

#include <filesystem>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "backend/filesystem/paths.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/feed.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/questions/count.h"
#include "daemon/worker/loader/questions/inspect.h"
#include "daemon/worker/loader/questions/preview.h"
#include "daemon/worker/loader/questions/profile.h"
#include "daemon/worker/loader/questions/scores.h"
#include "daemon/worker/loader/stream/ring_reader.h"
#include "daemon/worker/loader/stream/stream.h"

#if defined(MILLRACE_HAS_JEMALLOC)
// jemalloc reads this when the program starts (jemalloc(3), "TUNING"). A background thread returns
// a thread's memory gradually, not all at once when the thread ends: each step of that interrupts
// the others.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): the name that jemalloc looks for
extern const char* malloc_conf;
// NOLINTNEXTLINE(readability-identifier-naming)
const char* malloc_conf = "background_thread:true,max_background_threads:1,muzzy_decay_ms:0";
}
#endif

namespace millrace::loader {
namespace {

constexpr int kWorldMost = 4096;

constexpr char kFooter[] =
    "Exit codes: 0 done, 2 usage, 3 told to end, 4 input or data error, 5 other, "
    "6 memory, disk or a limit too small.";

struct Arguments {
    std::string job;
    FeedRequest feed;
    DataRequest data;
    std::string streamSpec;
    options::OptionValues stream;
    CountOptions count;
    PreviewOptions preview;
    ProfileRequest profile;
    RingReaderOptions reader;
    std::string scores;
};

/// Takes values as they are typed; their readers check them again.
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
    // Done by hand: CLI11 treats an empty text as an option that was not given.
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

CLI::Option* addPinned(CLI::App& role, std::string& path) {
    return role.add_option("--pinned", path,
                           "a file with the dataset's files that are read, others are not (all)");
}

/// The spec that a role works on, and changes to it.
template <class Options>
void addSpec(CLI::App& role, Options& options) {
    role.add_option("SPEC", options.specPath, "the spec, a YAML file")->required();
    addSet(role, options.sets);
    addVariation(role, options.variation);
}

void addCount(CLI::App& app, CountOptions& options) {
    CLI::App* count =
        app.add_subcommand("count", "how many rows and steps each epoch of a spec has");
    addSpec(*count, options);
    count->add_option("--threads", options.threads, "threads (the spec's, else one a core)")
        ->check(CLI::PositiveNumber);
    count
        ->add_option_function<std::string>(
            "--data",
            [&options](const std::string& part) {
                options.isForScoring = part != "train";
                options.needsIds = !options.isForScoring;
            },
            "train (the default), eval, or score: eval's rows, whatever they have for labels")
        ->check(CLI::IsMember({"train", "eval", "score"}));
    addPinned(*count, options.pinnedPath);
    count->get_option("SPEC")->required(false);
    count->add_option("--job", options.jobPath, "instead of SPEC: a run, by its job.json")
        ->excludes("SPEC");
    count->require_option(1, 0);
    count->add_flag("--json", options.isJson, "prints one JSON document");
}

void addPreview(CLI::App& app, PreviewOptions& options) {
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

void addProfile(CLI::App& app, ProfileRequest& request) {
    CLI::App* profile = app.add_subcommand("profile", "what a dataset's columns are like");
    CLI::App* init = app.add_subcommand("init", "a first spec for a dataset");
    for (CLI::App* role : {profile, init}) {
        role->add_option("PATH", request.paths, "files or globs")->required();
        role->add_option("--base-dir", request.baseDir, "what relative paths are relative to");
        role->add_option("--format", request.format, "parquet, csv or arrow");
        role->add_option("--csv", request.csv, "KEY=VALUE: a key of dataset.csv; may be repeated")
            ->allow_extra_args(false)
            ->take_all();
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

void addFeed(CLI::App& app, std::string& job, FeedRequest& request) {
    CLI::App* feed = app.add_subcommand(
        "feed",
        "a stream into the rings of its ranks: of a daemon's job, of a spec, or of another feed");
    CLI::Option* ofJob = feed->add_option("--job", job, "the job's job.json; the daemon starts it");
    CLI::Option* spec =
        feed->add_option("--spec", request.specPath, "the spec, a YAML file: without a daemon");
    CLI::Option* socket = feed->add_option("--socket", request.socketPath,
                                           "where ranks come to: a path that is to be made");
    CLI::Option* follow = feed->add_option(
        "--follow", request.follow,
        "a relay: the rings of --ranks come from the feed that writes this join file");
    CLI::Option* ranks =
        feed->add_option("--ranks", request.ranks, "the ranks served here: 0,1 (all)")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber);
    feed->add_option("--group-socket", request.groupSocket,
                     "where ranks of the built-in trainer meet: of a leading feed rank 0's, of a "
                     "relay one that it makes and carries to that")
        ->needs(socket);
    feed->add_option("--life-fd", request.lifeFd,
                     "a descriptor: the feed ends when it comes to its end")
        ->check(CLI::NonNegativeNumber)
        ->needs(socket);
    CLI::Option* ofSpec[] = {
        addSet(*feed, request.sets),
        addVariation(*feed, request.variation),
        addPinned(*feed, request.pinnedPath),
        feed->add_flag("--score", request.isForScoring, "the rows of eval.dataset, without labels"),
        feed->add_option("--values-of", request.valuesOf,
                         "a job.json: --score takes the counted values of that run (those of the "
                         "training rows)"),
        feed->add_option("--world", request.worldSize, "ranks of the stream (the spec's)")
            ->check(CLI::Range(1, kWorldMost)),
        feed->add_option("--attempt", request.attempt, "ranks of another are refused (0)"),
        feed->add_option("--join-file", request.joinFile,
                         "data workers and relays join with this file, which is made here"),
        feed->add_option("--listen", request.listen,
                         "HOST or HOST:PORT: those of other machines come here over TLS (a unix "
                         "socket beside the join file)"),
        feed->add_flag("--uncoded", request.isUncoded,
                       "sends columns of data workers uncoded (over TLS, codecs that pay are "
                       "chosen)")};
    for (CLI::Option* option : ofSpec) {
        option->needs(spec);
    }
    spec->needs(socket)->excludes(ofJob);
    follow->needs(socket)->needs(ranks)->excludes(ofJob)->excludes(spec);
    ranks->needs(socket);
    feed->callback([ofJob, spec, follow] {
        if (ofJob->empty() && spec->empty() && follow->empty()) {
            throw CLI::RequiredError("--spec (or --follow, or a daemon's --job)");
        }
    });
}

void addData(CLI::App& app, DataRequest& request) {
    CLI::App* data = app.add_subcommand(
        "data", "a data worker: computes segments for the feed that wrote a join file");
    data->add_option("--join", request.joinPath, "the join file")->required();
    data->add_option("--threads", request.threads, "threads (the spec's, else one a core)")
        ->check(CLI::PositiveNumber);
    data->add_option("--memory-mb", request.memoryMb, "what it may hold (the spec's)")
        ->check(CLI::PositiveNumber);
    data->add_option("--wait", request.waitSeconds, "seconds for the join file to be there (0)")
        ->check(CLI::NonNegativeNumber);
}

/// Executes the program with the network, in the same directory, with the same command line. The
/// life line stays open for it.
int handOver(const Arguments& arguments, char** argv) {
    if (arguments.feed.lifeFd >= 0) {
        ::fcntl(arguments.feed.lifeFd, F_SETFD, 0);
    }
    const std::string program = programDirectory() + "/millrace-data";
    ::execv(program.c_str(), argv);
    return fail(errnoStatus(errno, program));
}

int runRole(const CLI::App& app, Arguments& arguments, const DataPlane& plane) {
    // A feed with data workers in its spec only finds that out later.
    const bool isElsewhere = app.got_subcommand("data") || !arguments.feed.joinFile.empty() ||
                             !arguments.feed.follow.empty();
    if (plane.lead == nullptr && isElsewhere) {
        return plane.handOver();
    }
    arguments.data.buildId = plane.buildId;
    const std::pair<const char*, std::function<int()>> roles[] = {
        {"ring-reader", [&] { return runRingReader(arguments.reader); }},
        {"scores", [&] { return runScores(arguments.scores); }},
        {"inspect", [] { return runInspect(); }},
        {"feed",
         [&] {
             return arguments.job.empty() ? runFeed(arguments.feed, plane)
                                          : runFeed(arguments.job, plane);
         }},
        {"data", [&] { return plane.work(arguments.data); }},
        {"count", [&] { return runCount(arguments.count); }},
        {"preview", [&] { return runPreview(arguments.preview); }},
        {"profile", [&] { return runProfile(arguments.profile); }},
        {"init", [&] { return runInit(arguments.profile); }},
    };
    for (const auto& [name, run] : roles) {
        if (app.got_subcommand(name)) {
            return run();
        }
    }
    Result<options::StreamOptions> stream = options::readStreamOptions(arguments.stream);
    if (!stream.ok()) {
        return fail(stream.status());
    }
    stream->specPath = arguments.streamSpec;
    return runStream(*stream);
}

// For the C library's malloc, if it is used (sanitizers' builds). Hundreds of columns are allocated
// and freed: freed blocks up to 32 MB stay in the process, because fresh pages cost more than
// writing to them. Threads take memory from the system by the megabyte: each step is a system call.
void keepFreedMemory() {
#if defined(__GLIBC__) && !defined(MILLRACE_HAS_JEMALLOC)
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
    ::mallopt(M_TOP_PAD, 1 << 20);
#endif
}

}  // namespace

int runProgram(int argc, char** argv, DataPlane plane) {
    secondsSinceStart();  // counts from here on
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
    keepFreedMemory();
    Arguments arguments;
    CLI::App app("Millrace's loader: reads, processes and delivers training data.",
                 "millrace-loader");
    app.set_version_flag("--version", strCat(std::filesystem::path(argv[0]).filename().string(),
                                             " " MILLRACE_VERSION ", build ", plane.buildId));
    app.footer(kFooter);
    app.require_subcommand(1);
    addStream(app, arguments);
    addCount(app, arguments.count);
    addPreview(app, arguments.preview);
    addProfile(app, arguments.profile);
    addFeed(app, arguments.job, arguments.feed);
    addData(app, arguments.data);
    app.add_subcommand("inspect", "answer one JSON request from stdin on stdout");
    app.add_subcommand("scores", "keep an evaluation's scores from stdin in a run's directory")
        ->add_option("DIRECTORY", arguments.scores)
        ->required();
    CLI::App* reader = app.add_subcommand("ring-reader", "")->group("");
    reader->add_option("--socket", arguments.reader.socketPaths)->required();
    reader->add_option("--data", arguments.reader.part);
    reader->add_option("--ranks", arguments.reader.ranks);
    reader->add_option("--state", arguments.reader.statePath);
    reader->add_flag("--reads", arguments.reader.reads);
    reader->add_flag("--drops-last", arguments.reader.dropsLast);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream help;
        return app.exit(error, help) == 0 ? endWith(help.view()) : kExitUsage;
    }
    plane.handOver = [&arguments, argv] { return handOver(arguments, argv); };
    // Libraries throw, and so does listing files on a damaged file system.
    return endInWords("millrace-loader", [&] { return runRole(app, arguments, plane); });
}

}  // namespace millrace::loader
