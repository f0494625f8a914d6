#include "daemon/worker/loader/stream/explain.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backend/core/status.h"
#include "backend/segment/segment_runner.h"
#include "backend/text/text.h"

namespace millrace::loader {

namespace {

using segment::ColumnCount;
using segment::Stage;
using segment::StageCount;

constexpr double kSecond = 1e-9;
constexpr std::size_t kColumnsShown = 12, kExpressionsShown = 5;
constexpr std::size_t kChangesShown = 8, kOfManyShown = 3;
constexpr double kLeastShare = 0.005;  ///< smaller gains are not worth a line

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) * kSecond;
}

double perRow(std::int64_t ns, std::int64_t rows) {
    return rows > 0 ? static_cast<double>(ns) / static_cast<double>(rows) : 0;
}

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string padded(std::string text, int width, bool isRight) {
    const int missing = width - displayWidth(text);
    const std::string blanks(static_cast<std::size_t>(std::max(0, missing)), ' ');
    return isRight ? blanks + text : text + blanks;
}

// Leaves out the middle of a long name.
std::string fitted(const std::string& name, int width) {
    if (displayWidth(name) <= width || width < 5) {
        return name;
    }
    const auto half = static_cast<std::size_t>((width - 2) / 2);
    return name.substr(0, half) + ".." + name.substr(name.size() - half);
}

using RankedNs = std::vector<std::pair<std::string, std::int64_t>>;

// The most expensive first. Empty: the step is one expression, or has none.
RankedNs expressionsOf(const Explanation& e, const std::string& step) {
    const auto found = e.expressions.find(step);
    if (found == e.expressions.end()) {
        return {};
    }
    RankedNs ranked(found->second.begin(), found->second.end());
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return ranked;
}

using Ranked = std::vector<std::pair<std::string, ColumnCount>>;

Ranked byCost(const std::map<std::string, ColumnCount>& columns) {
    Ranked ranked(columns.begin(), columns.end());
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
        return a.second.busyNs() != b.second.busyNs() ? a.second.busyNs() > b.second.busyNs()
                                                      : a.first < b.first;
    });
    return ranked;
}

bool isOwnColumn(const std::string& name) {
    return name != segment::kAllColumns && name != segment::kDenseBlock;
}

// One line of a table: name, seconds, share, bar, remark.
class Lines {
 public:
    Lines(int width, bool isUtf8) : width_(width > 0 ? width : 100), isUtf8_(isUtf8) {}

