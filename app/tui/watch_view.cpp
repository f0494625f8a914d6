#include "app/tui/watch_view.h"

#include <algorithm>

#include "app/session/metric_catalogue.h"
#include "app/session/rank_view.h"
#include "app/session/words.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::tui {
namespace {

using session::LiveRun;
namespace metric = values::metric;

constexpr int kListMax = 9;
constexpr int kWide = 130;  // from this width on the log is beside the chart

struct FigureRow {
    std::string metric, label, text;
    const session::Series* series = nullptr;      // by step, or
    const std::deque<double>* history = nullptr;  // one value per second
    Pick pick = Pick::kMean;
    double low = 0, high = 0;  // for the sparkline; equal: the values' own range
};

constexpr std::size_t kSparkPoints = 600;

std::vector<double> tailOf(const FigureRow& row) {
    if (row.history != nullptr) {
        return {row.history->begin(), row.history->end()};
    }
    return row.series != nullptr ? row.series->tail(kSparkPoints) : std::vector<double>{};
}

std::vector<ChartPoint> pointsOf(const FigureRow& row) {
    std::vector<ChartPoint> points;
    if (row.series != nullptr) {
        for (const auto& [x, y] : row.series->points()) {
            points.push_back({x, y});
        }
    }
    for (std::size_t i = 0; row.history != nullptr && i < row.history->size(); ++i) {
        points.push_back({static_cast<double>(i), (*row.history)[i]});
    }
    return points;
}

FigureRow metricRow(const LiveRun& run, const std::string& name, std::int64_t nowMs) {
    FigureRow row;
    row.metric = name;
    row.label = session::metricLabel(name);
    const bool isRate = name == metric::kSamplesPerSecond;
    const bool isStall = name == metric::kInputStallPercent;
    const bool isGoing = !values::isEnded(run.summary.state);
    if (isRate || isStall) {
        row.label = session::withAge(row.label, run.oldRatesSeconds(nowMs));
    }
    std::optional<double> value = run.metric(name);
    if (isRate && !isGoing) {
        value = run.summary.rate();
        row.label += ", mean";
    }
    const session::MetricUnit unit = session::metricUnit(name);
    row.text = unit == session::MetricUnit::kPercent ? (value ? session::percentText(value) : "-")
                                                     : session::numberText(value);
    if (isStall) {
        row.text = session::stallText(run.summary, run.oldRatesSeconds(nowMs).has_value());
    }
    row.pick = isStall                                   ? Pick::kMax
               : unit == session::MetricUnit::kPerSecond ? Pick::kMin
                                                         : Pick::kMean;
    row.high = isStall ? 100 : 0;
    const auto series = run.series.find(name);
    row.series = series != run.series.end() ? &series->second : nullptr;
    return row;
}

// The node's figures, from its samples of the last two minutes.
std::vector<FigureRow> nodeRows(const session::LiveNode* node, std::int64_t nowMs) {
    FigureRow cpu{.label = session::word::kCpu.label, .text = "-", .pick = Pick::kMax, .high = 100};
    FigureRow gpu{.label = session::word::kGpu.label, .text = "-", .pick = Pick::kMax, .high = 100};
    if (node == nullptr) {
        return {cpu, gpu};
    }
    const bool isStale = session::LiveModel::isStale(*node, nowMs);
    const bool isKnown = node->receivedMs != 0 && !isStale;
    const bool hasGpu = !node->info.gpus.empty() || !node->sample.gpus.empty();
    const std::string unknown = isStale ? "n/a" : "-";
    if (node->info.cores > 0) {
        strAppend(&cpu.label, " (", session::countText(node->info.cores, "core"), ")");
    }
    if (node->info.gpus.size() > 1) {
        strAppend(&gpu.label, " (mean of ", node->info.gpus.size(), ")");
    }
    cpu.text = isKnown ? session::percentText(node->sample.cpuPercent) : unknown;
    gpu.text = isKnown || !hasGpu ? gpuText(*node) : unknown;
    cpu.history = &node->cpuHistory;
    gpu.history = &node->gpuHistory;
    return {cpu, gpu};
}

std::vector<std::string> evaluationNames(const LiveRun& run) {
    std::vector<std::string> names;
    for (const auto& [name, series] : run.series) {
        if (values::isEvalMetric(name) && !session::isInternalMetric(name, run.metric(name))) {
            names.push_back(name);
        }
    }
    return session::inUsualOrder(session::eachOnce(std::move(names)));
}

// Rows by importance: if they do not all fit, the last ones are omitted.
std::vector<FigureRow> figureRows(const LiveRun& run, const session::LiveNode* node,
                                  std::int64_t nowMs) {
    std::vector<FigureRow> rows;
    for (const char* name :
         {metric::kLoss, metric::kSamplesPerSecond, metric::kInputStallPercent}) {
        rows.push_back(metricRow(run, name, nowMs));
    }
    for (FigureRow& row : nodeRows(node, nowMs)) {
        rows.push_back(std::move(row));
    }
    for (const std::string& name : evaluationNames(run)) {
        rows.push_back(metricRow(run, name, nowMs));
    }
    for (const char* name :
         {metric::kLoaderRowsReadPerSecond, metric::kLoaderCpuPercent, metric::kTrainerCpuPercent,
          metric::kGradientNorm, metric::kLearningRate, metric::kTrainerForwardMs,
          metric::kTrainerBackwardMs, metric::kTrainerCommunicationMs,
          metric::kTrainerOptimizerMs}) {
        if (run.metric(name)) {
            rows.push_back(metricRow(run, name, nowMs));
        }
    }
    return rows;
}

// "rank0 142 %  feed 38 %  data0 97 % on node-2  412 MB": the run's workers in percent of one core,
// with their node if it is not the run's. Several ranks have rows of their own.
std::string workersText(const LiveRun& run, const session::LiveModel& model) {
    std::string text;
    std::uint64_t memory = 0;
    const session::LiveNode* const own = model.nodeOf(run.summary);
    for (const auto& [name, node] : model.nodes) {
        for (const values::ProcessSample& process : node.sample.processes) {
            if (process.runId != run.summary.id) {
                continue;
            }
            memory += process.memoryBytes.value_or(0);
            if (run.summary.ranks.size() < 2 || !process.worker.starts_with("rank")) {
                strAppend(&text, process.worker, " ", session::percentText(process.cpuPercent),
                          &node == own ? "" : " on " + name, "  ");
            }
        }
    }
    return memory > 0 ? text + formatBytes(static_cast<double>(memory)) : text;
}

// In percent of one core; "" if unknown.
std::string cpuOf(const session::LiveModel& model, const std::string& run, int rank) {
    const std::string worker = strCat("rank", rank);
    for (const auto& [name, node] : model.nodes) {
        for (const values::ProcessSample& process : node.sample.processes) {
            if (process.runId == run && process.worker == worker && process.cpuPercent) {
                return session::percentText(process.cpuPercent);
            }
        }
    }
    return "";
}

std::string stateSentence(const values::RunSummary& run, std::int64_t nowMs) {
    if (run.isStalled()) {
        const auto seconds = static_cast<double>(nowMs - run.standsSinceMs) / 1e3;
        return strCat(run.trouble, ", for ", session::secondsText(std::max(0.0, seconds)));
    }
    if (!run.reason().empty()) {
        return run.reason();
    }
    switch (run.state) {
        case values::RunState::kQueued:
            return "waits for its turn";
        case values::RunState::kRunning:
            return std::string(nameOf(run.progress.phase));
        default:
            return "";
    }
}

}  // namespace

