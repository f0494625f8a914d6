#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "app/cli/data/data_commands.h"
#include "app/cli/data/loader_child.h"
#include "app/cli/frame/table.h"
#include "app/session/figures.h"
#include "app/session/metric_catalogue.h"
#include "app/session/words.h"
#include "backend/filesystem/files.h"
#include "backend/system/agent_script.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

namespace word = session::word;

namespace fs = std::filesystem;

// A path as a spec in `directory` must write it: a relative one becomes relative to `directory`.
std::string pathForSpec(const std::string& path, const fs::path& directory) {
    if (path.find("://") != std::string::npos || fs::path(path).is_absolute()) {
        return path;
    }
    const fs::path absolute = absolutePath(path, currentDirectory());
    const std::string relative = absolute.lexically_relative(directory).string();
    return relative.empty() ? absolute.string() : relative;
}

std::string nameFor(const std::string& output, const std::string& path) {
    const fs::path from = output.empty() ? fs::path(path) : fs::path(output);
    std::string name;
    for (const char c : from.stem().string()) {
        const bool isPlain =
            std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
        name += isPlain ? c : '-';
    }
    const auto first = name.find_first_not_of('-');
    return first == std::string::npos ? "first" : name.substr(first);
}

// The result of `millrace check` for the text: a new spec must be valid.
Status checkText(const CliContext& context, const std::string& text, const fs::path& directory) {
    const Result<Json> answer = askLoader(
        context,
        {{"op", "check"}, {"text", text}, {"file_name", "spec"}, {"base_dir", directory.string()}});
    RETURN_IF_ERROR(answer.status());
    const auto errors = loaderErrors(jsonMember(*answer, "errors"));
    return errors.empty() ? okStatus()
                          : failedPrecondition("the spec needs a hand: line ", errors.front().line,
                                               ": ", errors.front().message);
}

// Metrics after a few steps mean nothing: reports only that the model trains.
std::string trialText(const Json& trial) {
    if (trial.is_null()) {
        return "not tried: this installation trains nothing (a wheel has no millrace-trainer)";
    }
    std::string text = strCat("trained for ", jsonInt(trial, "steps"), " steps");
    const Json evaluation = jsonMember(trial, "evaluation");
    if (evaluation.is_object() && evaluation.contains(values::metric::kEvalRows)) {
        const double rows = jsonMember(evaluation, values::metric::kEvalRows).get<double>();
        strAppend(&text, ", evaluated on ", formatCount(static_cast<std::int64_t>(rows)), " rows");
    }
    return text;
}

std::string rangeText(const Json& profile) {
    return profile.contains("min") ? strCat(session::figureText(jsonReal(profile, "min")), " to ",
                                            session::figureText(jsonReal(profile, "max")))
                                   : "-";
}

// Prints a line per column: its role and the reason.
void printGuesses(CliContext& context, const Json& answer, bool explains) {
    Table table = explains ? Table({{word::kColumn.heading, Align::kLeft, 10},
                                    {word::kType.heading, Align::kLeft, 6},
                                    {"USE", Align::kLeft, 6},
                                    {"DIFFERENT", Align::kRight},
                                    {word::kNulls.heading, Align::kRight},
                                    {"RANGE", Align::kLeft, 6, 2, true},
                                    {"EXAMPLES", Align::kLeft, 8, 1, true},
                                    {"WHY", Align::kLeft, 20, 0, true}})
                           : Table({{word::kColumn.heading, Align::kLeft, 10},
                                    {"USE", Align::kLeft, 6},
                                    {"WHY", Align::kLeft, 20, 0, true}});
    for (const Json& column : jsonMember(answer, "columns")) {
        const TableCell name{jsonString(column, "name"), tui::Tone::kStrong};
        if (!explains) {
            table.add({name, jsonString(column, "use"), jsonString(column, "why")});
            continue;
        }
        const Json& profile = jsonMember(column, "profile");
        if (profile.is_null()) {  // a column that is not read
            table.add({name, "-", jsonString(column, "use"), "-", "-", "-", "-",
                       jsonString(column, "why")});
            continue;
        }
        std::string examples;
        for (const Json& example : jsonMember(column, "examples")) {
            strAppend(&examples, examples.empty() ? "" : ", ", example.get<std::string>());
        }
        table.add({name, jsonString(column, "type"), jsonString(column, "use"),
                   formatCount(static_cast<std::int64_t>(jsonReal(profile, "distinct"))),
                   formatCount(jsonInt(profile, "nulls")), rangeText(profile), examples,
                   jsonString(column, "why")});
    }
    context.err << table.render(context.errorTerminal);
    for (const Json& rule : explains ? jsonMember(answer, "rules") : Json::array()) {
        context.err << "rule: " << rule.get<std::string>() << '\n';
    }
}

