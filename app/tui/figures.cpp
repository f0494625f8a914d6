#include "app/tui/figures.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <absl/strings/str_format.h>

#include "app/tui/charts.h"
#include "backend/core/status.h"
#include "backend/core/text.h"

namespace millrace::tui {

Tone toneOf(client::RunState state) {
    switch (state) {
        case client::RunState::kFinished:
            return Tone::kGood;
        case client::RunState::kFailed:
            return Tone::kBad;
        case client::RunState::kCancelled:
        case client::RunState::kStopping:
            return Tone::kWarn;
        case client::RunState::kRunning:
        case client::RunState::kStarting:
            return Tone::kInfo;
        default:
            return Tone::kDim;
    }
}

Tone toneOf(const client::RunSummary& run) {
    if (run.isPurged()) {
        return Tone::kDim;
    }
    if (run.isStalled()) {
        return Tone::kBad;
    }
    return client::isEnded(run.state) || run.trouble.empty() ? toneOf(run.state) : Tone::kWarn;
}

std::string withAge(const std::string& text, const std::optional<double>& oldSeconds) {
    return oldSeconds ? strCat(text, ", ", clockText(oldSeconds), " old") : text;
}

std::string percentText(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) {
        return "n/a";
    }
    return absl::StrFormat(*value >= 9.95 ? "%.0f %%" : "%.1f %%", *value);
}

std::string rateText(const std::optional<double>& bytesPerSecond) {
    return bytesPerSecond ? formatBytes(*bytesPerSecond) + "/s" : "n/a";
}

std::string usedText(const std::optional<std::uint64_t>& used,
                     const std::optional<std::uint64_t>& total) {
    if (!used || !total) {
        return "n/a";
    }
    const std::string all = formatBytes(static_cast<double>(*total));
    const std::size_t blank = all.find(' ');
    const double unit = static_cast<double>(*total) / std::max(1e-9, std::atof(all.c_str()));
    return absl::StrFormat("%.1f/%s %s", static_cast<double>(*used) / unit, all.substr(0, blank),
                           all.substr(blank + 1));
}

std::string numberText(const std::optional<double>& value, const char* unknown) {
    return value ? shortNumber(*value) : unknown;
}

std::string countText(std::int64_t count, std::string_view noun) {
    return strCat(formatCount(count), " ", noun, count == 1 ? "" : "s");
}

std::string metricLabel(const std::string& name) {
    static constexpr std::pair<std::string_view, std::string_view> kLabels[] = {
        {"auc", "AUC"},
        {"normalized_entropy", "normalised entropy"},
        {"log_loss", "log loss"},
        {"rows_without_label", "rows without label"},
        {"samples_per_second", "samples/s"},
        {"input_stall_percent", "input stall"},
        {"loader.rows_read_per_second", "rows read/s"},
        {"loader.rows_kept_per_second", "rows kept/s"},
        {"loader.cpu_percent", "loader CPU"},
        {"trainer.cpu_percent", "trainer CPU"},
    };
    const bool isEval = name.rfind("eval.", 0) == 0;
    const std::size_t dot = isEval ? name.rfind('.') : std::string::npos;
    std::string label = isEval ? name.substr(dot + 1) : name;
    for (const auto& [metric, text] : kLabels) {
        label = metric == label ? text : label;
    }
    const std::string head = isEval && dot > 5 ? name.substr(5, dot - 5) + " " : "";
    return isEval ? "test " + head + label : label;
}

bool isInternalMetric(const std::string& name, const std::optional<double>& value) {
    if (name.rfind("eval.", 0) == 0 && name.ends_with(".rows")) {
        return true;
    }
    const bool isFault = name.ends_with("rows_without_label") || name == "steps_without_weight";
    return isFault && value.value_or(0) == 0;
}

std::string noGpuText(const client::NodeInfo& node) {
    const bool saysSo = node.gpuNote.rfind("no GPU", 0) == 0;
    return node.gpuNote.empty() ? "no GPU"
           : saysSo             ? node.gpuNote
                                : strCat("no GPU (", node.gpuNote, ")");
}

std::string gpuText(const session::LiveNode& node) {
    if (node.info.gpus.empty() && node.sample.gpus.empty()) {
        return node.info.name.empty() && node.receivedMs == 0 ? "-" : "no GPU";
    }
    return percentText(session::gpuPercent(node.sample));
}

std::string stepText(const client::Progress& progress) {
    return progress.stepsTotal > 0 ? strCat(progress.step, "/", progress.stepsTotal)
                                   : strCat(progress.step);
}

std::optional<double> fractionOf(const client::RunSummary& run) {
    if (run.state == client::RunState::kFinished) {
        return 1.0;
    }
    if (run.progress.stepsTotal <= 0) {
        return std::nullopt;
    }
    return std::clamp(
        static_cast<double>(run.progress.step) / static_cast<double>(run.progress.stepsTotal), 0.0,
        1.0);
}

std::string clockText(const std::optional<double>& seconds) {
    if (!seconds || !std::isfinite(*seconds)) {
        return "-";
    }
    const auto total = static_cast<std::int64_t>(std::ceil(*seconds));
    const std::int64_t hours = total / 3600, minutes = total / 60 % 60, rest = total % 60;
    return hours > 0 ? absl::StrFormat("%d:%02d:%02d", hours, minutes, rest)
                     : absl::StrFormat("%d:%02d", minutes, rest);
}

std::string localTime(std::int64_t utcMs) {
    const std::time_t seconds = utcMs / 1000;
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return absl::StrFormat("%04d-%02d-%02d %s", local.tm_year + 1900, local.tm_mon + 1,
                           local.tm_mday, timeOfDay(utcMs));
}

std::string timeOfDay(std::int64_t utcMs) {
    const std::time_t seconds = utcMs / 1000;
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return absl::StrFormat("%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string ageText(std::int64_t utcMs, std::int64_t nowMs) {
    if (utcMs == 0) {
        return "-";
    }
    const std::int64_t seconds = std::max<std::int64_t>(0, nowMs - utcMs) / 1000;
    if (seconds < 90) {
        return strCat(seconds, " s ago");
    }
    if (seconds < 90 * 60) {
        return strCat(seconds / 60, " min ago");
    }
    return seconds < 36 * 3600 ? strCat(seconds / 3600, " h ago")
                               : strCat(seconds / 86400, " d ago");
}

}  // namespace millrace::tui
