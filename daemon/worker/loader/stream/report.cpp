#include "daemon/worker/loader/stream/report.h"

#include <cstdio>

#include "backend/core/clock.h"
#include "backend/stream/read_state.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/segments.h"

namespace millrace::loader {

namespace {

Json tableJson(const table::TableTotals& table) {
    return {{"rows", table.rows},
            {"bytes", table.bytes},
            {"files", table.files},
            {"row_groups", table.rowGroups},
            {"sort_runs", table.sortRuns}};
}

std::string counted(std::int64_t count, const char* unit) {
    return strCat(formatCount(count), " ", unit, count == 1 ? "" : "s");
}

}  // namespace

Json StreamReport::stepsJson() const {
    Json steps = Json::array();
    for (std::size_t s = 0; s < stepNames.size() && s < totals.steps.size(); ++s) {
        Json reasons = Json::object();
        for (std::size_t r = 0; s < stepReasons.size() && r < stepReasons[s].size(); ++r) {
            reasons[stepReasons[s][r]] = totals.steps[s].reasons[r];
        }
        steps.push_back({{"name", stepNames[s]},
                         {"rows_in", totals.steps[s].rowsIn},
                         {"rows_out", totals.steps[s].rowsOut},
                         {"reasons", std::move(reasons)}});
    }
    return steps;
}

Json StreamReport::vocabulariesJson() const {
    Json all = Json::array();
    for (std::size_t v = 0; v < vocabularies.size() && v < totals.vocabularies.size(); ++v) {
        all.push_back({{"feature", vocabularies[v]},
                       {"ids", totals.vocabularies[v].ids},
                       {"unknown", totals.vocabularies[v].unknown}});
    }
    return all;
}

Json StreamReport::labelsJson() const {
    Json all = Json::array();
    for (std::size_t h = 0; h < heads.size() && h < totals.labels.size(); ++h) {
        all.push_back(
            {{"head", heads[h]}, {"null", totals.labels[h].nulls}, {"nan", totals.labels[h].nans}});
    }
    return all;
}

Json StreamReport::mixJson() const {
    if (mix.batches == 0) {
        return {};
    }
    Json json{{"micro_batches", mix.batches},
              {"micro_rows", mix.rows / mix.batches},
              {"requests", Json()},
              {"largest_user_share", Json()}};
    if (mix.requests > 0) {
        json["requests"] = {{"mean", mix.meanRequests()}, {"fewest", mix.fewestRequests}};
    }
    if (mix.userRows > 0) {
        json["largest_user_share"] = {{"mean", mix.meanUserShare()}, {"most", mix.mostUserShare}};
    }
    return json;
}

// docs/reference/json.md describes this document: within a schema_version keys are added, never
// renamed or removed. A figure that is not known is null, not 0.
Json StreamReport::toJson() const {
    Json stageJson = Json::object();
    double blockedSeconds = 0;
    for (const auto& [stage, count] : stages) {
        stageJson[stage] = {
            {"busy_seconds", static_cast<double>(count.busyNs) * 1e-9},
            {"starved_seconds", static_cast<double>(count.starvedNs) * 1e-9},
            {"blocked_seconds", static_cast<double>(count.blockedNs) * 1e-9},
            {"rows", count.rows},
            {"bytes", count.bytes},
            {"ns_per_row", count.rows == 0 ? Json()
                                           : Json(static_cast<double>(count.busyNs) /
                                                  static_cast<double>(count.rows))}};
        // Only this stage waits for the sink.
        if (stage == "collate") {
            blockedSeconds = static_cast<double>(count.blockedNs) * 1e-9;
        }
    }
    // It was a separate stage in the first version of this document.
    stageJson["blocked"] = {{"busy_seconds", blockedSeconds}, {"rows", 0}, {"bytes", 0}};
    const auto orNull = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    Json json = {
        {"schema_version", 1},
        {"name", name},
        {"variation", variation},
        {"part", part},
        {"sink", sink},
        {"through_ring", isThroughRing},
        {"ranks", isThroughRing ? Json(ranks) : Json()},
        {"step_marks", isThroughRing ? Json(steps) : Json()},
        {"complete", isComplete},
        {"threads", threads},
        {"epochs", epochs},
        {"rows_scanned", totals.rowsScanned},
        {"bad_rows", badRows},
        {"rows_pruned", totals.rowsPruned},
        {"rows_read", rowsRead()},
        {"rows_per_second", rowsPerSecond()},
        {"rows_kept", totals.rowsKept},
        {"rows_delivered", totals.rowsDelivered},
        {"rows_left_out", rowsLeftOut},
        {"micro_batches", totals.microBatches},
        {"segments", totals.segments},
        {"steps", stepsJson()},
        {"vocabularies", vocabulariesJson()},
        {"labels", labelsJson()},
        {"mixing", mixJson()},
        {"seconds", seconds},
        {"stream_seconds", streamSeconds},
        {"epoch_seconds", epochSeconds},
        {"cpu_seconds", cpuSeconds},
        {"peak_rss_mb", peakRssMb},
        {"first_batch_seconds", firstBatchSeconds < 0 ? Json() : Json(firstBatchSeconds)},
        {"checksum", orNull(checksum)},
        {"order_hash", orNull(orderHash)},
        {"order_hash_version", orderHash.empty() ? Json() : Json(stream::kOrderHashVersion)},
        {"stream_hash", streamHash},
        {"plan_hash", planHash},
        {"stages", std::move(stageJson)},
        {"explain", explanation ? explanation->toJson() : Json()},
        {"output", orNull(output)},
        {"table", output.empty() ? Json() : tableJson(table)},
        {"cursor", isRows ? Json() : stream::checkedJson(cursor)}};
    addSegments(segmentSize, json);
    return json;
}

namespace {

// The first column has 16 characters; lines without a name continue the one above.
std::string line(std::string_view name, const std::string& value) {
    char text[64];
    std::snprintf(text, sizeof text, "%-16.*s", static_cast<int>(name.size()), name.data());
    return strCat(text, value, "\n");
}

std::string decimals(double value, int digits, std::string_view unit) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f%.*s", digits, value, static_cast<int>(unit.size()),
                  unit.data());
    return text;
}

}  // namespace

