#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/data/spec_errors.h"
#include "app/cli/follow.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/remote/remote_progress.h"
#include "app/client/daemon_client.h"
#include "app/session/figures.h"
#include "app/session/live_model.h"
#include "app/session/remote_place.h"
#include "app/session/run_names.h"
#include "app/session/submission.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using values::RunSummary;
using Daemon = std::unique_ptr<client::DaemonClient>;

Status takeTags(const ParsedArgs& args, values::SubmitRequest& request) {
    for (const std::string& tag : args.list("--tag")) {
        const std::size_t equals = tag.find('=');
        if (equals == 0 || equals == std::string::npos) {
            return invalidArgument("--tag: '", tag, "' is not KEY=VALUE");
        }
        request.tags[tag.substr(0, equals)] = tag.substr(equals + 1);
    }
    return checkSets(args);
}

// --name is --set name=: it replaces a name that the spec itself or a variation gives.
Status takeName(const ParsedArgs& args, values::SubmitRequest& request) {
    request.sets = args.list("--set");
    if (!args.has("--name")) {
        return okStatus();
    }
    const std::string name = args.text("--name");
    if (name.find_first_not_of(" \t\n") == std::string::npos) {
        return invalidArgument(
            "--name: an empty name is not a name; without --name the run has "
            "the spec's, or that of its file");
    }
    if (std::ranges::any_of(request.sets,
                            [](const std::string& set) { return set.rfind("name=", 0) == 0; })) {
        return invalidArgument("--name and --set name= exclude each other");
    }
    request.sets.push_back(strCat("name=", dumpJson(Json(name))));
    return okStatus();
}

// Reads the spec from this machine, or only names it if it is on the host.
Result<values::SubmitRequest> readSpec(const CliContext& context, const ParsedArgs& args) {
    if (!args.has("--there")) {
        return session::readSubmission(args.words.front(), context.clock);
    }
    values::SubmitRequest request;
    request.fileName = args.words.front();
    session::completeSubmission(request, context.clock);
    return request;
}

Status checkPlace(const ParsedArgs& args, const Address& address) {
    for (const char* option : {"--remote-dir", "--there", "--upload"}) {
        if (args.has(option) && !address.isSsh) {
            return invalidArgument(option, ": only with --host ssh://HOST");
        }
    }
    if (args.has("--there") && (args.has("--remote-dir") || args.has("--upload"))) {
        return invalidArgument(
            "--there: relative paths begin at the spec there, and what it names "
            "is there: leave --remote-dir and --upload");
    }
    return okStatus();
}

Result<values::SubmitRequest> requestOf(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const session::DaemonPlace daemon, daemonPlace(context));
    RETURN_IF_ERROR(checkPlace(args, daemon.address));
    ASSIGN_OR_RETURN(values::SubmitRequest request, readSpec(context, args));
    request.variations = args.list("--variation");
    request.allVariations = args.has("--all-variations");
    request.withoutBase = !request.variations.empty() && !request.allVariations;
    RETURN_IF_ERROR(takeName(args, request));
    request.project = args.text("--project");
    request.note = args.text("--note");
    request.key = args.text("--key", request.key);
    request.packages["millrace"] = kVersion;
    RETURN_IF_ERROR(takeTags(args, request));
    if (daemon.address.isSsh) {
        session::RemoteRequests wishes;
        wishes.remoteDir = args.text("--remote-dir", daemon.remoteDir);
        wishes.uploads = args.list("--upload");
        wishes.environment = args.list("--env");
        wishes.isSpecThere = args.has("--there");
        wishes.progressOf = [&](const std::string& file) { return progressOf(context, file); };
        RETURN_IF_ERROR(session::completeThere(context.hosts->at(daemon.address), wishes, request));
    } else {
        ASSIGN_OR_RETURN(request.place, session::launchPlace(args.list("--env")));
    }
    return request;
}

