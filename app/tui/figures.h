#pragma once
// Figures as people read them, for views and for tables: unknown is "n/a" or "-", never 0.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/client/daemon_values.h"
#include "app/session/live_model.h"
#include "app/tui/tone.h"

namespace millrace::tui {

Tone toneOf(client::RunState state);
/// Of its state, or of what is wrong with it while it goes on.
Tone toneOf(const client::RunSummary& run);
/// "samples/s", "samples/s, 2:03 old".
std::string withAge(const std::string& text, const std::optional<double>& oldSeconds);
/// "12.3 %" or "n/a".
std::string percentText(const std::optional<double>& value);
/// "1.2 MB/s" or "n/a".
std::string rateText(const std::optional<double>& bytesPerSecond);
/// "3.2/23.9 GB" or "n/a".
std::string usedText(const std::optional<std::uint64_t>& used,
                     const std::optional<std::uint64_t>& total);
std::string numberText(const std::optional<double>& value, const char* unknown = "-");
/// "1 run", "2 runs", "1,024 files".
std::string countText(std::int64_t count, std::string_view noun);
/// How people call a metric: "loss", "test AUC", "test click normalised entropy".
std::string metricLabel(const std::string& name);
/// Counts that only tell something when they are not 0, and those that tables show elsewhere.
bool isInternalMetric(const std::string& name, const std::optional<double>& value);
/// "no GPU", with the daemon's reason where it has one.
std::string noGpuText(const client::NodeInfo& node);
/// "no GPU", "83 %", "n/a": the mean of a machine's GPUs.
std::string gpuText(const session::LiveNode& node);
/// "120/630", "120".
std::string stepText(const client::Progress& progress);
/// Share of the steps that are done; nothing where the total is unknown.
std::optional<double> fractionOf(const client::RunSummary& run);
/// "0:12", "1:05:09", "-".
std::string clockText(const std::optional<double>& seconds);
/// "2026-11-21 19:20:53" of the local calendar.
std::string localTime(std::int64_t utcMs);
/// Hours, minutes and seconds of the local day.
std::string timeOfDay(std::int64_t utcMs);
/// "5 s ago", "3 min ago", "2 d ago".
std::string ageText(std::int64_t utcMs, std::int64_t nowMs);

}  // namespace millrace::tui
