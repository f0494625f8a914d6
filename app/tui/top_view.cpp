#include "app/tui/top_view.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <absl/strings/str_format.h>

#include "app/session/metric_catalogue.h"
#include "app/session/words.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "app/tui/watch_view.h"
#include "backend/text/text.h"

namespace millrace::tui {
namespace {

using session::LiveNode;
using session::LiveRun;

std::optional<double> share(const std::optional<std::uint64_t>& used,
                            const std::optional<std::uint64_t>& total) {
    if (!used || !total || *total == 0) {
        return std::nullopt;
    }
    return static_cast<double>(*used) / static_cast<double>(*total);
}

std::vector<double> values(const std::deque<double>& history) {
    return {history.begin(), history.end()};
}

constexpr int kLabelWidth = 5;  // width of the labels of gauges and of the rows below them

// Draws "cpu  ████░░░░  43 %": a label, a bar and its figure, up to the column `end`. Returns the
// column after it. The bar is at most `width` wide and makes room for the figure.
int gauge(CellGrid& grid, int x, int y, std::string_view label, const std::optional<double>& part,
          int width, const std::string& figure, int end) {
    constexpr int kLeastBar = 4;
    x = grid.put(x, y, padRight(label, kLabelWidth), Tone::kDim);
    const Tone tone = part.value_or(0) > 0.9 ? Tone::kWarn : Tone::kInfo;
    width = std::min(width, end - x - 1 - displayWidth(figure));
    if (width >= kLeastBar) {
        x = 1 + grid.put(x, y, progressBar(part.value_or(0), width, grid.isUtf8()),
                         part ? tone : Tone::kDim);
    }
    return grid.put(x, y, figure, Tone::kPlain, end);
}

// Puts `text` two columns after `x` if all of it fits before `end`. Returns the column after the
// last one in use.
int putWhole(CellGrid& grid, int x, int y, const std::string& text, int end,
             Tone tone = Tone::kPlain) {
    return x + 2 + displayWidth(text) > end ? x : grid.put(x + 2, y, text, tone, end);
}

// The right edge of each column of the run list; 0: the column does not fit.
struct RunColumns {
    int name, state, step, rate, loss, stall, cpu, memory, left;
    bool isWide;
};

// If not all columns fit, drops some to keep id, name and state readable.
void placeNarrow(RunColumns& c, int width) {
    constexpr int kNameLeast = 18, kState = 10;
    std::vector<std::pair<int RunColumns::*, int>> fromRight = {{&RunColumns::left, 11},
                                                                {&RunColumns::stall, 8},
                                                                {&RunColumns::loss, 9},
                                                                {&RunColumns::rate, 11},
                                                                {&RunColumns::step, 12}};
    int taken = kState;
    for (const auto& [end, columns] : fromRight) {
        taken += columns;
    }
    for (const auto spare : {&RunColumns::rate, &RunColumns::stall, &RunColumns::left,
                             &RunColumns::loss, &RunColumns::step}) {
        const auto one = std::find_if(fromRight.begin(), fromRight.end(),
                                      [&](const auto& column) { return column.first == spare; });
        if (width - taken < kNameLeast) {
            taken -= one->second;
            fromRight.erase(one);
        }
    }
    int right = width;
    for (const auto& [end, columns] : fromRight) {
        c.*end = right;
        right -= columns;
    }
    c.state = right;
    c.name = std::max(11, right - kState);
    c.cpu = c.memory = c.stall;
}

RunColumns columnsFor(int width) {
    RunColumns c{};
    c.isWide = width >= 124;  // names have 20 columns then
    if (!c.isWide) {
        placeNarrow(c, width);
        return c;
    }
    c.left = width;
    c.memory = c.left - 11;
    c.cpu = c.memory - 11;
    c.stall = c.cpu - 8;
    c.loss = c.stall - 17;
    c.rate = c.loss - 9;
    c.step = c.rate - 12;
    c.state = c.step - 16;
    c.name = c.state - 10;
    return c;
}

void putFigure(CellGrid& grid, int end, int y, const std::string& text, Tone tone = Tone::kPlain) {
    if (end > 0) {
        grid.putRight(end, y, text, tone);
    }
}

struct Usage {
    double cpuPercent = 0;
    std::uint64_t memoryBytes = 0;
    bool isKnown = false;
};

Usage usageOf(const session::LiveModel& model, const std::string& runId) {
    Usage usage;
    for (const auto& [name, node] : model.nodes) {
        if (!session::isThere(node.info)) {
            continue;
        }
        for (const values::ProcessSample& process : node.sample.processes) {
            if (process.runId == runId) {
                usage.isKnown = true;
                usage.cpuPercent += process.cpuPercent.value_or(0);
                usage.memoryBytes += process.memoryBytes.value_or(0);
            }
        }
    }
    return usage;
}

// "r-abc23  feed 38 %  data0 97 %  412 MB": a run's workers on a node, CPU in percent of one core.
std::string workText(const values::NodeSample& sample, const std::string& runId) {
    std::string text = runId;
    std::uint64_t memory = 0;
    for (const values::ProcessSample& process : sample.processes) {
        if (process.runId == runId) {
            strAppend(&text, "  ", process.worker, " ", session::percentText(process.cpuPercent));
            memory += process.memoryBytes.value_or(0);
        }
    }
    return memory > 0 ? strCat(text, "  ", formatBytes(static_cast<double>(memory))) : text;
}

std::set<std::string> runsOn(const values::NodeSample& sample) {
    std::set<std::string> runs;
    for (const values::ProcessSample& process : sample.processes) {
        runs.insert(process.runId);
    }
    return runs;
}

// The number of rows of a node that is drawn in full: title, processors, traffic, GPUs and work.
int rowsOf(const LiveNode& node, bool isOneOfSeveral) {
    if (!session::isThere(node.info)) {
        return 2;
    }
    const std::size_t gpus = std::max<std::size_t>(1, node.sample.gpus.size());
    const std::size_t work = isOneOfSeveral ? runsOn(node.sample).size() : 0;
    const int state = session::stateText(node.info).empty() ? 0 : 1;
    return 3 + state + static_cast<int>(gpus + work);
}

const std::string& nameOf(const LiveNode& node) {
    return node.info.name.empty() ? node.sample.node : node.info.name;
}

std::vector<const LiveNode*> headFirst(const session::LiveModel& model) {
    std::vector<const LiveNode*> nodes;
    for (const auto& [name, node] : model.nodes) {
        nodes.push_back(&node);
    }
    std::stable_partition(nodes.begin(), nodes.end(),
                          [](const LiveNode* node) { return node->info.isHead; });
    return nodes;
}

// Draws a node as one row:
// "node-2    cpu ████░░░░  43 %  mem 12 of 64 GB  gpu 97 %  in 1.2 GB/s  out 0 B/s  data0 98 %".
void drawNodeRow(CellGrid& grid, int y, const LiveNode& node, std::int64_t nowMs) {
    constexpr int kBarWidth = 12, kRoomForBar = 64;
    const int nameWidth = grid.width() < kRoomForBar ? 12 : 18, end = grid.width();
    const values::NodeSample& s = node.sample;
    grid.put(1, y, nameOf(node), Tone::kStrong, nameWidth);
    const std::string state = session::stateText(node.info);
    if (!session::isThere(node.info)) {
        grid.put(nameWidth + 1, y, state, Tone::kWarn);
        return;
    }
    if (node.receivedMs == 0 || session::LiveModel::isStale(node, nowMs)) {
        grid.put(nameWidth + 1, y,
                 node.receivedMs == 0
                     ? std::string("no sample yet")
                     : strCat("no sample since ", session::ageText(node.receivedMs, nowMs)),
                 Tone::kWarn);
        return;
    }
    const std::optional<double> cpu =
        s.cpuPercent ? std::optional(*s.cpuPercent / 100) : std::nullopt;
    int x = nameWidth + 1;
    x = state.empty() ? x : grid.put(x, y, state, Tone::kWarn) + 2;
    x = gauge(grid, x, y, "cpu", cpu, end < kRoomForBar ? 0 : kBarWidth,
              padLeft(session::percentText(s.cpuPercent), 5), end);
    x = putWhole(grid, x, y, "mem " + session::usedText(s.memoryUsedBytes, s.memoryTotalBytes),
                 end);
    if (!s.gpus.empty()) {
        x = putWhole(grid, x, y, "gpu " + gpuText(node), end);
    }
    x = putWhole(grid, x, y,
                 strCat("in ", session::rateText(s.networkReceiveBytesPerSecond), "  out ",
                        session::rateText(s.networkSendBytesPerSecond)),
                 end, Tone::kDim);
    for (const values::ProcessSample& process : s.processes) {
        x = putWhole(grid, x, y,
                     strCat(process.worker, " ", session::percentText(process.cpuPercent)), end);
    }
}

// Used with several nodes: draws a row for each run that has workers on this one.
int drawWork(CellGrid& grid, int y, const values::NodeSample& sample) {
    for (const std::string& run : runsOn(sample)) {
        if (y >= grid.height() - 6) {
            break;
        }
        const int x = grid.put(1, y, padRight("work", 5), Tone::kDim);
        grid.put(x, y++, workText(sample, run), Tone::kPlain, grid.width() - 1);
    }
    return y;
}

// Draws the run's row, and a second one for its trouble or what it waits for. Returns the next row.
int drawRun(CellGrid& grid, int y, const LiveRun& run, const RunColumns& c, const Usage& usage,
            std::int64_t nowMs) {
    const values::RunSummary& summary = run.summary;
    const bool isEnded = values::isEnded(summary.state);
    // An old rate must not look current: its age is shown instead.
    const std::optional<double> oldSeconds = run.oldRatesSeconds(nowMs);
    grid.put(1, y, summary.id, Tone::kAccent, 10);
    grid.put(10, y, session::labelOf(summary, static_cast<std::size_t>(c.name - 11)),
             isEnded ? Tone::kDim : Tone::kStrong, c.name - 1);
    grid.put(c.name, y, summary.stateWord(), toneOf(summary), c.state);
    putFigure(grid, c.step, y, stepText(summary.progress));
    const auto live = [&](const std::string& text) { return isEnded ? std::string("-") : text; };
    putFigure(grid, c.rate, y,
              live(oldSeconds ? session::secondsText(oldSeconds) + " old"
                              : session::numberText(summary.rate())));
    putFigure(grid, c.loss, y, session::numberText(run.metric(values::metric::kLoss)));
    const std::optional<double> now = oldSeconds ? std::nullopt : session::stallNow(summary);
    const std::string stallNow = isEnded ? "" : now ? session::percentText(now) : "-";
    const std::optional<double> whole = summary.stallPercent();
    const std::string stallRun = whole ? session::percentText(whole) : "-";
    putFigure(grid, c.stall - (c.isWide ? 6 : 0), y, c.isWide || !isEnded ? stallNow : stallRun);
    putFigure(grid, c.stall, y, c.isWide ? stallRun : "");
    if (c.cpu != c.stall) {
        putFigure(grid, c.cpu, y, usage.isKnown ? session::percentText(usage.cpuPercent) : "-");
        putFigure(grid, c.memory, y,
                  usage.isKnown ? formatBytes(static_cast<double>(usage.memoryBytes)) : "-");
    }
    putFigure(grid, c.left, y, live(session::secondsText(run.secondsLeft(nowMs))));
    const bool isQueued = summary.state == values::RunState::kQueued;  // there may be many queued
                                                                       // runs
    const std::string& why =
        summary.trouble.empty() && !isQueued ? summary.queuedReason : summary.trouble;
    if (isEnded || why.empty() || y + 1 >= grid.height() - 1) {
        return y + 1;
    }
    grid.put(10, y + 1, why, toneOf(summary));
    return y + 2;
}

void drawRunTitles(CellGrid& grid, int y, const RunColumns& c) {
    namespace word = session::word;
    grid.put(1, y, word::kRun.heading, Tone::kDim);
    grid.put(10, y, word::kName.heading, Tone::kDim);
    grid.put(c.name, y, word::kState.heading, Tone::kDim);
    putFigure(grid, c.step, y, word::kStep.heading, Tone::kDim);
    putFigure(grid, c.rate, y, word::kRate.heading, Tone::kDim);
    putFigure(grid, c.loss, y, session::metricColumn(values::metric::kLoss), Tone::kDim);
    putFigure(grid, c.stall, y, strCat(word::kStall.heading, c.isWide ? " NOW   RUN" : ""),
              Tone::kDim);
    if (c.cpu != c.stall) {
        putFigure(grid, c.cpu, y, word::kCpu.heading, Tone::kDim);
        putFigure(grid, c.memory, y, word::kMemory.heading, Tone::kDim);
    }
    putFigure(grid, c.left, y, word::kTimeLeft.heading, Tone::kDim);
}

}  // namespace

std::vector<const LiveRun*> TopView::shownRuns(const session::LiveModel& model) const {
    std::vector<const LiveRun*> runs = model.ordered();
    if (isEndedHidden_) {
        std::erase_if(runs, [](const LiveRun* run) { return values::isEnded(run->summary.state); });
    }
    return runs;
}

bool TopView::press(const KeyPress& key, const session::LiveModel& model) {
    const int last = std::max(0, static_cast<int>(shownRuns(model).size()) - 1);
    switch (key.key) {
        case Key::kCharacter:
            if (key.character != 'e') {
                return false;
            }
            isEndedHidden_ = !isEndedHidden_;
            first_ = 0;
            return true;
        case Key::kDown:
            first_ = std::min(first_ + 1, last);
            return true;
        case Key::kUp:
            first_ = std::max(0, first_ - 1);
            return true;
        case Key::kPageDown:
            first_ = std::min(first_ + 10, last);
            return true;
        case Key::kPageUp:
            first_ = std::max(0, first_ - 10);
            return true;
        default:
            return false;
    }
}

int TopView::drawGpus(CellGrid& grid, int y, const LiveNode& node) const {
    if (node.info.gpus.empty() && node.sample.gpus.empty()) {
        grid.put(1, y, "gpu  " + noGpuText(node.info), Tone::kDim);
        return y + 1;
    }
    const int barWidth = std::clamp((grid.width() - 50) / 3, 8, 40);
    for (const values::GpuSample& gpu : node.sample.gpus) {
        if (y >= grid.height() - 4) {
            break;
        }
        const std::optional<double> part =
            gpu.utilizationPercent ? std::optional(*gpu.utilizationPercent / 100) : std::nullopt;
        const int end = grid.width();
        int x = gauge(grid, 1, y, strCat("gpu", gpu.index), part, barWidth,
                      padLeft(session::percentText(gpu.utilizationPercent), 5), end);
        x = putWhole(grid, x, y,
                     "mem " + session::usedText(gpu.memoryUsedBytes, gpu.memoryTotalBytes), end);
        if (gpu.powerWatts) {
            x = putWhole(grid, x, y, session::shortNumber(std::round(*gpu.powerWatts)) + " W", end,
                         Tone::kDim);
        }
        if (gpu.temperatureCelsius) {
            x = putWhole(grid, x, y,
                         session::shortNumber(std::round(*gpu.temperatureCelsius)) +
                             (grid.isUtf8() ? " °C" : " C"),
                         end, Tone::kDim);
        }
        for (const values::GpuInfo& info : node.info.gpus) {
            if (info.index == gpu.index) {
                putWhole(grid, x, y, info.name, end, Tone::kDim);
            }
        }
        ++y;
    }
    return y;
}

int TopView::drawNode(CellGrid& grid, int y, const LiveNode& node, bool isOneOfSeveral,
                      std::int64_t nowMs) const {
    const values::NodeSample& s = node.sample;
    std::string title = nameOf(node);
    if (node.info.cores > 0) {
        strAppend(&title, "  ", node.info.cores, " cores  ", node.info.cpuModel);
    }
    grid.rule(0, y, grid.width(), title);
    ++y;
    if (const std::string state = session::stateText(node.info); !state.empty()) {
        grid.put(1, y++, state, Tone::kWarn);
    }
    if (!session::isThere(node.info)) {
        return y;
    }
    if (session::LiveModel::isStale(node, nowMs)) {
        grid.put(1, y, strCat("no sample since ", session::ageText(node.receivedMs, nowMs)),
                 Tone::kWarn);
        ++y;
    }
    const int barWidth = std::clamp((grid.width() - 50) / 3, 8, 40);
    const std::optional<double> cpu =
        s.cpuPercent ? std::optional(*s.cpuPercent / 100) : std::nullopt;
    const int memoryX = grid.width() / 2 + 2, end = grid.width();
    int x = gauge(grid, 1, y, "cpu", cpu, barWidth, padLeft(session::percentText(s.cpuPercent), 5),
                  memoryX - 1);
    const std::vector<double> history = values(node.cpuHistory);
    grid.put(x + 2, y,
             sparkline(history, std::min(60, memoryX - x - 4), grid.isUtf8(), Pick::kMax, 0, 100),
             Tone::kInfo);
    gauge(grid, memoryX, y, "mem", share(s.memoryUsedBytes, s.memoryTotalBytes), barWidth,
          session::usedText(s.memoryUsedBytes, s.memoryTotalBytes), end);
    ++y;
    grid.put(1, y, "disk", Tone::kDim);
    x = kLabelWidth - 1;  // putWhole() adds two columns
    x = putWhole(grid, x, y, "r " + session::rateText(s.diskReadBytesPerSecond), memoryX - 1);
    x = putWhole(grid, x, y, "w " + session::rateText(s.diskWriteBytesPerSecond), memoryX - 1);
    if (s.diskFreeBytes) {
        putWhole(grid, x, y, formatBytes(static_cast<double>(*s.diskFreeBytes)) + " free",
                 memoryX - 1, Tone::kDim);
    }
    grid.put(memoryX, y, "net", Tone::kDim);
    x = memoryX + kLabelWidth - 2;
    x = putWhole(grid, x, y, "in " + session::rateText(s.networkReceiveBytesPerSecond), end);
    x = putWhole(grid, x, y, "out " + session::rateText(s.networkSendBytesPerSecond), end);
    if (s.load1) {
        putWhole(grid, x, y, absl::StrFormat("load %.2f", *s.load1), end, Tone::kDim);
    }
    y = drawGpus(grid, y + 1, node);
    return isOneOfSeveral ? drawWork(grid, y, s) : y;
}

// Draws nodes in full if that leaves half of the rows to the runs, else one row each; if there are
// too many, the first ones.
int TopView::drawNodes(CellGrid& grid, int y, const session::LiveModel& model,
                       std::int64_t nowMs) const {
    if (model.nodes.empty()) {
        grid.put(1, y, "waiting for the first sample ...", Tone::kDim);
        return y + 1;
    }
    const bool isOneOfSeveral = model.nodes.size() > 1;
    const std::vector<const LiveNode*> nodes = headFirst(model);
    int rows = 0;
    for (const LiveNode* node : nodes) {
        rows += rowsOf(*node, isOneOfSeveral);
    }
    if (!isOneOfSeveral || rows <= grid.height() / 2) {
        for (const LiveNode* node : nodes) {
            y = drawNode(grid, y, *node, isOneOfSeveral, nowMs);
        }
        return y;
    }
    grid.rule(0, y++, grid.width(), session::countText(model.nodes.size(), "node"));
    const auto most = static_cast<std::size_t>(std::max(2, grid.height() / 2 - 1));
    const std::size_t shown = nodes.size() <= most ? nodes.size() : most - 1;
    for (std::size_t i = 0; i < shown; ++i) {
        drawNodeRow(grid, y++, *nodes[i], nowMs);
    }
    if (shown < nodes.size()) {
        grid.put(1, y++, strCat("and ", nodes.size() - shown, " more"), Tone::kDim);
    }
    return y;
}

void TopView::drawRuns(CellGrid& grid, int y, const session::LiveModel& model,
                       std::int64_t nowMs) const {
    grid.rule(0, y, grid.width(), "runs");
    const std::vector<const LiveRun*> runs = shownRuns(model);
    const auto isEnded = [](const LiveRun* run) { return values::isEnded(run->summary.state); };
    const auto firstEnded =
        static_cast<std::size_t>(std::ranges::find_if(runs, isEnded) - runs.begin());
    const RunColumns columns = columnsFor(grid.width());
    drawRunTitles(grid, ++y, columns);
    const int first = y + 1;
    const int bottom = grid.height() - 1;
    std::size_t index = std::min<std::size_t>(static_cast<std::size_t>(first_), runs.size());
    for (++y; index < runs.size(); ++index) {
        const bool isHeaded = index == firstEnded;
        if (y + (isHeaded ? 1 : 0) >= bottom) {
            break;
        }
        if (isHeaded) {
            grid.rule(0, y++, grid.width(), strCat("ended  ", runs.size() - firstEnded));
        }
        const LiveRun& run = *runs[index];
        y = drawRun(grid, y, run, columns, usageOf(model, run.summary.id), nowMs);
    }
    if (runs.empty()) {
        grid.put(1, first,
                 model.runs.empty() ? "no runs yet: millrace run SPEC" : "no run is active",
                 Tone::kDim);
    }
    std::string keys = strCat("q leave   e ", isEndedHidden_ ? "show" : "hide", " ended");
    if (grid.width() >= 60) {
        strAppend(&keys, "   up/down scroll");
    }
    if (index < runs.size()) {
        strAppend(&keys, "   ", runs.size() - index, " more below");
    }
    drawStatusRow(grid, model, nowMs, keys);
}

void TopView::draw(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs) {
    grid.fill({0, 0, grid.width(), 1}, " ", Tone::kBar);
    int running = 0, queued = 0;
    for (const auto& [id, run] : model.runs) {
        running += run.summary.state == values::RunState::kRunning ||
                   run.summary.state == values::RunState::kStarting ||
                   run.summary.state == values::RunState::kStopping;
        queued += run.summary.state == values::RunState::kQueued;
    }
    const std::string time = barTime(nowMs, grid.width());
    const int end = grid.width() - static_cast<int>(time.size()) - 2;
    const std::string title = strCat("top   ", running, " running   ", queued, " queued");
    const std::string whole = "millrace " + title;
    grid.put(1, 0, 1 + displayWidth(whole) <= end ? whole : title, Tone::kBar, end);
    grid.putRight(grid.width() - 1, 0, time, Tone::kBar);
    int y = 1;
    y = drawNodes(grid, y, model, nowMs);
    drawRuns(grid, y, model, nowMs);
}

}  // namespace millrace::tui