// Runs that were submitted earlier with this key keep the name that they got then.
Status checkKnownName(const ParsedArgs& args, const values::SubmitReply& reply) {
    const std::string name = args.text("--name");
    if (!args.has("--name") || !reply.wasKnown || reply.runs.empty() ||
        reply.runs.front().name == name) {
        return okStatus();
    }
    return failedPrecondition("--name: run ", reply.runs.front().id,
                              " was submitted before with this --key, as '",
                              reply.runs.front().name, "'; another --key queues another run");
}

int reportErrors(CliContext& context, const ParsedArgs& args, const values::SubmitRequest& request,
                 const values::SubmitReply& reply) {
    context.err << describe(reply.errors, request.fileName, request.specText, "error",
                            context.errorTerminal, !request.sets.empty());
    if (args.isJson() && args.has("--watch")) {
        printLine(context, {{"type", "end"},
                            {"reason", "errors"},
                            {"ok", false},
                            {"exit_code", kExitFailed},
                            {"errors", jsonList(reply.errors)},
                            {"runs", Json::array()}});
    } else if (args.isJson()) {
        printDocument(context, {{"runs", Json::array()},
                                {"errors", jsonList(reply.errors)},
                                {"warnings", jsonList(reply.warnings)}});
    }
    return kExitFailed;
}

void printQueued(CliContext& context, const std::vector<RunSummary>& runs, bool wasKnown) {
    for (const RunSummary& run : runs) {
        context.out << paint(context.terminal, tui::Tone::kAccent, run.id) << "  "
                    << shown(context.terminal, session::labelOf(run)) << "  "
                    << paint(context.terminal, tui::toneOf(run.state), nameOf(run.state))
                    << (wasKnown ? "  (submitted before with this key)" : "") << '\n';
    }
}

bool wantsToWatch(const CliContext& context, const ParsedArgs& args) {
    const bool isOnTerminal = context.terminal.isTty && context.isInputTty && !args.isJson();
    return args.has("--watch") || (isOnTerminal && !args.has("--detach"));
}

// The runs that the words name, each once.
Result<std::vector<RunSummary>> findRuns(client::DaemonClient& daemon,
                                         const std::vector<std::string>& words,
                                         decltype(session::findRun)& find = session::findRun) {
    std::vector<RunSummary> runs;
    for (const std::string& word : words) {
        ASSIGN_OR_RETURN(const values::RunDetail detail, find(daemon, word));
        runs.push_back(detail.summary);
    }
    return runs;
}

// Calls `change` for every run that the words name; tries all, and returns the first error. Prints
// `done` for each; `change` may set it. `isDocument`: with --json, prints the runs as they are
// then.
template <class Change>
Result<int> changeRuns(CliContext& context, const ParsedArgs& args, const std::string& done,
                       Change change, bool isDocument = true) {
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    int code = kExitOk;
    std::vector<RunSummary> changed;
    for (const std::string& word : args.words) {
        const Result<values::RunDetail> found = session::findRunToChange(*daemon, word);
        const Result<RunSummary> run =
            found.ok() ? change(*daemon, found->summary) : Result<RunSummary>(found.status());
        if (!run.ok()) {
            code = code != kExitOk ? code : fail(context, run.status());
            continue;
        }
        changed.push_back(*run);
        if (!args.isJson()) {
            context.out << paint(context.terminal, tui::Tone::kAccent, run->id) << "  "
                        << shown(context.terminal, session::labelOf(*run)) << "  " << done << '\n';
        }
    }
    if (args.isJson() && isDocument) {
        printDocument(context, {{"runs", jsonList(changed)}});
    }
    return code;
}

// Says that nothing is freed yet, and when it will be.
std::string hiddenText(const values::RemovedRun& removed) {
    std::string text = "deleted; --undo restores it";
    if (removed.heldBytes > 0) {
        strAppend(&text, "; its files keep ", formatBytes(static_cast<double>(removed.heldBytes)),
                  ": --purge frees them");
        if (removed.keepHours > 0) {
            strAppend(&text, ", its checkpoints go after ", removed.keepHours / 24, " days");
        }
    }
    return text;
}

}  // namespace

