#include <algorithm>

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include "app/cli/data/data_commands.h"
#include "app/cli/data/loader_child.h"
#include "app/cli/data/profile_view.h"
#include "app/cli/frame/table.h"
#include "app/session/words.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

namespace word = session::word;

using tui::Tone;

constexpr std::int64_t kFilesMax = 10'000;

bool isParquet(const Json& answer) {
    return jsonString(answer, "format") == "parquet";
}

std::string partName(const Json& answer) {
    return isParquet(answer) ? "row group" : "split";
}

// Prints "-" for an absent member.
void printHead(CliContext& context, const std::string& path, const Json& answer) {
    const Terminal& terminal = context.terminal;
    context.out << paint(terminal, Tone::kStrong, shown(terminal, path)) << "  "
                << jsonString(answer, "format") << "  "
                << session::countText(jsonInt(answer, "files_total"), "file") << "  "
                << session::countText(jsonInt(answer, "rows"), "row") << "  "
                << session::countText(jsonInt(answer, "row_groups"), partName(answer)) << "  "
                << bytesText(answer, "bytes") << " on disk  " << bytesText(answer, "decoded_bytes")
                << " decoded\n";
}

std::string nullsText(const Json& column) {
    return !column.contains("nulls") ? "-" : formatCount(jsonInt(column, "nulls"));
}

void printColumns(CliContext& context, const Json& answer) {
    Table table({{word::kColumn.heading, Align::kLeft, 10},
                 {word::kType.heading, Align::kLeft, 6},
                 {word::kNulls.heading, Align::kRight},
                 {word::kOnDisk.heading, Align::kRight, 6, 3},
                 {word::kDecoded.heading, Align::kRight},
                 {"A ROW", Align::kRight, 6, 2},
                 {word::kMin.heading, Align::kLeft, 6, 4, true},
                 {word::kMax.heading, Align::kLeft, 6, 4, true},
                 {word::kEncoding.heading, Align::kLeft, 8, 6, true},
                 {word::kCodec.heading, Align::kLeft, 6, 5}});
    const auto rows = static_cast<double>(std::max<std::int64_t>(1, jsonInt(answer, "rows")));
    for (const Json& column : jsonMember(answer, "columns")) {
        const auto bytes = static_cast<double>(jsonInt(column, "decoded_bytes"));
        table.add({{jsonString(column, "name"), Tone::kStrong},
                   jsonString(column, "type"),
                   nullsText(column),
                   bytesText(column, "disk_bytes"),
                   bytes > 0 ? formatBytes(bytes) : "-",
                   {bytes > 0 ? absl::StrFormat("%.1f B", bytes / rows) : "-", Tone::kDim},
                   jsonString(column, "min"),
                   jsonString(column, "max"),
                   {jsonString(column, "encoding"), Tone::kDim},
                   {jsonString(column, "codec"), Tone::kDim}});
    }
    context.out << table.render(context.terminal);
}

void printLeftOut(CliContext& context, const Json& answer) {
    const Terminal& terminal = context.terminal;
    const Json& leftOut = jsonMember(answer, "left_out");
    if (!leftOut.empty()) {
        context.out << '\n'
                    << paint(terminal, Tone::kStrong,
                             strCat(session::countText(static_cast<std::int64_t>(leftOut.size()),
                                                       "column"),
                                    " left out"))
                    << '\n';
    }
    for (const Json& column : leftOut) {
        context.out << "  " << shown(terminal, jsonString(column, "name")) << ' '
                    << paint(terminal, Tone::kDim, shown(terminal, jsonString(column, "why")))
                    << '\n';
    }
}