std::string StreamReport::reasonsOf(std::size_t step) const {
    std::string text;
    for (std::size_t r = 0; step < stepReasons.size() && r < stepReasons[step].size(); ++r) {
        if (totals.steps[step].reasons[r] > 0) {
            strAppend(&text, text.empty() ? " (" : ", ", stepReasons[step][r], " ",
                      formatCount(totals.steps[step].reasons[r]));
        }
    }
    return text.empty() ? "" : text + ")";
}

std::string StreamReport::mixLines() const {
    std::string text;
    const auto add = [&](const std::string& value) {
        strAppend(&text, line(text.empty() ? "mixing" : "", value));
    };
    if (mix.requests > 0) {
        add(strCat(decimals(mix.meanRequests(), 1, ""), " requests in ",
                   formatCount(mix.rows / mix.batches), " rows, at worst ",
                   formatCount(mix.fewestRequests)));
    }
    if (mix.userRows > 0) {
        add(strCat("largest user ", decimals(100 * mix.meanUserShare(), 2, " %"),
                   " of a micro-batch, at worst ", decimals(100 * mix.mostUserShare, 2, " %")));
    }
    return text;
}

std::string StreamReport::labelLines() const {
    std::string text;
    for (std::size_t h = 0; h < heads.size() && h < totals.labels.size(); ++h) {
        const recipe::LabelGaps& gaps = totals.labels[h];
        if (gaps.nulls + gaps.nans > 0) {
            strAppend(&text, line(text.empty() ? "no label" : "",
                                  strCat(heads[h], ": ", formatCount(gaps.nulls), " null, ",
                                         formatCount(gaps.nans), " NaN (masked)")));
        }
    }
    return text;
}

