#include "daemon/worker/loader/questions/profile.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "backend/filesystem/scratch_directory.h"
#include "backend/profile/first_spec.h"
#include "backend/profile/profiler.h"
#include "backend/spec/given_dataset.h"
#include "backend/spec/yaml/yaml_text.h"
#include "backend/text/json.h"
#include "backend/values/metric_names.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/process.h"
#include "daemon/worker/loader/progress.h"
#include "daemon/worker/loader/questions/count.h"
#include "daemon/worker/loader/questions/leaks.h"
#include "daemon/worker/loader/questions/trial.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

namespace {

int threadsOf(const ProfileRequest& request) {
    return static_cast<int>(request.threads > 0 ? request.threads : usableCores());
}

// Where the name of the first file does not tell it; else "".
std::string formatOf(const spec::DatasetSpec& section) {
    return dataset::formatOfPath(section.path.front()).empty() ? section.format : "";
}

// YAML of dataset.csv; "" if it is as usual.
std::string csvOf(const spec::DatasetSpec& section) {
    spec::TableRef written(section.path);
    written.csv = section.csv;
    return written.hasUsualCsv() ? "" : spec::csvText(written);
}

// The section as a flow map.
std::string textOf(const spec::DatasetSpec& section) {
    std::string paths;
    for (const std::string& path : section.path) {
        strAppend(&paths, paths.empty() ? "" : ", ", yamlScalar(path, true));
    }
    const std::string format = formatOf(section), csv = csvOf(section);
    return strCat("{path: [", paths, "]", format.empty() ? "" : ", format: ", format,
                  csv.empty() ? "" : ", csv: ", csv, "}");
}

Result<profile::DatasetProfile> profileOf(const Watch& watch, const ProfileRequest& request,
                                          spec::DatasetSpec& section, const std::string& scratch,
                                          std::vector<std::string>& notes) {
    const std::string baseDir =
        request.baseDir.empty() ? std::filesystem::current_path().string() : request.baseDir;
    ASSIGN_OR_RETURN(section, spec::datasetOf(request.paths, request.format, request.csv));
    profile::ProfileOptions options;
    options.dataset = textOf(section);
    options.seconds = request.seconds;
    options.isFull = request.isFull;
    options.request = request.request;
    options.advises = request.advises && !scratch.empty();
    options.directory = scratch;
    options.threads = threadsOf(request);
    profile::ProfileProgress counts;
    std::optional<ProgressLine> line;
    Result<profile::DatasetProfile> profiled = internalError("not run");
    const Status status = watch.run(
        [&](std::stop_token stop) {
            auto opened = dataset::Dataset::open(request.paths, baseDir,
                                                 dataset::readOptionsOf(section), factsCache());
            notes = opened.ok() ? (*opened)->notes() : notes;
            profiled = opened.ok() ? profile::profile(*opened, options, counts, stop)
                                   : Result<profile::DatasetProfile>(opened.status());
            return profiled.status();
        },
        [&](double seconds) {
            if (!line) {
                line.emplace(counts.splits, "splits");
            }
            line->say(counts.isMeasuring
                          ? std::string("writing rows both ways, to measure what reading takes")
                          : strCat("reading: ", counts.splitsDone.load(), " of ",
                                   counts.splits.load(), " splits, ",
                                   static_cast<std::int64_t>(seconds), " s"));
        });
    RETURN_IF_ERROR(status);
    return profiled;
}

int print(const Json& document) {
    return endWith(dumpJson(document) + "\n");
}

struct Examined {
    ResolvedRun run;
    LeakReport leaks;
};

// A spec that is written passes a check, and says what tells its label by itself. `isOneClass`: it
// fails because of a label that is the same in all rows of training or of evaluation.
Result<Examined> examine(const std::string& text, const ProfileRequest& request,
                         const std::stop_token& stop, bool& isOneClass) {
    ResolveRequest resolve;
    resolve.text = text;
    resolve.fileName = "the first spec";
    resolve.baseDir =
        request.baseDir.empty() ? std::filesystem::current_path().string() : request.baseDir;
    resolve.isForTraining = true;
    resolve.mayCount = true;  // counts only small sets of values, in data that was read whole
    ResolveReply reply = resolveSpec(resolve);
    if (!reply.errors.empty()) {
        const std::string& path = reply.errors.front().path;
        isOneClass = path == "eval.dataset" || path.starts_with("labels.");
        return spec::toStatus(reply.errors, resolve.fileName);
    }
    ResolvedRun run = std::move(reply.runs.front());
    ASSIGN_OR_RETURN(LeakReport leaks, findLeaks(run.spec, run.plan, stop));
    return Examined{std::move(run), std::move(leaks)};
}

Result<Examined> lookAt(const Watch& watch, const std::string& text, const ProfileRequest& request,
                        bool& isOneClass) {
    std::optional<ProgressLine> line;
    Result<Examined> examined = internalError("not run");
    const Status status = watch.run(
        [&](const std::stop_token& stop) {
            examined = examine(text, request, stop, isOneClass);
            return examined.status();
        },
        [&](double seconds) {
            if (!line) {
                line.emplace(0, "rows");
            }
            line->say(strCat("looking for features that tell the label: ",
                             static_cast<std::int64_t>(seconds), " s"));
        });
    RETURN_IF_ERROR(status);
    return examined;
}

struct Made {
    profile::FirstSpec spec;
    ResolvedRun run;  ///< of this spec, with paths as they are found from here and an estimated
                      ///< number of steps in its schedule
};

// Names what tells the label in the notes, and beside the feature in the spec.
Status addLeaks(const LeakReport& leaks, const ProfileRequest& request,
                const profile::DatasetProfile& profiled, profile::FirstSpecOptions options,
                profile::FirstSpec& spec) {
    options.paths = request.specPaths.empty() ? request.paths : request.specPaths;
    options.remarks = leaks.remarks;
    options.idAuc = leaks.idAuc;
    ASSIGN_OR_RETURN(spec, profile::firstSpec(profiled, options));
    spec.notes.insert(spec.notes.end(), leaks.notes.begin(), leaks.notes.end());
    return okStatus();
}

// The first spec, with other rows for evaluation where a part has one class only.
Result<Made> makeSpec(const Watch& watch, const ProfileRequest& request,
                      const profile::DatasetProfile& profiled, profile::FirstSpecOptions options) {
    struct Split {
        bool isByTime;
        double evalShare;
    };
    constexpr Split kLast{false, 0.3};
    for (const Split split : {Split{true, 0.1}, Split{false, 0.1}, Split{false, 0.2}, kLast}) {
        options.splitsByTime = split.isByTime;
        options.evalShare = split.evalShare;
        options.paths = request.specPaths.empty() ? request.paths : request.specPaths;
        ASSIGN_OR_RETURN(profile::FirstSpec spec, profile::firstSpec(profiled, options));
        options.paths = request.paths;
        ASSIGN_OR_RETURN(const profile::FirstSpec found, profile::firstSpec(profiled, options));
        bool isOneClass = false;
        Result<Examined> examined = lookAt(watch, found.text, request, isOneClass);
        if (examined.ok()) {
            if (profiled.isComplete()) {
                ASSIGN_OR_RETURN(options.trainedRows,
                                 rowsOfFirstEpoch(examined->run, threadsOf(request), watch));
            }
            RETURN_IF_ERROR(addLeaks(examined->leaks, request, profiled, options, spec));
            return Made{std::move(spec), std::move(examined->run)};
        }
        if (!isOneClass || split.evalShare == kLast.evalShare) {
            return examined.status();
        }
    }
    return internalError("no split of the rows was tried");
}

// Figures of a handful of rows are luck. "eval.positives" repeats those of the first head.
void noteFewPositives(const Trial& trial, std::vector<std::string>& notes) {
    constexpr std::string_view kPositives = ".positives";
    constexpr double kFew = 10;
    for (const auto& [name, positives] : trial.evaluation) {
        const auto rows = trial.evaluation.find(strCat(
            name.substr(0, name.size() - std::min(kPositives.size(), name.size())), ".rows"));
        if (!name.ends_with(kPositives) || name == values::metric::kEvalPositives ||
            rows == trial.evaluation.end() ||
            std::min(positives, rows->second - positives) >= kFew) {
            continue;
        }
        notes.push_back(strCat(
            "evaluation: ", formatCount(static_cast<std::int64_t>(positives)), " of its ",
            formatCount(static_cast<std::int64_t>(rows->second)),
            " rows are positive; figures of fewer than ten are luck: keep other or more rows for "
            "evaluation (dataset.where and eval.dataset.where)"));
    }
}

// Trains the spec as it is written.
Result<Trial> tryOut(const Watch& watch, const ResolvedRun& run, std::vector<std::string>& notes) {
    const TrialOptions options;
    TrialProgress progress;
    std::optional<ProgressLine> line;
    Result<Trial> trial = internalError("not run");
    const Status status = watch.run(
        [&](const std::stop_token& stop) {
            trial = runTrial(run, options, progress, stop);
            return trial.status();
        },
        [&](double seconds) {
            if (!line) {
                line.emplace(options.steps, "steps");
            }
            line->say(strCat("trying it out: ",
                             progress.isEvaluating
                                 ? std::string("evaluating")
                                 : strCat("step ", progress.step.load(), " of ", options.steps),
                             ", ", static_cast<std::int64_t>(seconds), " s"));
        });
    if (absl::IsCancelled(status)) {
        return status;
    }
    RETURN_IF_ERROR(annotate(status, "the first spec does not train, nothing is written"));
    if (!trial->isEvaluated) {
        notes.push_back(strCat("evaluation: not tried out to its end within ",
                               options.limit.count() / 1000, " s"));
    }
    noteFewPositives(*trial, notes);
    return trial;
}

Json trialJson(const Trial& trial) {
    Json evaluation = Json::object();
    for (const auto& [name, value] : trial.evaluation) {
        evaluation[name] = jsonNumber(value);
    }
    return {{"steps", trial.steps},
            {"rows", trial.rows},
            {"first_loss", jsonNumber(trial.firstLoss)},
            {"last_loss", jsonNumber(trial.lastLoss)},
            {"evaluated", trial.isEvaluated},
            {"evaluation", std::move(evaluation)}};
}

Json columnsJson(const profile::FirstSpec& spec, const profile::DatasetProfile& profiled) {
    Json columns = Json::array();
    for (std::size_t c = 0; c < spec.uses.size(); ++c) {
        const profile::ColumnUse& use = spec.uses[c];
        if (c >= profiled.columns.size()) {
            columns.push_back({{"name", use.column},
                               {"type", nullptr},
                               {"use", use.use},
                               {"why", use.why},
                               {"examples", Json::array()},
                               {"profile", nullptr}});
            continue;
        }
        const profile::ColumnProfile& seen = profiled.columns[c];
        columns.push_back({{"name", use.column},
                           {"type", seen.type().name()},
                           {"use", use.use},
                           {"why", use.why},
                           {"examples", seen.examples()},
                           {"profile", seen.toJson()}});
    }
    return columns;
}

}  // namespace