    void title(const std::string& text) { strAppend(&text_, text, "\n"); }
    void row(const std::string& name, double secs, double share, const std::string& remark) {
        std::string line = strCat("  ", padded(fitted(name, kName), kName, false), " ",
                                  padded(fixed(secs, 3), 9, true), " s ",
                                  padded(fixed(100 * share, 1), 5, true), " % ");
        const int left = width_ - displayWidth(line);
        const int bar = std::clamp(left - displayWidth(remark) - 1, 0, kBar);
        if (bar >= kLeastBar) {
            strAppend(&line, padded(barText(share, bar, isUtf8_), bar + 1, false));
        }
        if (displayWidth(line) + displayWidth(remark) <= width_) {
            strAppend(&line, remark);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        strAppend(&text_, line, "\n");
    }
    void sentence(const std::string& text) { strAppend(&text_, "  ", text, "\n"); }
    const std::string& text() const { return text_; }

 private:
    static constexpr int kName = 18, kBar = 24, kLeastBar = 6;
    const int width_;
    const bool isUtf8_;
    std::string text_;
};

void addStages(const Explanation& e, Lines& lines) {
    const double total = std::max(e.threadSeconds(), 1e-9);
    lines.title(strCat("where the time goes: ", e.threads, e.threads == 1 ? " thread" : " threads",
                       " x ", fixed(e.streamSeconds, 3), " s"));
    std::int64_t busy = 0;
    for (std::size_t s = 0; s < segment::kNumStages; ++s) {
        const StageCount& stage = e.stages[s];
        busy += stage.busyNs;
        lines.row(std::string(segment::kStageNames[s]), seconds(stage.busyNs),
                  seconds(stage.busyNs) / total,
                  stage.rows == 0 ? ""
                                  : strCat(fixed(perRow(stage.busyNs, stage.rows), 0), " ns/row, ",
                                           formatCount(stage.rows), " rows"));
    }
    const StageCount& read = e.stages[static_cast<std::size_t>(Stage::kRead)];
    const StageCount& collate = e.stages[static_cast<std::size_t>(Stage::kCollate)];
    std::int64_t core = 0;
    for (const Stage stage : {Stage::kRecipe, Stage::kOrder, Stage::kSink}) {
        core += e.stages[static_cast<std::size_t>(stage)].starvedNs;
    }
    const std::pair<const char*, std::int64_t> waits[] = {
        {"wait: file", read.starvedNs},      {"wait: core", core},
        {"wait: in flight", read.blockedNs}, {"wait: segment", collate.starvedNs},
        {"wait: sink", collate.blockedNs},
    };
    const char* const remarks[] = {"the file, or a free core", "a free core",
                                   "no room for one more segment",
                                   "none is computed yet, or a free core", "no place in the sink"};
    double known = seconds(busy);
    for (std::size_t w = 0; w < std::size(waits); ++w) {
        known += seconds(waits[w].second);
        lines.row(waits[w].first, seconds(waits[w].second), seconds(waits[w].second) / total,
                  remarks[w]);
    }
    lines.row("other", std::max(0.0, total - known), std::max(0.0, total - known) / total,
              "start, end, joining tails");
}

void addColumns(const Explanation& e, Lines& lines) {
    const Ranked ranked = byCost(e.columns);
    const double busy = std::max(e.busySeconds(), 1e-9);
    lines.title("columns by cost: read, encode, copy into frames (share of busy time)");
    ColumnCount rest;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
        const ColumnCount& c = ranked[i].second;
        if (i < kColumnsShown || ranked.size() == kColumnsShown + 1) {
            const auto rows = std::max<std::int64_t>(1, c.rows);
            const std::string bytes =
                c.rows == 0 ? "" : strCat(", disk ", fixed(perRow(c.diskBytes, rows), 1), " B/row");
            lines.row(ranked[i].first, seconds(c.busyNs()), seconds(c.busyNs()) / busy,
                      strCat(fixed(perRow(c.busyNs(), c.rows > 0 ? c.rows : e.rowsRead), 1),
                             " ns/row", bytes));
            continue;
        }
        rest.readNs += c.busyNs();
        rest.diskBytes += c.diskBytes;
    }
    if (rest.readNs > 0) {
        lines.row(strCat(ranked.size() - kColumnsShown, " more"), seconds(rest.readNs),
                  seconds(rest.readNs) / busy,
                  strCat(fixed(perRow(rest.readNs, e.rowsRead), 1), " ns/row"));
    }
}

// Adds the most expensive expressions of a step below it.
void addExpressions(const RankedNs& ranked, std::int64_t rows, double busy, Lines& lines) {
    std::int64_t restNs = 0;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
        const auto& [column, ns] = ranked[i];
        if (i < kExpressionsShown || ranked.size() == kExpressionsShown + 1) {
            lines.row(strCat("  ", column), seconds(ns), seconds(ns) / busy,
                      strCat(fixed(perRow(ns, rows), 1), " ns/row"));
        } else {
            restNs += ns;
        }
    }
    if (restNs > 0) {
        lines.row(strCat("  ", ranked.size() - kExpressionsShown, " more"), seconds(restNs),
                  seconds(restNs) / busy, strCat(fixed(perRow(restNs, rows), 1), " ns/row"));
    }
}