void drawStatusRow(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs,
                   std::string_view keys) {
    const int y = grid.height() - 1;
    if (model.link.state == session::LinkState::kReconnecting) {
        const bool isLocal = model.link.sentence.find("'millrace up'") != std::string::npos;
        grid.put(
            1, y,
            strCat("connection lost ", session::ageText(model.link.sinceMs, nowMs),
                   ", trying again (", model.link.tries, ")",
                   isLocal ? "; 'millrace up' starts the daemon: " : ": ", model.link.sentence),
            Tone::kBad);
    } else if (model.link.state == session::LinkState::kRefused || !model.problem.empty()) {
        grid.put(1, y, model.problem.empty() ? model.link.sentence : model.problem, Tone::kBad);
    } else {
        grid.put(1, y, keys, Tone::kDim);
    }
}

const LiveRun* WatchView::chosen(const session::LiveModel& model) const {
    std::size_t index = chosen_;
    if (!hasChosen_) {
        for (std::size_t i = 0; i < runIds_.size(); ++i) {
            const auto run = model.runs.find(runIds_[i]);
            const bool isGoing = run != model.runs.end() &&
                                 (run->second.summary.state == values::RunState::kRunning ||
                                  run->second.summary.state == values::RunState::kStarting);
            if (isGoing) {
                index = i;
                break;
            }
        }
    }
    const auto found = index < runIds_.size() ? model.runs.find(runIds_[index]) : model.runs.end();
    return found == model.runs.end() ? nullptr : &found->second;
}

