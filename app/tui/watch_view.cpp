#include "app/tui/watch_view.h"

#include <algorithm>

#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "backend/core/text.h"

namespace millrace::tui {
namespace {

using session::LiveRun;

constexpr int kListMax = 9;
constexpr int kWide = 130;  // from here on the log stands beside the chart

struct FigureRow {
    std::string label, metric, unit;
    Pick pick;
    double low, high;  // of the sparkline; equal: the values' own range
};

std::vector<FigureRow> figureRows(const LiveRun& run) {
    std::vector<FigureRow> rows = {
        {"loss", "loss", "", Pick::kMean, 0, 0},
        {"samples/s", "samples_per_second", "", Pick::kMin, 0, 0},
        {"input stall", "input_stall_percent", " %", Pick::kMax, 0, 100},
    };
    for (const auto& [name, series] : run.series) {
        if (name.rfind("eval.", 0) == 0 && name.find("rows") == std::string::npos) {
            rows.push_back({name, name, "", Pick::kMean, 0, 0});
        }
    }
    for (const char* name :
         {"loader.rows_read_per_second", "loader.cpu_percent", "trainer.cpu_percent"}) {
        if (run.metric(name)) {
            const bool isPercent = std::string_view(name).ends_with("percent");
            std::string label = name;
            label = isPercent ? label.substr(0, label.find('.')) + " CPU" : "rows read/s";
            rows.push_back({label, name, isPercent ? " %" : "", Pick::kMax, 0, 0});
        }
    }
    return rows;
}

std::string stateSentence(const client::RunSummary& run) {
    switch (run.state) {
        case client::RunState::kQueued:
            return run.queuedReason.empty() ? "waits for its turn" : run.queuedReason;
        case client::RunState::kFailed:
        case client::RunState::kCancelled:
            return run.exitReason;
        case client::RunState::kRunning:
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
        grid.put(1, y,
                 strCat("connection lost ", ageText(model.link.sinceMs, nowMs), ", trying again (",
                        model.link.tries, "): ", model.link.sentence),
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
                                 (run->second.summary.state == client::RunState::kRunning ||
                                  run->second.summary.state == client::RunState::kStarting);
            if (isGoing) {
                index = i;
                break;
            }
        }
    }
    const auto found = index < runIds_.size() ? model.runs.find(runIds_[index]) : model.runs.end();
    return found == model.runs.end() ? nullptr : &found->second;
}

std::string WatchView::chartMetric(const LiveRun& run) const {
    std::vector<std::string> names;
    for (const FigureRow& row : figureRows(run)) {
        names.push_back(row.metric);
    }
    return names[metric_ % names.size()];
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
            metric_ += metric_ == 0 ? 1000 * figureRows(LiveRun{}).size() - 1 : std::size_t(-1);
            return true;
        default:
            return false;
    }
}

void WatchView::drawBar(CellGrid& grid, const LiveRun* run, const session::LiveModel& model,
                        std::int64_t nowMs) const {
    grid.fill({0, 0, grid.width(), 1}, " ", Tone::kBar);
    const std::string time = timeOfDay(nowMs);
    const int end = grid.width() - static_cast<int>(time.size()) - 2;
    std::string title = "millrace watch";
    if (run != nullptr) {
        title = strCat(session::labelOf(run->summary), "  ", run->summary.id, "  ",
                       nameOf(run->summary.state));
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
        grid.put(2, y, session::labelOf(run.summary, static_cast<std::size_t>(nameEnd - 2)),
                 isChosen ? Tone::kStrong : Tone::kPlain, nameEnd);
        grid.put(nameEnd + 1, y, nameOf(run.summary.state), toneOf(run.summary.state));
        const std::optional<double> done = fractionOf(run.summary);
        grid.put(nameEnd + 12, y, progressBar(done.value_or(0), 10, grid.isUtf8()), Tone::kInfo);
        grid.putRight(nameEnd + 28, y, percentText(done ? std::optional(*done * 100) : done));
        grid.putRight(nameEnd + 40, y, "loss " + numberText(run.metric("loss")));
        grid.putRight(grid.width(), y, "auc " + numberText(run.metric("eval.auc")));
    }
    return y;
}

int WatchView::drawProgress(CellGrid& grid, int y, const LiveRun& run, std::int64_t nowMs) const {
    const client::Progress& progress = run.summary.progress;
    const std::optional<double> done = fractionOf(run.summary);
    const int barWidth = std::clamp(grid.width() - 58, 16, 90);
    int x = grid.put(1, y, progressBar(done.value_or(0), barWidth, grid.isUtf8()), Tone::kInfo);
    x = grid.put(x + 2, y, done ? percentText(*done * 100) : "", Tone::kStrong);
    std::string text = "step " + stepText(progress);
    if (progress.epochs > 0) {
        strAppend(&text, "  epoch ", std::min(progress.epoch + 1, progress.epochs), "/",
                  progress.epochs);
    }
    if (!client::isEnded(run.summary.state)) {
        strAppend(&text, "  ETA ", clockText(run.secondsLeft()));
    }
    grid.put(x + 2, y, text);
    const std::string elapsed = clockText(run.elapsedSeconds(nowMs));
    std::string second = strCat(formatCount(progress.rows), " rows  ", elapsed, " elapsed");
    if (run.summary.attempt > 1) {
        strAppend(&second, "  attempt ", run.summary.attempt);
    }
    x = grid.put(1, y + 1, second, Tone::kDim);
    grid.put(x + 2, y + 1, stateSentence(run.summary), toneOf(run.summary.state));
    return y + 2;
}

int WatchView::drawFigures(CellGrid& grid, const Rect& area, const LiveRun& run) const {
    const std::vector<FigureRow> rows = figureRows(run);
    const std::string shownMetric = chartMetric(run);
    int y = area.y;
    for (const FigureRow& row : rows) {
        if (y >= area.bottom()) {
            break;
        }
        const bool isShown = row.metric == shownMetric;
        grid.put(area.x + 1, y, row.label, isShown ? Tone::kStrong : Tone::kDim, area.x + 25);
        std::optional<double> value = run.metric(row.metric);
        if (row.metric == "input_stall_percent" && !value) {
            value = session::stallPercent(run.summary);
        }
        grid.putRight(area.x + 36, y, value ? shortNumber(*value) + row.unit : "-");
        const auto series = run.series.find(row.metric);
        const int width = area.width - 40;
        if (series != run.series.end() && width > 4) {
            const std::vector<double> values = series->second.tail(600);
            grid.put(area.x + 39, y,
                     sparkline(values, width, grid.isUtf8(), row.pick, row.low, row.high),
                     Tone::kInfo);
        }
        ++y;
    }
    return y;
}

void WatchView::drawChart(CellGrid& grid, const Rect& area, const LiveRun& run) const {
    const std::string name = chartMetric(run);
    grid.rule(area.x, area.y, area.width, name);
    ChartSeries series;
    const auto found = run.series.find(name);
    if (found != run.series.end()) {
        for (const auto& [x, y] : found->second.points()) {
            series.points.push_back({x, y});
        }
    }
    drawLineChart(grid, {area.x, area.y + 1, area.width, area.height - 1}, {series}, "step");
}

void WatchView::drawLog(CellGrid& grid, const Rect& area, const LiveRun& run) const {
    grid.rule(area.x, area.y, area.width, "log");
    const int rows = area.height - 1;
    const int count = std::min<int>(rows, static_cast<int>(run.logs.size()));
    for (int i = 0; i < count; ++i) {
        const client::LogLine& line =
            run.logs[run.logs.size() - static_cast<std::size_t>(count - i)];
        const int y = area.y + 1 + i;
        int x = grid.put(area.x + 1, y, timeOfDay(line.timeMs), Tone::kDim, area.right());
        x = grid.put(x + 1, y, line.worker, Tone::kAccent, area.right());
        grid.put(x + 1, y, line.text, line.isStderr ? Tone::kPlain : Tone::kDim, area.right());
    }
    if (count == 0 && rows > 0) {
        grid.put(area.x + 1, area.y + 1, "no lines yet", Tone::kDim, area.right());
    }
}

void WatchView::drawFooter(CellGrid& grid, const session::LiveModel& model,
                           std::int64_t nowMs) const {
    std::string keys = runIds_.size() > 1 ? "q leave   Tab next run   " : "q leave   ";
    keys += grid.isUtf8() ? "← → metric" : "left/right metric";
    const bool isGoing = std::any_of(model.runs.begin(), model.runs.end(), [](const auto& run) {
        return !client::isEnded(run.second.summary.state);
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
    y = drawProgress(grid, y, *run, nowMs);
    const int bottom = grid.height() - 1;
    const bool isWide = grid.width() >= kWide;
    const int left = isWide ? grid.width() * 3 / 5 : grid.width();
    const int figures = std::max(3, std::min(9, (bottom - y) / 2 - 2));
    y = drawFigures(grid, {0, y, left, figures}, *run);
    if (isWide) {
        drawChart(grid, {0, y, left - 1, bottom - y}, *run);
        drawLog(grid, {left, y, grid.width() - left, bottom - y}, *run);
        return;
    }
    const int chart = std::max(0, (bottom - y) * 3 / 5);
    if (chart >= 4) {
        drawChart(grid, {0, y, left, chart}, *run);
        y += chart;
    }
    drawLog(grid, {0, y, left, bottom - y}, *run);
}

}  // namespace millrace::tui
