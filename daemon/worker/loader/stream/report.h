#pragma once
// StreamReport: the report of `millrace stream`: one JSON document or a table for people.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/segment/sequence/sequencer.h"
#include "backend/segment/stage_counters.h"
#include "backend/table/table_output.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/stream/explain.h"

namespace millrace::loader {

struct StreamReport {
    std::string name, variation, part, sink;
    std::string streamHash, planHash, orderHash;
    std::string checksum;  ///< "" for the sink null
    dataset::SegmentSize segmentSize;
    bool isComplete = false;
    bool isLimited = false;  ///< --micro-batches ended it
    bool isThroughRing = false;
    std::int64_t ranks = 1;  ///< that read rings
    std::int64_t steps = 0;  ///< of training, by their marks in the rings
    std::int64_t threads = 0, epochs = 0;
    double seconds = 0;        ///< since process start
    double streamSeconds = 0;  ///< since the pipeline was built
    double cpuSeconds = 0, peakRssMb = 0;
    double firstBatchSeconds = -1;  ///< since process start; below 0: no batch
    std::vector<double> epochSeconds;
    segment::SequencerTotals totals;
    bool isLastDropped = false;    ///< --last drop
    std::int64_t rowsLeftOut = 0;  ///< because of it; not in totals.rowsDelivered
    std::vector<std::string> stepNames;
    std::vector<std::vector<std::string>> stepReasons;
    std::vector<std::string> vocabularies, heads;
    std::vector<std::string> countedValues;  ///< as ResolvedRun::countedValues
    stream::Cursor cursor;
    std::vector<std::pair<std::string, segment::StageCount>> stages;
    segment::BatchMix mix;
    std::optional<Explanation> explanation;
    std::int64_t badRows = 0;  ///< left out of the files by csv.on_bad_row: drop
    bool isRows = false;       ///< of the dataset, not of training: without order and cursor
    std::string output;        ///< what a table sink wrote; "" for others
    table::TableTotals table;

    /// Rows that the recipe saw: scanned ones without those that statistics ruled out.
    std::int64_t rowsRead() const { return totals.rowsScanned - totals.rowsPruned; }
    double rowsPerSecond() const {
        return streamSeconds > 0 ? static_cast<double>(rowsRead()) / streamSeconds : 0;
    }
    Json toJson() const;
    /// `width`: of the terminal, 0: none; `isUtf8`: it can show block characters.
    std::string toText(int width = 0, bool isUtf8 = false) const;

 private:
    Json stepsJson() const;
    Json vocabulariesJson() const;
    Json labelsJson() const;
    std::string labelLines() const;
    Json mixJson() const;
    std::string mixLines() const;
    /// " (no partner 12)"; "" if there is nothing to report.
    std::string reasonsOf(std::size_t step) const;
    std::string stageLines() const;
    std::string tableLines() const;
};

}  // namespace millrace::loader