void addSteps(const Explanation& e, Lines& lines) {
    if (e.steps.empty()) {
        return;
    }
    const double busy = std::max(e.busySeconds(), 1e-9);
    lines.title("steps of the recipe, reading left out");
    for (const auto& [name, step] : e.steps) {
        const std::int64_t count = e.numSteps(name);
        lines.row(name, seconds(step.busyNs), seconds(step.busyNs) / busy,
                  strCat(count > 1 ? strCat(count, " steps: ") : "",
                         fixed(perRow(step.busyNs, step.rowsIn), 1), " ns/row, ",
                         formatCount(step.rowsIn), " -> ", formatCount(step.rowsOut), " rows"));
        addExpressions(expressionsOf(e, name), step.rowsIn, busy, lines);
    }
}

// Adds how well the shuffle mixes for the model: the benefit for its costs.
void addMix(const Explanation& e, Lines& lines) {
    if (e.mix.batches == 0) {
        return;
    }
    lines.title(strCat("how micro-batches of ", formatCount(e.mix.rows / e.mix.batches),
                       " rows are mixed, batch.shuffle: ", e.shuffle));
    if (e.mix.requests > 0) {
        lines.sentence(strCat("requests: ", fixed(e.mix.meanRequests(), 1), " on average, ",
                              formatCount(e.mix.fewestRequests), " in the worst"));
    }
    if (e.mix.userRows > 0) {
        lines.sentence(strCat("largest user: ", fixed(100 * e.mix.meanUserShare(), 2),
                              " % of the rows on average, ", fixed(100 * e.mix.mostUserShare, 2),
                              " % in the worst"));
    }
}

}  // namespace

std::string barText(double share, int width, bool isUtf8) {
    const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
    if (!isUtf8) {
        return std::string(static_cast<std::size_t>(std::lround(clamped * width)), '#');
    }
    static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int eighths = static_cast<int>(std::lround(clamped * width * 8));
    std::string bar;
    for (int i = 0; i < eighths / 8; ++i) {
        bar += "█";
    }
    return bar + kEighths[eighths % 8];
}

double Explanation::busySeconds() const {
    std::int64_t busy = 0;
    for (const StageCount& stage : stages) {
        busy += stage.busyNs;
    }
    return seconds(busy);
}

std::vector<Explanation::Change> Explanation::changes() const {
    const double busy = busySeconds();
    std::vector<Change> found;
    const auto add = [&](std::string what, double saved, bool isOneOfMany = false) {
        if (busy > 0 && saved >= busy * kLeastShare) {
            const double left = std::max(busy - saved, busy * 0.01);
            found.push_back({std::move(what), saved, 100 * (busy / left - 1), isOneOfMany});
        }
    };
    for (const auto& [name, column] : columns) {
        if (isOwnColumn(name)) {
            add(strCat("leave out column ", name), seconds(column.busyNs()), true);
        }
    }
    std::map<std::string, double> byCodec;
    for (const auto& [name, share] : decompressionShare) {
        const auto column = columns.find(name);
        const auto codec = codecs.find(name);
        if (column != columns.end() && codec != codecs.end()) {
            byCodec[codec->second] += share * seconds(column->second.readNs);
        }
    }
    for (const auto& [codec, saved] : byCodec) {
        if (codec != "uncompressed") {
            add(strCat("write the files without ", codec, " (more bytes to read)"), saved);
        }
    }
    for (const auto& [name, step] : steps) {
        if (name == segment::kLabelsStep) {
            continue;  // every stream has it
        }
        const auto kind = stepKinds.find(name);
        const bool isJoin = kind != stepKinds.end() && kind->second.ends_with("join");
        const std::int64_t count = numSteps(name);
        const std::string what = count > 1 ? strCat(count, " steps")
                                 : isJoin  ? kind->second
                                           : std::string("step");
        add(strCat("do without the ", what, " '", name, "'"), seconds(step.busyNs));
        for (const auto& [column, ns] : expressionsOf(*this, name)) {
            add(strCat("do without column ", column, " of the step '", name, "'"), seconds(ns),
                true);
        }
    }
    const double order = seconds(stages[static_cast<std::size_t>(Stage::kOrder)].busyNs);
    add("batch.shuffle: none instead of sorting the rows", order);
    std::sort(found.begin(), found.end(), [](const Change& a, const Change& b) {
        return a.cpuSeconds != b.cpuSeconds ? a.cpuSeconds > b.cpuSeconds : a.what < b.what;
    });
    const double total = threadSeconds();
    const auto addWait = [&](std::string what, std::int64_t ns) {
        const double waited = seconds(ns);
        if (total > 0 && waited >= total * 0.02) {
            found.insert(found.begin(),
                         {std::move(what), 0, 100 * waited / (total - waited + 1e-9), false});
        }
    };
    addWait("files that are read without waiting (page cache, faster storage, free cores)",
            stages[static_cast<std::size_t>(Stage::kRead)].starvedNs);
    addWait("a consumer that takes frames at once",
            stages[static_cast<std::size_t>(Stage::kCollate)].blockedNs);
    return found;
}