int runProfile(const ProfileRequest& request) {
    const Watch watch;
    secondsSinceStart();
    const ScratchDirectory scratch("millrace-profile");
    spec::DatasetSpec section;
    std::vector<std::string> notes;
    const auto profiled = profileOf(watch, request, section, scratch.path(), notes);
    return profiled.ok() ? print(profiled->toJson()) : fail(profiled.status());
}

int runInit(const ProfileRequest& given) {
    const Watch watch;
    secondsSinceStart();
    ProfileRequest request = given;
    request.advises = false;
    spec::DatasetSpec section;
    std::vector<std::string> notes;
    const auto profiled = profileOf(watch, request, section, "", notes);
    const auto failed = [&notes](const Status& status) {
        printNotes(notes);
        return fail(status);
    };
    if (!profiled.ok()) {
        return failed(profiled.status());
    }
    profile::FirstSpecOptions options;
    options.name = request.name;
    options.label = request.label;
    options.format = formatOf(section);
    options.csv = csvOf(section);
    auto made = makeSpec(watch, request, *profiled, std::move(options));
    if (!made.ok()) {
        return failed(made.status());
    }
    profile::FirstSpec* const spec = &made->spec;
    spec->notes.insert(spec->notes.end(), notes.begin(), notes.end());
    Json tried;
    if (canTrain()) {
        const auto trial = tryOut(watch, made->run, spec->notes);
        if (!trial.ok()) {
            return failed(trial.status());
        }
        tried = trialJson(*trial);
    }
    std::vector<std::string> rules = profile::guessRules();
    rules.push_back(leakRule());
    return print({{"spec", spec->text},
                  {"label", spec->label},
                  {"columns", columnsJson(*spec, *profiled)},
                  {"rules", rules},
                  {"notes", spec->notes},
                  {"rows", profiled->rows},
                  {"rows_read", profiled->rowsRead},
                  {"trial", std::move(tried)}});
}

}  // namespace millrace::loader
