#include "app/cli/data/profile_view.h"

#include <algorithm>
#include <cmath>

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include "app/cli/frame/table.h"
#include "app/session/words.h"
#include "app/tui/figures.h"
#include "backend/core/clock.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

namespace word = session::word;

using tui::Tone;

constexpr int kLeastFinding = 20;  // columns, however narrow the terminal

std::string number(double value) {
    if (!std::isfinite(value)) {
        return "-";
    }
    if (std::abs(value) < 1e15 && value == std::floor(value)) {
        return formatCount(static_cast<std::int64_t>(value));
    }
    return absl::StrFormat("%.4g", value);
}

std::string member(const Json& object, const char* key) {
    const Json& value = jsonMember(object, key);
    return value.is_number() ? number(value.get<double>()) : "-";
}

// A column's value: dates (days since 1970) and times (microseconds) become readable.
std::string valueText(const std::string& type, const Json& object, const char* key) {
    const Json& value = jsonMember(object, key);
    const std::string element = type.substr(0, type.find('['));  // a list has its elements' type
    const bool isDate = element == "date", isTime = element == "timestamp";
    const double ms = !value.is_number() ? NAN
                      : isDate           ? value.get<double>() * 86'400'000
                                         : value.get<double>() / 1e3;
    // formatTime() supports the years 0 to 9999.
    if ((!isDate && !isTime) || !(std::abs(ms) < 2.5e14) || ms < -6.2e13) {
        return member(object, key);
    }
    const std::string text = formatTime(static_cast<std::int64_t>(std::floor(ms)));
    return isDate ? text.substr(0, 10) : text.substr(0, 10) + " " + text.substr(11, 8);
}

// The count of nulls in all rows if the footers have it; else the share in the rows that were read.
std::string nullsText(const Json& column, const Json& profile) {
    if (column.contains("nulls")) {
        return formatCount(jsonInt(column, "nulls"));
    }
    const std::int64_t rows = jsonInt(profile, "rows"), nulls = jsonInt(profile, "nulls");
    return rows == 0 || nulls == 0 ? "0"
                                   : absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(nulls) /
                                                                    static_cast<double>(rows));
}

std::string lengthText(const Json& profile) {
    const Json& length = jsonMember(profile, "length");
    return length.is_null() || length.empty()
               ? ""
               : number(std::round(10 * jsonReal(length, "mean")) / 10) + " (" +
                     member(length, "max") + ")";
}

void printColumnProfiles(CliContext& context, const Json& columns) {
    Table table({{word::kColumn.heading, Align::kLeft, 10},
                 {word::kType.heading, Align::kLeft, 6, 2},
                 {word::kNulls.heading, Align::kRight},
                 {"DISTINCT", Align::kRight},
                 {word::kMin.heading, Align::kRight, 4, 5},
                 {"5 %", Align::kRight, 4, 7},
                 {"MEDIAN", Align::kRight, 4, 4},
                 {"95 %", Align::kRight, 4, 7},
                 {word::kMax.heading, Align::kRight, 4, 5},
                 {"LENGTH (MAX)", Align::kRight, 6, 6},
                 {word::kOnDisk.heading, Align::kRight, 6, 3},
                 {word::kDecoded.heading, Align::kRight, 6, 8},
                 {"NS/ROW", Align::kRight, 6, 1}});
    for (const Json& column : columns) {
        const Json& profile = jsonMember(column, "profile");
        const Json& quantiles = jsonMember(profile, "quantiles");
        const Json& cost = jsonMember(column, "read_ns_per_row");
        const std::string type = jsonString(column, "type");
        table.add({{jsonString(column, "name"), Tone::kStrong},
                   type,
                   nullsText(column, profile),
                   member(profile, "distinct"),
                   valueText(type, profile, "min"),
                   valueText(type, quantiles, "0.05"),
                   valueText(type, quantiles, "0.5"),
                   valueText(type, quantiles, "0.95"),
                   valueText(type, profile, "max"),
                   lengthText(profile),
                   bytesText(column, "disk_bytes"),
                   {bytesText(column, "decoded_bytes"), Tone::kDim},
                   cost.is_number() ? absl::StrFormat("%.1f", cost.get<double>()) : ""});
    }
    context.out << table.render(context.terminal);
}

void printAdvice(CliContext& context, const Json& advice) {
    const Terminal& terminal = context.terminal;
    context.out << '\n'
                << paint(terminal, Tone::kStrong, "what the writer costs the reader") << '\n';
    if (advice.empty()) {
        context.out << "  nothing was found\n";
    }
    for (const Json& one : advice) {
        const std::string command = jsonString(one, "command");
        const int width = terminal.width > 0 ? std::max(terminal.width - 4, kLeastFinding) : 0;
        const auto lines = wrapped(shown(terminal, jsonString(one, "finding")), width);
        context.out << "  "
                    << paint(terminal, command.empty() ? Tone::kGood : Tone::kWarn,
                             shown(terminal, terminal.isUtf8 ? (command.empty() ? "✓" : "!")
                                                             : (command.empty() ? "+" : "!")))
                    << ' ' << absl::StrJoin(lines, "\n    ") << '\n';
        if (!command.empty()) {
            // A command is never broken into lines, so that it can be copied.
            context.out << "    " << paint(terminal, Tone::kInfo, shown(terminal, command)) << '\n';
        }
    }
}

}  // namespace

std::string bytesText(const Json& object, const char* key) {
    return object.contains(key) ? formatBytes(static_cast<double>(jsonInt(object, key))) : "-";
}

void printProfile(CliContext& context, const Json& profile) {
    const Terminal& terminal = context.terminal;
    std::string head = jsonBool(profile, "complete")
                           ? "all rows were read"
                           : strCat("from ", formatCount(jsonInt(profile, "rows_read")), " of ",
                                    formatCount(jsonInt(profile, "rows")), " rows (",
                                    formatCount(jsonInt(profile, "splits_read")), " of ",
                                    formatCount(jsonInt(profile, "splits")),
                                    " splits, drawn at random; --full reads all)");
    context.out << paint(terminal, Tone::kDim,
                         strCat(head, "; distinct values +- 1.6 %, of those rows"))
                << '\n';
    printColumnProfiles(context, jsonMember(profile, "columns"));
    const Json& request = jsonMember(profile, "request");
    if (!request.is_null() && !request.empty()) {
        context.out << strCat("\nrequest: ", jsonString(request, "column"), ", ",
                              absl::StrFormat("%.1f", jsonReal(request, "rows_per_request")),
                              " rows each in the sample, ",
                              absl::StrFormat("%.0f %%", 100 * jsonReal(request, "adjacent_share")),
                              " of them side by side\n");
    }
    printAdvice(context, jsonMember(profile, "advice"));
}

}  // namespace millrace::cli
