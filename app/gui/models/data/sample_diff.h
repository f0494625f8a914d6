#pragma once
// What a step of the recipe did to the sample rows: two stages laid side by side, row by row.
//
// Rows are matched by their row id, columns by their name. A row that went stands on the left with
// a gap on the right; one that came stands on the right. Threads: any. Failure: none; stages of
// different lengths than their row ids say are read as far as both go.
#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/values/inspection.h"

namespace millrace::gui {

/// kGap: no row or no column stands here on this side.
enum class CellState : std::uint8_t { kSame, kChanged, kAdded, kRemoved, kGap };

struct SampleDiff {
    struct Row {
        std::int64_t rowId = 0;
        int before = -1, after = -1;  ///< place in the stage; -1: not there
        bool hasChange = false;       ///< went, came, or a cell of a shared column differs
    };
    std::vector<Row> rows;
    std::vector<int> afterOf;   ///< of each column before: its place after; -1: gone
    std::vector<int> beforeOf;  ///< of each column after: its place before; -1: new
    int numRemoved = 0, numAdded = 0, numChangedCells = 0, numChangedRows = 0;
    int numColumnsAdded = 0, numColumnsRemoved = 0;
};
SampleDiff sampleDiff(const values::SampleStage& before, const values::SampleStage& after);

/// "nothing changed", "removed 12 of 50 rows", "added columns genres, year", "changed 31 cells".
QString whatChanged(const SampleDiff& diff, const values::SampleStage& before,
                    const values::SampleStage& after);

/// Both stages with what differs, shared by the two sides of the view.
struct SampleComparison {
    values::SampleStage before, after;
    SampleDiff diff;
    bool isAlone = false;  ///< nothing to compare with: `after` is the dataset itself
};
std::shared_ptr<const SampleComparison> compareStages(const values::SampleStage& before,
                                                      const values::SampleStage& after);
std::shared_ptr<const SampleComparison> aloneStage(const values::SampleStage& stage);

/// A row beyond what the stage holds, or a null.
bool isNullAt(const values::SampleColumn& column, int row);

}  // namespace millrace::gui