// Quotes a path for the shell if it has characters other than those of plain names.
std::string forShell(const std::string& path) {
    const bool isPlain = std::ranges::all_of(path, [](unsigned char c) {
        return std::isalnum(c) != 0 || std::strchr("_-./+,:@%=", c) != nullptr;
    });
    return isPlain ? path : shellWord(path);
}

}  // namespace

Result<int> runInit(CliContext& context, const ParsedArgs& args) {
    const std::string output = args.text("--output");
    const fs::path file =
        output.empty() ? fs::path() : fs::path(absolutePath(output, currentDirectory()));
    const fs::path directory = output.empty() ? fs::path(currentDirectory()) : file.parent_path();
    std::error_code error;
    if (!output.empty() && fs::exists(file, error) && !args.has("--force")) {
        return failedPrecondition(output, ": exists; --force replaces it");
    }
    std::vector<std::string> arguments = {"init"};
    for (const std::string& path : args.words) {
        arguments.push_back(path);
    }
    for (const std::string& path : args.words) {
        arguments.push_back("--spec-path=" + pathForSpec(path, directory));
    }
    arguments.push_back("--name=" + nameFor(output, args.words.front()));
    ASSIGN_OR_RETURN(const auto reading, asUsage(readingArguments(args)));
    arguments.insert(arguments.end(), reading.begin(), reading.end());
    for (const char* option : {"--label", "--request", "--seconds"}) {
        if (args.has(option)) {
            arguments.push_back(strCat(option, "=", args.text(option)));
        }
    }
    ASSIGN_OR_RETURN(const RoleAnswer answer, runLoaderRole(context, arguments));
    if (answer.exitCode != kExitOk) {
        return answer.exitCode;
    }
    const std::string text = jsonString(answer.document, "spec");
    // A spec that fails the check is not written.
    const Status checked = checkText(context, text, directory);
    if (!checked.ok() && !args.isJson()) {
        return checked;
    }
    if (output.empty() && !args.isJson()) {
        context.out << text;
    } else if (!output.empty() && checked.ok()) {
        RETURN_IF_ERROR(writeFileAtomic(file.string(), text));
    }
    if (!args.isJson()) {
        printGuesses(context, answer.document, args.has("--explain"));
    }
    for (const Json& note : jsonMember(answer.document, "notes")) {
        context.err << "note: " << note.get<std::string>() << '\n';
    }
    if (args.isJson()) {
        Json document = answer.document;
        document["output"] = output.empty() || !checked.ok() ? Json() : Json(output);
        document["ok"] = checked.ok();
        printDocument(context, document);
    } else if (!output.empty()) {
        context.out << "wrote " << output << " (label: " << jsonString(answer.document, "label")
                    << ", from " << formatCount(jsonInt(answer.document, "rows_read")) << " of "
                    << formatCount(jsonInt(answer.document, "rows")) << " rows); "
                    << trialText(jsonMember(answer.document, "trial")) << "; next: millrace check "
                    << forShell(output) << '\n';
    }
    RETURN_IF_ERROR(checked);
    return kExitOk;
}

}  // namespace millrace::cli