bool WatchView::press(const KeyPress& key, const session::LiveModel& model) {
    const std::size_t count = std::max<std::size_t>(1, runIds_.size());
    if (!hasChosen_) {
        const LiveRun* current = chosen(model);
        for (std::size_t i = 0; current != nullptr && i < runIds_.size(); ++i) {
            chosen_ = runIds_[i] == current->summary.id ? i : chosen_;
        }
    }
    switch (key.key) {
        case Key::kTab:
        case Key::kDown:
            chosen_ = (chosen_ + 1) % count;
            hasChosen_ = true;
            return true;
        case Key::kUp:
            chosen_ = (chosen_ + count - 1) % count;
            hasChosen_ = true;
            return true;
        case Key::kRight:
            ++metric_;
            return true;
        case Key::kLeft:
            metric_ += numMetrics_ - 1;
            return true;
        default:
            return false;
    }
}

void WatchView::drawBar(CellGrid& grid, const LiveRun* run, const session::LiveModel& model,
                        std::int64_t nowMs) const {
    grid.fill({0, 0, grid.width(), 1}, " ", Tone::kBar);
    const std::string time = barTime(nowMs, grid.width());
    const int end = grid.width() - static_cast<int>(time.size()) - 2;
    std::string title = "millrace watch";
    if (run != nullptr) {
        title = strCat(session::labelOf(run->summary), "  ", run->summary.id, "  ",
                       run->summary.stateWord());
    } else if (model.link.state == session::LinkState::kConnecting) {
        title += "  connecting";
    }
    grid.put(1, 0, title, Tone::kBar, end);
    grid.putRight(grid.width() - 1, 0, time, Tone::kBar);
}

int WatchView::drawList(CellGrid& grid, int y, const session::LiveModel& model) const {
    if (runIds_.size() < 2) {
        return y;
    }
    const LiveRun* current = chosen(model);
    const bool isOneName = std::all_of(runIds_.begin(), runIds_.end(), [&](const std::string& id) {
        const auto run = model.runs.find(id);
        return current == nullptr || run == model.runs.end() ||
               run->second.summary.name == current->summary.name;
    });
    const int rows = std::min<int>({static_cast<int>(runIds_.size()), kListMax, grid.height() / 3});
    std::size_t first = 0;
    for (std::size_t i = 0; current != nullptr && i < runIds_.size(); ++i) {
        if (runIds_[i] == current->summary.id && i >= static_cast<std::size_t>(rows)) {
            first = i + 1 - static_cast<std::size_t>(rows);
        }
    }
    for (int row = 0; row < rows; ++row, ++y) {
        const auto found = model.runs.find(runIds_[first + static_cast<std::size_t>(row)]);
        if (found == model.runs.end()) {
            continue;
        }
        const LiveRun& run = found->second;
        const bool isChosen = &run == current;
        const int nameEnd = std::max(24, grid.width() - 52);
        grid.put(0, y, isChosen ? (grid.isUtf8() ? "▸" : ">") : " ", Tone::kAccent);
        const std::string label = isOneName && !run.summary.variation.empty()
                                      ? run.summary.variation
                                      : session::labelOf(run.summary);
        grid.put(2, y, label, isChosen ? Tone::kStrong : Tone::kPlain, nameEnd);
        grid.put(nameEnd + 1, y, run.summary.stateWord(), toneOf(run.summary));
        const std::optional<double> done = session::shareDone(run.summary);
        grid.put(nameEnd + 12, y, progressBar(done.value_or(0), 10, grid.isUtf8()), Tone::kInfo);
        grid.putRight(nameEnd + 28, y,
                      session::percentText(done ? std::optional(*done * 100) : done));
        grid.putRight(nameEnd + 40, y,
                      strCat(session::metricLabel(metric::kLoss), " ",
                             session::numberText(run.metric(metric::kLoss))));
        grid.putRight(grid.width(), y,
                      strCat(session::metricColumn(metric::kEvalAuc), " ",
                             session::numberText(run.metric(metric::kEvalAuc))));
    }
    return y;
}