Result<int> runSubmit(CliContext& context, const ParsedArgs& args) {
    if (args.has("--watch") && args.has("--detach")) {
        return failUsage(context, "--watch and --detach exclude each other");
    }
    const Result<values::SubmitRequest> request = requestOf(context, args);
    if (!request.ok()) {
        const bool isUsage = messageOf(request.status()).rfind("--", 0) == 0;
        return isUsage ? asUsage(request.status()) : request.status();
    }
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const values::SubmitReply reply, session::submitSurely(*daemon, *request));
    context.err << describe(reply.warnings, request->fileName, request->specText, "warning",
                            context.errorTerminal);
    if (!reply.errors.empty()) {
        return reportErrors(context, args, *request, reply);
    }
    RETURN_IF_ERROR(checkKnownName(args, reply));
    const bool isWatching = wantsToWatch(context, args);
    if (args.isJson()) {
        Json document = {{"runs", jsonList(reply.runs)},
                         {"was_known", reply.wasKnown},
                         {"warnings", jsonList(reply.warnings)}};
        if (!isWatching) {
            printDocument(context, document);
            return kExitOk;
        }
        document["type"] = "submitted";
        printLine(context, document);
    } else {
        printQueued(context, reply.runs, reply.wasKnown);
    }
    if (!isWatching) {
        if (!args.isJson() && !reply.runs.empty()) {
            context.out << "'millrace watch " << reply.runs.front().id << "' shows it live\n";
        }
        return kExitOk;
    }
    FollowJob job;
    job.runs = reply.runs;
    job.form = followForm(context, args.isJson(), args.has("--plain"));
    return followRuns(context, *daemon, job);
}

namespace {

// Waits until all have ended; as JSON prints one document of the runs as they are then.
Result<int> waitFor(CliContext& context, client::DaemonClient& daemon,
                    const std::vector<std::string>& words, bool isJson, int timeoutSeconds) {
    FollowJob job;
    ASSIGN_OR_RETURN(job.runs, findRuns(daemon, words));
    job.isQuiet = true;
    job.printsResult = false;
    job.timeoutSeconds = timeoutSeconds;
    if (!isJson) {
        return followRuns(context, daemon, job);
    }
    // One document at the end: the lines in between are dropped.
    std::ostream nowhere(nullptr);
    CliContext silent{nowhere,
                      context.err,
                      context.terminal,
                      context.errorTerminal,
                      context.environment,
                      context.clock,
                      context.programDirectory,
                      context.connect,
                      context.openScreen,
                      context.interrupts};
    const int code = followRuns(silent, daemon, job);
    std::vector<std::string> ids;
    for (const RunSummary& run : job.runs) {
        ids.push_back(run.id);  // another run may have the name by now
    }
    if (const auto ended = findRuns(daemon, ids); ended.ok()) {
        printDocument(context, {{"runs", jsonList(*ended)}});
    }
    return code;
}

}  // namespace

Result<int> runWait(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    return waitFor(context, *daemon, args.words, args.isJson(), args.number("--timeout", 0));
}

namespace {

// Whether a person at the terminal can be asked.
bool canAsk(const CliContext& context) {
    return context.errorTerminal.isTty && context.isInputTty && context.readLine;
}

bool agrees(CliContext& context, const std::string& question) {
    context.err << question << " [y/N] " << std::flush;
    const std::string answer = context.readLine();
    return answer == "y" || answer == "Y" || answer == "yes";
}

// Whether the user accepts a start at step 0 if a run has nothing to resume from.
bool takesStart(CliContext& context, const values::RunDetail& run, const Status& refused) {
    const bool isRefused = absl::IsFailedPrecondition(refused) && run.checkpoints.empty() &&
                           run.summary.state != values::RunState::kFinished;
    return isRefused && canAsk(context) &&
           agrees(context, strCat(messageOf(refused), "\nBegin again at step 0?"));
}

}  // namespace

