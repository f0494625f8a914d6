#pragma once
// The effect of a recipe step on the sample rows: the stages before and after it, aligned row by
// row.
//
// Rows are matched by row id, columns by name. A removed row is on the left with a gap on the
// right; an added one is on the right. Threads: any. Failure: none; stages with different lengths
// than their row ids are read as far as both go.
#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/values/inspection.h"

namespace millrace::gui {

/// kGap: this side has no such row or column.
enum class CellState : std::uint8_t { kSame, kChanged, kAdded, kRemoved, kGap };

struct SampleDiff {
    struct Row {
        std::int64_t rowId = 0;
        int before = -1, after = -1;  ///< index in the stage; -1: not there
        bool hasChange = false;       ///< removed, added, or a cell of a shared column differs
    };
    std::vector<Row> rows;
    std::vector<int> afterOf;   ///< for each column before: its index after; -1: gone
    std::vector<int> beforeOf;  ///< for each column after: its index before; -1: new
    int numRemoved = 0, numAdded = 0, numChangedCells = 0, numChangedRows = 0;
    int numColumnsAdded = 0, numColumnsRemoved = 0;
};
SampleDiff sampleDiff(const values::SampleStage& before, const values::SampleStage& after);

/// "nothing changed", "removed 12 of 50 rows", "added columns genres, year", "changed 31 cells".
QString whatChanged(const SampleDiff& diff, const values::SampleStage& before,
                    const values::SampleStage& after);

/// Both stages and their differences, shared by the two sides of the view.
struct SampleComparison {
    values::SampleStage before, after;
    SampleDiff diff;
    bool isAlone = false;  ///< nothing to compare with: `after` is the dataset itself
};
std::shared_ptr<const SampleComparison> compareStages(const values::SampleStage& before,
                                                      const values::SampleStage& after);
std::shared_ptr<const SampleComparison> aloneStage(const values::SampleStage& stage);

/// True for a null, and for a row beyond the end of the column.
bool isNullAt(const values::SampleColumn& column, int row);

}  // namespace millrace::gui
