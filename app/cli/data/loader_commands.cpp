#include <set>
#include <utility>
#include <vector>

#include "app/cli/data/data_commands.h"
#include "app/cli/data/loader_child.h"
#include "app/cli/data/spec_errors.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/frame/table.h"
#include "app/session/figures.h"
#include "app/session/words.h"
#include "backend/system/subprocess.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

int reportErrors(CliContext& context, const ParsedArgs& args,
                 const std::vector<values::SpecError>& errors,
                 const std::vector<values::SpecError>& warnings, const std::string& text) {
    const std::string& fileName = args.words.front();
    context.err << describe(errors, fileName, text, "error", context.errorTerminal,
                            args.has("--set"));
    if (args.isJson()) {
        printDocument(context, {{"ok", false},
                                {"errors", jsonList(errors)},
                                {"warnings", jsonList(warnings)},
                                {"runs", Json::array()}});
    }
    return kExitFailed;
}

// Prints how each run is optimised, once for runs that do it alike.
void printOptimisation(CliContext& context, const Json& runs) {
    std::set<std::string> told;
    for (const Json& run : runs) {
        const std::string text = jsonString(run, "optimisation");
        if (!text.empty() && told.insert(text).second) {
            context.out << jsonString(run, "name") << " is trained by " << text << "\n";
        }
    }
}

// Prints the memory of runs with ranks on several nodes, once for runs with the same.
void printMemory(CliContext& context, const Json& runs) {
    std::set<std::string> told;
    for (const Json& run : runs) {
        const Json& memory = jsonMember(run, "memory");
        const auto bytes = [&](std::string_view key) {
            return formatBytes(static_cast<double>(jsonInt(memory, key)));
        };
        const std::int64_t ranks = jsonInt(memory, "ranks_on_other_nodes");
        const std::string text = strCat(
            "memory: feed up to ", bytes("feed_bytes"), "; each relay up to ",
            bytes("relay_rings_bytes"), " of rings; each data worker up to ",
            bytes("data_worker_bytes"), ". Data workers keep up to ", bytes("owed_bytes_per_rank"),
            " of frames for each of ", session::countText(ranks, "rank"), " on other nodes\n");
        if (memory.is_object() && told.insert(text).second) {
            context.out << text;
        }
    }
}

void printChecked(CliContext& context, const Json& runs) {
    Table table({{session::word::kName.heading, Align::kLeft, 10},
                 {session::word::kVariation.heading, Align::kLeft, 8},
                 {"ROWS", Align::kRight},
                 {"FILES", Align::kRight, 5, 2},
                 {"SPLITS", Align::kRight, 5, 2},
                 {session::word::kSpecHash.heading, Align::kLeft, 12, 1},
                 {session::word::kStreamHash.heading, Align::kLeft, 12, 3}});
    const auto count = [](const Json& run, std::string_view key) {
        const bool isKnown = jsonMember(run, key).is_number();
        return isKnown ? formatCount(jsonInt(run, key)) : std::string("-");  // without a dataset
    };
    const auto hash = [](const Json& run, std::string_view key) {
        const std::string text = jsonString(run, key).substr(0, 12);
        return TableCell{text.empty() ? "-" : text, Tone::kDim};
    };
    for (const Json& run : runs) {
        const std::string variation = jsonString(run, "variation");
        table.add({{jsonString(run, "name"), Tone::kStrong},
                   variation.empty() ? "base" : variation,
                   count(run, "rows"),
                   count(run, "files"),
                   count(run, "splits"),
                   hash(run, "spec_hash"),
                   hash(run, "stream_hash")});
    }
    context.out << table.render(context.terminal);
    printOptimisation(context, runs);
    printMemory(context, runs);
}

// Why the run that train.init_from names cannot be used as a start; "" if it can.
std::string whyNotFrom(client::DaemonClient& daemon, const std::string& name, bool isBest) {
    const Result<values::RunDetail> run = daemon.get(name);
    if (!run.ok()) {
        return std::string(messageOf(run.status()));
    }
    const Json spec = parseJson(run->resolvedSpec, "spec").value_or(Json());
    const Json& early = jsonMember(jsonMember(spec, "train"), "early_stop");
    if (isBest && jsonInt(early, "patience") == 0) {
        return strCat("run ", name, " keeps no best checkpoint, as its spec has no ",
                      "train.early_stop; leave `best` out for its newest");
    }
    return run->checkpoints.empty() && values::isEnded(run->summary.state)
               ? strCat("run ", name, " has no checkpoint")
               : "";
}