namespace {

// Draws the bar with step and time left, then rows, time and state, then the copy to the head.
int drawProgress(CellGrid& grid, int y, const LiveRun& run, const session::LiveModel& model,
                 std::int64_t nowMs) {
    const values::Progress& progress = run.summary.progress;
    const std::optional<double> done = session::shareDone(run.summary);
    const int barWidth = std::clamp(grid.width() - 66, 16, 90);
    int x = grid.put(1, y, progressBar(done.value_or(0), barWidth, grid.isUtf8()), Tone::kInfo);
    x = grid.put(x + 2, y, done ? session::percentText(*done * 100) : "", Tone::kStrong);
    std::string text = "step " + stepText(progress);
    if (progress.epochs > 0) {
        strAppend(&text, "  epoch ", std::min(progress.epoch + 1, progress.epochs), "/",
                  progress.epochs);
    }
    if (!values::isEnded(run.summary.state)) {
        strAppend(&text, "  ", session::word::kTimeLeft.label, " ",
                  session::secondsText(run.secondsLeft(nowMs)));
    }
    grid.put(x + 2, y, text);
    const std::string elapsed = session::secondsText(run.elapsedSeconds(nowMs));
    std::string second = strCat(formatCount(progress.rows), " rows  ", elapsed, " elapsed");
    if (run.summary.attempt > 1) {
        strAppend(&second, "  attempt ", run.summary.attempt);
    }
    x = grid.put(1, y + 1, second, Tone::kDim);
    x = grid.put(x + 2, y + 1, stateSentence(run.summary, nowMs), toneOf(run.summary));
    const std::string workers = values::isEnded(run.summary.state) ? "" : workersText(run, model);
    if (x + 2 + displayWidth(workers) < grid.width()) {
        grid.putRight(grid.width() - 1, y + 1, workers, Tone::kDim);
    }
    const std::string handOver = session::handOverText(run.summary.handOver);
    grid.put(1, y + 2, handOver, Tone::kDim);
    return y + (handOver.empty() ? 2 : 3);
}

// Ranks without progress first, then by number.
std::vector<values::RankNow> ranksToShow(std::vector<values::RankNow> ranks) {
    std::stable_partition(ranks.begin(), ranks.end(),
                          [](const values::RankNow& rank) { return rank.standsSinceMs != 0; });
    return ranks;
}

void drawRank(CellGrid& grid, int y, const values::RankNow& rank, const std::string& cpu,
              std::int64_t nowMs) {
    const bool stands = rank.standsSinceMs != 0;
    grid.put(1, y, strCat("rank ", rank.rank), Tone::kDim, 10);
    std::string state(session::rankWord(rank));
    if (const auto seconds = session::standsSeconds(rank, nowMs)) {
        strAppend(&state, " for ", session::secondsText(seconds));
    }
    const Tone tone = session::standsItself(rank) ? Tone::kBad
                      : stands                    ? Tone::kWarn
                                                  : Tone::kPlain;
    grid.put(10, y, state, tone, 36);
    grid.put(38, y, rank.step > 0 ? "step " + formatCount(rank.step) : "", Tone::kPlain, 52);
    // An old step time must not look current.
    if (const auto old = session::oldStepSeconds(rank, nowMs)) {
        grid.put(53, y, session::secondsText(old) + " old", Tone::kDim, 66);
    } else if (rank.stepMs) {
        grid.put(53, y, session::stepTimeText(rank), Tone::kPlain, 63);
        grid.put(64, y, "stall " + session::percentText(rank.stepStallPercent), Tone::kPlain, 76);
    }
    grid.put(78, y, cpu.empty() ? "" : strCat(session::word::kCpu.label, " ", cpu), Tone::kDim);
}

// For a run with several ranks: draws one row each, while there is room.
int drawRanks(CellGrid& grid, int y, const LiveRun& run, const session::LiveModel& model,
              std::int64_t nowMs) {
    if (run.summary.ranks.size() < 2 || values::isEnded(run.summary.state)) {
        return y;
    }
    const auto most = static_cast<std::size_t>(std::clamp(grid.height() / 6, 2, 8));
    const std::vector<values::RankNow> ranks = ranksToShow(run.summary.ranks);
    const std::size_t shown = ranks.size() <= most ? ranks.size() : most - 1;
    for (std::size_t i = 0; i < shown; ++i, ++y) {
        drawRank(grid, y, ranks[i], cpuOf(model, run.summary.id, ranks[i].rank), nowMs);
    }
    if (shown < ranks.size()) {
        grid.put(1, y++,
                 strCat("and ", ranks.size() - shown, " more of ",
                        session::ranksText(run.summary.ranks)),
                 Tone::kDim);
    }
    return y;
}

// Draws rows of label, figure and sparkline. Returns the row below.
int drawFigures(CellGrid& grid, const Rect& area, const std::vector<FigureRow>& rows,
                std::size_t chosen) {
    int y = area.y;
    for (std::size_t i = 0; i < rows.size() && y < area.bottom(); ++i, ++y) {
        const FigureRow& row = rows[i];
        grid.put(area.x + 1, y, row.label, i == chosen ? Tone::kStrong : Tone::kDim, area.x + 27);
        grid.putRight(area.x + 36, y, row.text);
        const int width = area.width - 40;
        const std::vector<double> values = tailOf(row);
        if (!values.empty() && width > 4) {
            grid.put(area.x + 39, y,
                     sparkline(values, width, grid.isUtf8(), row.pick, row.low, row.high),
                     Tone::kInfo);
        }
    }
    return y;
}

void drawChart(CellGrid& grid, const Rect& area, const FigureRow& row) {
    grid.rule(area.x, area.y, area.width, row.label);
    drawLineChart(grid, {area.x, area.y + 1, area.width, area.height - 1}, {{pointsOf(row)}},
                  row.history != nullptr ? "second" : "step");
}

void drawLog(CellGrid& grid, const Rect& area, const LiveRun& run) {
    grid.rule(area.x, area.y, area.width, "log");
    const int rows = area.height - 1;
    const int count = std::min<int>(rows, static_cast<int>(run.logs.size()));
    for (int i = 0; i < count; ++i) {
        const values::LogLine& line =
            run.logs[run.logs.size() - static_cast<std::size_t>(count - i)];
        const int y = area.y + 1 + i;
        int x = grid.put(area.x + 1, y, session::timeOfDay(line.timeMs), Tone::kDim, area.right());
        x = grid.put(x + 1, y, line.worker, Tone::kAccent, area.right());
        grid.put(x + 1, y, line.text, line.isStderr ? Tone::kPlain : Tone::kDim, area.right());
    }
    if (count == 0 && rows > 0) {
        grid.put(area.x + 1, area.y + 1, "no lines yet", Tone::kDim, area.right());
    }
}

}  // namespace