void printFiles(CliContext& context, const Json& answer) {
    Table table({{"FILE", Align::kLeft, 20},
                 {isParquet(answer) ? "ROW GROUP" : "SPLIT", Align::kRight},
                 {"ROWS", Align::kRight},
                 {word::kOnDisk.heading, Align::kRight},
                 {word::kDecoded.heading, Align::kRight, 6, 1}});
    const Json& files = jsonMember(answer, "files");
    for (const Json& file : files) {
        std::size_t number = 0;
        for (const Json& group : jsonMember(file, "row_groups")) {
            const bool isDecodedKnown = jsonInt(group, "decoded_bytes") > 0;
            table.add({{number == 0 ? jsonString(file, "path") : "", Tone::kStrong},
                       std::to_string(number),
                       formatCount(jsonInt(group, "rows")),
                       bytesText(group, "disk_bytes"),
                       isDecodedKnown ? bytesText(group, "decoded_bytes") : "-"});
            ++number;
        }
    }
    context.out << '\n' << table.render(context.terminal);
    const std::int64_t left =
        jsonInt(answer, "files_total") - static_cast<std::int64_t>(files.size());
    if (left > 0) {
        context.out << "and " << session::countText(left, "more file") << '\n';
    }
}

// `files` was the number of files from the first version on; what is unknown is null.
Json documentOf(const Json& answer, const std::vector<std::string>& paths) {
    Json document = answer;
    document.erase("ok");
    document.erase("notes");
    document["path"] = paths.size() == 1 ? Json(paths.front()) : Json(paths);
    document["file_list"] = document["files"];
    document["files"] = document["files_total"];
    document.erase("files_total");
    for (Json& column : document["columns"]) {
        column["nullable"] = jsonBool(column, "is_nullable");
        column.erase("is_nullable");
        for (const char* key : {"nulls", "disk_bytes", "decoded_bytes", "min", "max", "encoding",
                                "codec", "page_index"}) {
            if (!column.contains(key)) {
                column[key] = nullptr;
            }
        }
    }
    return document;
}

Result<std::vector<std::string>> profileArguments(const ParsedArgs& args) {
    ASSIGN_OR_RETURN(std::vector<std::string> arguments, readingArguments(args));
    arguments.insert(arguments.begin(), args.words.begin(), args.words.end());
    arguments.insert(arguments.begin(), "profile");
    if (args.has("--full")) {
        arguments.push_back("--full");
    }
    for (const char* option : {"--request", "--seconds"}) {
        if (args.has(option)) {
            arguments.push_back(strCat(option, "=", args.text(option)));
        }
    }
    return arguments;
}

}  // namespace

Result<int> runDataset(CliContext& context, const ParsedArgs& args) {
    for (const char* option : {"--full", "--request", "--seconds"}) {
        if (args.has(option) && !args.has("--profile")) {
            return failUsage(context, strCat(option, " goes with --profile"));
        }
    }
    if (args.has("--profile") && args.has("--host")) {
        return failUsage(context,
                         "--profile reads on this machine: leave --host, or run it on that host");
    }
    ASSIGN_OR_RETURN(Json question, asUsage(datasetQuestion(args, "dataset")));
    question["files_max"] = kFilesMax;
    ASSIGN_OR_RETURN(const Json answer, askDataset(context, std::move(question)));
    Json profile;
    if (args.has("--profile")) {
        ASSIGN_OR_RETURN(const auto arguments, profileArguments(args));
        ASSIGN_OR_RETURN(const RoleAnswer profiled, runLoaderRole(context, arguments));
        if (profiled.exitCode != kExitOk) {
            return profiled.exitCode;
        }
        profile = profiled.document;
    }
    if (args.isJson()) {
        Json document = documentOf(answer, args.words);
        if (!profile.is_null()) {
            document["profile"] = profile;
        }
        printDocument(context, document);
        return kExitOk;
    }
    printHead(context, absl::StrJoin(args.words, ", "), answer);
    if (profile.is_null()) {
        printColumns(context, answer);
        printLeftOut(context, answer);
    } else {
        printProfile(context, profile);
    }
    if (args.has("--files")) {
        printFiles(context, answer);
    }
    return kExitOk;
}

}  // namespace millrace::cli
