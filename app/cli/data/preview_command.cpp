#include <cmath>

#include <absl/strings/str_format.h>

#include "app/cli/data/data_commands.h"
#include "app/cli/data/loader_child.h"
#include "app/cli/frame/table.h"
#include "app/tui/figures.h"
#include "backend/core/clock.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
using Format = std::string (*)(double);

constexpr double kLeastShareShown = 0.03;  ///< of the processor time: cheaper parts get no line

std::string count(double value) {
    return formatCount(static_cast<std::int64_t>(std::llround(value)));
}
std::string bytesPerSecond(double value) {
    return formatBytes(value) + "/s";
}
std::string cores(double value) {
    return absl::StrFormat("%.2f", value);
}
std::string percent(double value) {
    return absl::StrFormat("%.2f %%", 100 * value);
}
std::string duration(double seconds) {
    return seconds < 10 ? absl::StrFormat("%.2f s", seconds) : formatDuration(seconds);
}

// Formats an estimate as value and 95 % interval.
class HeadFigures {
 public:
    void add(const std::string& name, const Json& estimate, Format format) {
        const double value = jsonReal(estimate, "value");
        table_.add(
            {{name, Tone::kStrong}, format(value), {interval(estimate, format), Tone::kDim}});
    }
    void add(const std::string& name, const std::string& value) {
        table_.add({{name, Tone::kStrong}, value, ""});
    }
    std::string render(const Terminal& terminal) const { return table_.render(terminal); }

 private:
    static std::string interval(const Json& estimate, Format format) {
        if (jsonBool(estimate, "exact")) {
            return "exact";
        }
        if (jsonMember(estimate, "low").is_null()) {
            return "not known from one split";
        }
        const std::string low = format(jsonReal(estimate, "low"));
        return jsonMember(estimate, "high").is_null()
                   ? "from " + low + ", without an upper limit"
                   : low + " to " + format(jsonReal(estimate, "high"));
    }
    Table table_ = Table({{"FIGURE", Align::kLeft, 12},
                          {"ESTIMATE", Align::kRight},
                          {"95 % INTERVAL", Align::kLeft, 12, 1, true}});
};

void printHead(CliContext& context, const Json& preview) {
    const Terminal& terminal = context.terminal;
    const std::string variation = jsonString(preview, "variation");
    const std::string name =
        jsonString(preview, "name") + (variation.empty() ? "" : " / " + variation);
    context.out << paint(terminal, Tone::kStrong, shown(terminal, name)) << "  "
                << session::countText(jsonInt(preview, "files"), "file") << "  "
                << session::countText(jsonInt(preview, "rows"), "row") << "  sampled "
                << formatCount(jsonInt(preview, "splits_sampled")) << " of "
                << session::countText(jsonInt(preview, "splits"), "split") << " in "
                << duration(jsonReal(preview, "seconds")) << '\n';
}

void addRows(HeadFigures& figures, const Json& preview) {
    for (const Json& step : jsonMember(preview, "steps")) {
        figures.add("after " + jsonString(step, "name"), jsonMember(step, "rows_out"), count);
    }
    figures.add("rows kept", jsonMember(preview, "rows_kept"), count);
    figures.add("kept of all", jsonMember(preview, "keep_share"), percent);
    for (const Json& head : jsonMember(preview, "heads")) {
        const std::string name = jsonString(head, "name");
        figures.add("positives " + name, jsonMember(head, "positives"), count);
        figures.add("positive share", jsonMember(head, "positive_share"), percent);
    }
}

void addCosts(HeadFigures& figures, const Json& preview) {
    const auto threads = jsonInt(preview, "threads");
    figures.add("read an epoch", jsonMember(preview, "disk_bytes_per_epoch"), formatBytes);
    figures.add("delivered", jsonMember(preview, "delivered_bytes_per_epoch"), formatBytes);
    figures.add("CPU an epoch", jsonMember(preview, "cpu_seconds_per_epoch"), duration);
    for (const Json& cost : jsonMember(preview, "dearest")) {
        const double share = jsonReal(cost, "share");
        if (share >= kLeastShareShown) {
            figures.add("  " + jsonString(cost, "kind") + " " + jsonString(cost, "name"),
                        percent(share) + " of it");
        }
    }
    figures.add("waiting for files", jsonMember(preview, "wait_seconds_per_epoch"), duration);
    figures.add("rows/s of a core", jsonMember(preview, "rows_per_second_per_core"), count);
    figures.add("epoch, " + session::countText(threads, "thread"),
                jsonMember(preview, "epoch_seconds"), duration);
}

void addAppetite(HeadFigures& figures, const Json& appetite) {
    if (appetite.is_null()) {
        return;
    }
    figures.add("ranks that take", count(jsonReal(appetite, "rows_per_second")) + " rows/s");
    figures.add("need cores", jsonMember(appetite, "cores"), cores);
    figures.add("need of the disk", jsonMember(appetite, "disk_bytes_per_second"), bytesPerSecond);
    figures.add("get", jsonMember(appetite, "delivered_bytes_per_second"), bytesPerSecond);
    figures.add("epoch at that rate", jsonMember(appetite, "epoch_seconds"), duration);
}

}  // namespace

Result<int> runPreview(CliContext& context, const ParsedArgs& args) {
    std::vector<std::string> arguments = {"preview", args.words.front()};
    for (const char* option :
         {"--set", "--variation", "--rows-per-second", "--seconds", "--threads"}) {
        for (const std::string& value : args.list(option)) {
            arguments.insert(arguments.end(), {option, value});
        }
    }
    ASSIGN_OR_RETURN(const RoleAnswer answer, runLoaderRole(context, arguments));
    if (answer.exitCode != kExitOk) {
        return answer.exitCode;
    }
    const Json& preview = answer.document;
    for (const Json& note : jsonMember(preview, "notes")) {
        context.err << "note: " << shown(context.errorTerminal, note.get<std::string>()) << '\n';
    }
    if (args.isJson()) {
        printDocument(context, preview);
        return kExitOk;
    }
    printHead(context, preview);
    HeadFigures figures;
    addRows(figures, preview);
    addCosts(figures, preview);
    addAppetite(figures, jsonMember(preview, "appetite"));
    context.out << figures.render(context.terminal);
    const std::string advice = jsonString(preview, "segments_advice");
    if (!advice.empty()) {
        context.out << shown(context.terminal, advice) << '\n';
    }
    return kExitOk;
}

}  // namespace millrace::cli