std::string StreamReport::stageLines() const {
    std::string text;
    for (const auto& [stage, count] : stages) {
        strAppend(&text, line(stage == "read" ? "stages" : "",
                              strCat(stage, ": ",
                                     decimals(static_cast<double>(count.busyNs) * 1e-9, 3, " s"))));
    }
    return text;
}

std::string StreamReport::tableLines() const {
    if (output.empty()) {
        return "";
    }
    std::string text = line(
        "output", strCat(output, ": ", counted(table.rows, "row"), ", ",
                         counted(table.files, "file"), ", ", counted(table.rowGroups, "row group"),
                         ", ", formatBytes(static_cast<double>(table.bytes))));
    if (table.sortRuns > 0) {
        strAppend(&text,
                  line("", strCat("sorted in ", counted(table.sortRuns, "run"), " on disk")));
    }
    if (table.smallestGroupRows > 0) {
        strAppend(&text,
                  line("", strCat("row groups were cut at ", formatCount(table.smallestGroupRows),
                                  " rows: resources.memory_limit_mb holds no more")));
    }
    return text;
}

std::string StreamReport::toText(int width, bool isUtf8) const {
    std::string text = strCat(
        line("stream", strCat(name, variation.empty() ? "" : strCat(" / ", variation), ", ", part,
                              isComplete ? "" : " (stopped before its end)")),
        line("rows",
             strCat(formatCount(rowsRead()), " read, ",
                    totals.rowsPruned > 0 ? formatCount(totals.rowsPruned) + " pruned, " : "",
                    formatCount(totals.rowsKept), " kept, ", formatCount(totals.rowsDelivered),
                    " delivered",
                    isLastDropped ? strCat(", ", formatCount(rowsLeftOut), " left out") : "")));
    if (badRows > 0) {
        strAppend(&text, line("bad rows", strCat(formatCount(badRows), " left out of the files")));
    }
    if (!isRows) {
        strAppend(&text,
                  line("micro-batches", strCat(formatCount(totals.microBatches), " from ",
                                               counted(totals.segments, "segment"))),
                  line("segments", segmentsText(segmentSize)));
    }
    for (std::size_t s = 0; s < stepNames.size() && s < totals.steps.size(); ++s) {
        strAppend(&text, line(s == 0 ? "steps" : "",
                              strCat(stepNames[s], ": ", formatCount(totals.steps[s].rowsIn),
                                     " -> ", formatCount(totals.steps[s].rowsOut), reasonsOf(s))));
    }
    for (std::size_t v = 0; v < countedValues.size(); ++v) {
        strAppend(&text, line(v == 0 ? "values" : "", countedValues[v]));
    }
    for (std::size_t v = 0; v < vocabularies.size() && v < totals.vocabularies.size(); ++v) {
        strAppend(&text,
                  line(v == 0 ? "unknown ids" : "",
                       strCat(vocabularies[v], ": ", formatCount(totals.vocabularies[v].unknown),
                              " of ", formatCount(totals.vocabularies[v].ids))));
    }
    strAppend(&text, labelLines(), mixLines(),
              line("time",
                   strCat(formatDuration(seconds), ", ",
                          formatCount(static_cast<std::int64_t>(rowsPerSecond())), " rows/s read, ",
                          counted(threads, "thread"), ", CPU ", decimals(cpuSeconds, 2, " s"))),
              isRows ? ""
                     : line("first batch",
                            firstBatchSeconds < 0 ? "none" : decimals(firstBatchSeconds, 3, " s")),
              line("memory", decimals(peakRssMb, 0, " MB at most")), stageLines());
    if (!isRows) {
        strAppend(&text, line("checksum", checksum.empty() ? "not read" : checksum),
                  line("order hash", orderHash));
    }
    strAppend(&text, line("stream hash", streamHash), line("plan hash", planHash));
    if (!isRows) {
        strAppend(&text, line("cursor", dumpJson(stream::checkedJson(cursor))));
    }
    strAppend(&text, tableLines());
    if (explanation) {
        strAppend(&text, "\n", explanation->toText(width, isUtf8));
    }
    return text;
}

}  // namespace millrace::loader