void WatchView::drawFooter(CellGrid& grid, const session::LiveModel& model,
                           std::int64_t nowMs) const {
    std::string keys = runIds_.size() > 1 ? "q leave   Tab next run   " : "q leave   ";
    keys += grid.isUtf8() ? "← → metric" : "left/right metric";
    const bool isGoing = std::any_of(model.runs.begin(), model.runs.end(), [](const auto& run) {
        return !values::isEnded(run.second.summary.state);
    });
    drawStatusRow(grid, model, nowMs, keys + (isGoing ? "   (the run goes on)" : ""));
}

void WatchView::draw(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs) {
    const LiveRun* run = chosen(model);
    drawBar(grid, run, model, nowMs);
    drawFooter(grid, model, nowMs);
    int y = drawList(grid, 1, model);
    if (run == nullptr) {
        grid.put(
            1, y + 1,
            model.link.state == session::LinkState::kConnecting ? "connecting ..." : "no such run",
            Tone::kDim);
        return;
    }
    if (runIds_.size() > 1) {
        grid.rule(0, y++, grid.width(), session::labelOf(run->summary));
    }
    const session::LiveNode* node = model.nodeOf(run->summary);
    const std::vector<FigureRow> rows = figureRows(*run, node, nowMs);
    numMetrics_ = rows.size();
    metric_ %= numMetrics_;
    y = drawProgress(grid, y, *run, model, nowMs);
    y = drawRanks(grid, y, *run, model, nowMs);
    const int bottom = grid.height() - 1;
    const bool isWide = grid.width() >= kWide;
    const int left = isWide ? grid.width() * 3 / 5 : grid.width();
    // The CPU and GPU rows stay even if there is room for little else.
    const int figures = std::clamp((bottom - y) / 2 - 2, 5, grid.height() >= 40 ? 14 : 9);
    y = drawFigures(grid, {0, y, left, std::min(figures, bottom - y)}, rows, metric_);
    if (isWide) {
        drawChart(grid, {0, y, left - 1, bottom - y}, rows[metric_]);
        drawLog(grid, {left, y, grid.width() - left, bottom - y}, *run);
        return;
    }
    const int chart = std::max(0, (bottom - y) * 3 / 5);
    if (chart >= 4) {
        drawChart(grid, {0, y, left, chart}, rows[metric_]);
        y += chart;
    }
    drawLog(grid, {0, y, left, bottom - y}, *run);
}

}  // namespace millrace::tui