Result<int> runResume(CliContext& context, const ParsedArgs& args) {
    if (args.has("--from-start") && args.has("--step")) {
        return failUsage(context, "--from-start and --step: only one of them");
    }
    if (args.has("--step") && args.number("--step", 0) < 1) {
        return failUsage(context, "--step: the step of a checkpoint, from 1");
    }
    if (args.has("--ranks") && args.number("--ranks", 0) < 1) {
        return failUsage(context, "--ranks: how many there are to be, from 1");
    }
    if (args.has("--nodes") && args.number("--nodes", 0) < 1) {
        return failUsage(context, "--nodes: how many are to train, from 1");
    }
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const values::RunDetail found,
                     session::findRunToChange(*daemon, args.words.front()));
    const values::RankCount wish{args.number("--ranks", 0), args.number("--nodes", 0)};
    const std::int64_t step =
        args.has("--from-start") ? values::kFromStart : args.number("--step", values::kFromLast);
    Result<RunSummary> run = daemon->resume(found.summary.id, step, wish);
    if (takesStart(context, found, run.status())) {
        run = daemon->resume(found.summary.id, values::kFromStart, wish);
    }
    RETURN_IF_ERROR(run.status());
    if (args.isJson() && !args.has("--watch")) {
        printDocument(context, {{"runs", jsonList(std::vector{*run})}});
    } else if (args.isJson()) {
        printLine(context, {{"type", "submitted"}, {"runs", jsonList(std::vector{*run})}});
    } else {
        printQueued(context, {*run}, false);
    }
    if (!args.has("--watch")) {
        return kExitOk;
    }
    FollowJob job;
    job.runs = {*run};
    job.form = followForm(context, args.isJson(), args.has("--plain"));
    return followRuns(context, *daemon, job);
}

Result<int> runStop(CliContext& context, const ParsedArgs& args) {
    const int grace = args.number("--grace", 0);
    const std::string reason = args.text("--reason");
    const bool isWaiting = args.has("--wait");
    ASSIGN_OR_RETURN(const int asked,
                     changeRuns(
                         context, args, "stopping; a run that trains saves a checkpoint first",
                         [&](client::DaemonClient& daemon, const RunSummary& run) {
                             return daemon.stop(run.id, grace, reason);
                         },
                         !isWaiting));
    if (!isWaiting || asked != kExitOk) {
        return asked;
    }
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const int code, waitFor(context, *daemon, args.words, args.isJson(), 0));
    return code == kExitCancelled ? static_cast<int>(kExitOk) : code;  // as requested
}

