// millrace-loader: reads, processes and delivers data. Roles: feed (a job's), stream (with a sink),
// inspect (questions about specs and datasets).
#include <cstdio>
#include <string>

#include <malloc.h>
#include <signal.h>

#include <CLI/CLI.hpp>

#include "backend/segment/stream_input.h"
#include "backend/segment/arrow_start.h"
#include "daemon/worker/loader_exit.h"
#include "daemon/worker/loader_feed.h"
#include "daemon/worker/loader_inspect.h"
#include "daemon/worker/loader_stream.h"

namespace {

using namespace millrace;

constexpr char kFooter[] =
    "Exit codes: 0 done, 2 usage, 3 stopped on request, 4 input or data error, 5 other.";

struct Arguments {
    std::string job;
    loader::StreamOptions stream;
    bool isEval = false;
    std::string readerSocket, readerPart = "train";
    bool reads = false;
};

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
        ->check(CLI::PositiveNumber);
    stream->add_option("--threads", options.threads, "threads (the spec's, else one a core)")
        ->check(CLI::PositiveNumber);
    stream->add_option("--sink", options.sink, "hash: read every value; null: none")
        ->check(CLI::IsMember({"hash", "null"}));
    stream->add_option("--data", options.part, "train or eval")
        ->check(CLI::IsMember({"train", "eval"}));
    stream->add_flag("--eval", arguments.isEval, "the evaluation set: --data eval");
    stream->add_option("--from", options.from, "go on from a cursor: its text, or a file's name");
    stream->add_flag("--through-ring", options.isThroughRing,
                     "through shared memory to a reader process, as in a run");
    stream->add_flag("--json", options.isJson, "print one JSON document");
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
    keepFreedMemory();
    Arguments arguments;
    CLI::App app("Millrace's loader: reads, processes and delivers training data.",
                 "millrace-loader");
    app.set_version_flag("--version", "millrace-loader " MILLRACE_VERSION);
    app.footer(kFooter);
    app.require_subcommand(1);
    addStream(app, arguments);
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
        return app.exit(error) == 0 ? loader::kExitDone : loader::kExitUsage;
    }
    return runRole(app, arguments);
}