Json Explanation::toJson() const {
    Json columnList = Json::array();
    for (const auto& [name, c] : byCost(columns)) {
        Json one = {{"name", name},
                    {"read_seconds", seconds(c.readNs)},
                    {"wait_seconds", seconds(c.waitNs)},
                    {"encode_seconds", seconds(c.encodeNs)},
                    {"collate_seconds", seconds(c.collateNs)},
                    {"rows", c.rows},
                    {"ns_per_row", perRow(c.busyNs(), c.rows > 0 ? c.rows : rowsRead)},
                    {"disk_bytes", c.diskBytes},
                    {"decoded_bytes", c.decodedBytes}};
        const auto share = decompressionShare.find(name);
        one["decompression_share"] =
            share == decompressionShare.end() ? Json() : Json(share->second);
        columnList.push_back(std::move(one));
    }
    Json stepList = Json::array();
    for (const auto& [name, step] : steps) {
        Json expressionList = Json::array();
        for (const auto& [column, ns] : expressionsOf(*this, name)) {
            expressionList.push_back({{"column", column},
                                      {"busy_seconds", seconds(ns)},
                                      {"ns_per_row", perRow(ns, step.rowsIn)}});
        }
        stepList.push_back({{"name", name},
                            {"busy_seconds", seconds(step.busyNs)},
                            {"ns_per_row", perRow(step.busyNs, step.rowsIn)},
                            {"rows_in", step.rowsIn},
                            {"rows_out", step.rowsOut},
                            {"expressions", std::move(expressionList)}});
    }
    Json changeList = Json::array();
    for (const Change& change : changes()) {
        changeList.push_back({{"change", change.what},
                              {"saves_cpu_seconds", change.cpuSeconds},
                              {"rate_gain_percent", change.ratePercent}});
    }
    return {{"thread_seconds", threadSeconds()},
            {"busy_seconds", busySeconds()},
            {"columns", std::move(columnList)},
            {"steps", std::move(stepList)},
            {"changes", std::move(changeList)},
            {"segments_advice", segmentsAdvice.empty() ? Json() : Json(segmentsAdvice)}};
}

std::string Explanation::toText(int width, bool isUtf8) const {
    Lines lines(width, isUtf8);
    addStages(*this, lines);
    addColumns(*this, lines);
    addSteps(*this, lines);
    addMix(*this, lines);
    lines.title("what one change would buy, each alone");
    const std::vector<Change> all = changes();
    std::size_t shown = 0, ofManyShown = 0;
    for (std::size_t i = 0; i < all.size() && shown < kChangesShown; ++i) {
        // Columns and expressions have their own tables: shows only the three most expensive here.
        if (all[i].isOneOfMany && ++ofManyShown > kOfManyShown) {
            continue;
        }
        ++shown;
        const std::string saved =
            all[i].cpuSeconds > 0 ? strCat(fixed(all[i].cpuSeconds, 3), " s of CPU, ") : "";
        lines.sentence(strCat(all[i].what, ": ", saved, "up to ", fixed(all[i].ratePercent, 0),
                              " % more rows/s"));
    }
    if (!segmentsAdvice.empty()) {
        lines.sentence(segmentsAdvice);
    } else if (all.empty()) {
        lines.sentence("nothing stands out");
    }
    return lines.text();
}

}  // namespace millrace::loader