namespace {

constexpr int kMostOfASubmit = 1'000;
constexpr std::size_t kMostNamed = 8;

std::string submitOf(const RunSummary& run) {
    return run.variationOf.empty() ? run.id : run.variationOf;
}

// Runs of the same submit that are kept: not being purged now, and not purged before.
Result<std::vector<RunSummary>> keptOf(client::DaemonClient& daemon, const std::string& submit,
                                       const std::vector<RunSummary>& going) {
    values::ListRequest request;
    request.filter = strCat("base_run_id = '", submit, "'");
    request.view = values::RunView::kAll;
    request.pageSize = kMostOfASubmit;
    ASSIGN_OR_RETURN(values::RunPage page, daemon.list(request));
    if (const Result<values::RunDetail> base = daemon.get(submit); base.ok()) {
        page.runs.push_back(base->summary);
    }
    std::erase_if(page.runs, [&](const RunSummary& run) {
        const bool goes =
            std::ranges::any_of(going, [&](const RunSummary& one) { return one.id == run.id; });
        return goes || run.isPurged() || submitOf(run) != submit;
    });
    return std::move(page.runs);
}

std::string idsText(const std::vector<RunSummary>& runs) {
    std::string text;
    for (std::size_t i = 0; i < std::min(runs.size(), kMostNamed); ++i) {
        strAppend(&text, i == 0 ? "" : ", ", runs[i].id);
    }
    return runs.size() > kMostNamed ? text + ", ..." : text;
}

// A line for each run to be deleted and what is lost with it: the base that other runs are compared
// with, the only evaluation of its submit. Reads the runs of the submits concerned.
Result<std::vector<std::string>> whatPurgeFrees(client::DaemonClient& daemon,
                                                const std::vector<RunSummary>& runs) {
    std::vector<std::string> lines;
    for (const RunSummary& run : runs) {
        ASSIGN_OR_RETURN(const std::vector<RunSummary> kept, keptOf(daemon, submitOf(run), runs));
        std::string text = strCat(run.id, "  ", session::labelOf(run), "  ", run.stateWord());
        if (run.variationOf.empty() && !kept.empty()) {
            strAppend(&text, "; ",
                      session::countText(static_cast<std::int64_t>(kept.size()), "variation"),
                      kept.size() == 1 ? " is" : " are", " compared with it: ", idsText(kept));
        }
        const bool isOnly = std::ranges::none_of(
            kept, [](const RunSummary& other) { return !other.evalOrderHash.empty(); });
        if (isOnly && !run.evalOrderHash.empty()) {
            strAppend(&text, "; the only evaluation of its submit");
        }
        lines.push_back(std::move(text));
    }
    return lines;
}

// Lists what will be deleted and asks. An error: do not delete, and why.
Status askForPurge(CliContext& context, const std::vector<std::string>& words) {
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const std::vector<RunSummary> runs,
                     findRuns(*daemon, words, session::findRunToChange));
    ASSIGN_OR_RETURN(const std::vector<std::string> lines, whatPurgeFrees(*daemon, runs));
    context.err << "Files, metrics and plan go for good:\n";
    for (const std::string& line : lines) {
        context.err << "  " << shown(context.errorTerminal, line) << '\n';
    }
    const auto count = static_cast<std::int64_t>(runs.size());
    return agrees(context, strCat("Purge ", session::countText(count, "run"), "?"))
               ? okStatus()
               : failedPrecondition("nothing was purged");
}

}  // namespace

Result<int> runRemove(CliContext& context, const ParsedArgs& args) {
    const bool isForGood = args.has("--purge");
    if (args.has("--restore") && isForGood) {
        return failUsage(context, "--undo and --purge exclude each other");
    }
    if (args.has("--yes") && !isForGood) {
        return failUsage(context,
                         "--yes answers what --purge asks; without --purge nothing is asked");
    }
    if (isForGood && !args.has("--yes")) {
        if (!canAsk(context)) {
            return failUsage(context,
                             "--purge frees runs for good and asks on a terminal; here is none: "
                             "--yes purges without a question");
        }
        RETURN_IF_ERROR(askForPurge(context, args.words));
    }
    std::string done = "shown again";
    return changeRuns(
        context, args, done,
        [&](client::DaemonClient& daemon, const RunSummary& run) -> Result<RunSummary> {
            if (args.has("--restore")) {
                return daemon.restore(run.id);
            }
            ASSIGN_OR_RETURN(values::RemovedRun removed, daemon.remove(run.id, isForGood));
            if (isForGood && !removed.run.isPurged()) {
                // A daemon too old for purges hides the run and ignores the rest of the request.
                return failedPrecondition("run ", run.id,
                                          " is deleted and not purged: this daemon ",
                                          "is of a version that frees nothing");
            }
            done = isForGood
                       ? strCat("purged for good: ",
                                formatBytes(static_cast<double>(removed.freedBytes)), " freed")
                       : hiddenText(removed);
            return std::move(removed.run);
        });
}

Result<int> runWatch(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const Daemon daemon, openDaemon(context));
    FollowJob job;
    ASSIGN_OR_RETURN(job.runs, findRuns(*daemon, args.words));
    job.form = followForm(context, args.isJson(), args.has("--plain"));
    job.leavesAtEnd = false;
    return followRuns(context, *daemon, job);
}

}  // namespace millrace::cli
