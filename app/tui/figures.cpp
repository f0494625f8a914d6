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