// Checks train.init_from, which needs a daemon; without one, a warning says that it was not
// checked.
void checkInitFrom(CliContext& context, const Json& runs, std::vector<values::SpecError>& errors,
                   std::vector<values::SpecError>& warnings) {
    std::set<std::pair<std::string, bool>> wanted;
    for (const Json& run : runs) {
        const Json spec =
            parseJson(jsonString(run, "resolved_spec"), "resolved spec").value_or(Json());
        const Json& train = jsonMember(spec, "train");
        if (const std::string name = jsonString(train, "init_from"); !name.empty()) {
            wanted.emplace(name, jsonBool(train, "init_best"));
        }
    }
    if (wanted.empty()) {
        return;
    }
    constexpr char kKey[] = "train.init_from";
    const auto daemon = openDaemon(context);
    for (const auto& [name, isBest] : wanted) {
        const std::string why = daemon.ok() ? whyNotFrom(**daemon, name, isBest) : "";
        if (!daemon.ok()) {
            warnings.push_back({strCat(kKey, ": run '", name,
                                       "' was not looked for: ", messageOf(daemon.status())),
                                "check", "", kKey});
        } else if (!why.empty()) {
            errors.push_back({strCat(kKey, ": ", why), "check", "", kKey});
        }
    }
}

// Replaces the text of each resolved spec by the parsed document.
Result<Json> withSpecs(Json runs) {
    for (Json& run : runs) {
        ASSIGN_OR_RETURN(run["spec"], parseJson(jsonString(run, "resolved_spec"), "resolved spec"));
        run.erase("resolved_spec");
    }
    return runs;
}

}  // namespace

Result<int> runCheck(CliContext& context, const ParsedArgs& args) {
    const std::string& path = args.words.front();
    ASSIGN_OR_RETURN(Json question, specQuestion(args, "check"));
    question["variations"] = args.list("--variation");
    if (args.has("--all-variations")) {
        question["variations"] = "all";
    }
    const std::string text = jsonString(question, "text");
    ASSIGN_OR_RETURN(const Json answer, askLoader(context, question));
    std::vector<values::SpecError> errors, warnings = loaderErrors(jsonMember(answer, "warnings"));
    checkInitFrom(context, jsonMember(answer, "runs"), errors, warnings);
    context.err << describe(warnings, path, text, "warning", context.errorTerminal);
    if (!jsonBool(answer, "ok")) {
        return reportErrors(context, args, loaderErrors(jsonMember(answer, "errors")), warnings,
                            text);
    }
    for (const values::SpecError& note : loaderErrors(jsonMember(answer, "notes"))) {
        context.err << "note: " << note.message << '\n';
    }
    if (!errors.empty()) {
        return reportErrors(context, args, errors, warnings, text);
    }
    if (!args.isJson()) {
        printChecked(context, jsonMember(answer, "runs"));
        return kExitOk;
    }
    ASSIGN_OR_RETURN(Json runs, withSpecs(jsonMember(answer, "runs")));
    printDocument(context, {{"ok", true}, {"errors", Json::array()}, {"runs", std::move(runs)}});
    return kExitOk;
}

namespace {

// Passes the arguments on unchanged; the loader's output is the command's.
Result<int> runLoader(CliContext& context, const ParsedArgs& args, const std::string& role) {
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millrace-loader", role, args.words.front()};
    for (const auto& [option, values] : args.options) {
        if (option == "--color") {
            continue;
        }
        if (values.empty()) {
            options.argv.push_back(option);
        }
        for (const std::string& value : values) {
            options.argv.insert(options.argv.end(), {option, value});
        }
    }
    options.dieWithParent = true;
    context.out.flush();
    ASSIGN_OR_RETURN(Subprocess loader, Subprocess::start(options));
    return exitCodeOfLoader(waitForwarding(loader, context.interrupts));
}

}  // namespace

Result<int> runStream(CliContext& context, const ParsedArgs& args) {
    return runLoader(context, args, "stream");
}

Result<int> runCount(CliContext& context, const ParsedArgs& args) {
    return runLoader(context, args, "count");
}

}  // namespace millrace::cli
