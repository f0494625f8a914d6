#pragma once
// The columns of a run's frames, known from its bound spec before any row is read.
#include <set>
#include <string>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/frame/frame.h"
#include "backend/spec/run_spec.h"

namespace millrace::segment {

/// The consumer of the frames.
enum class FrameUse { kModel, kTable };

struct LayoutOptions {
    std::set<std::string> deduplicated;  ///< names of list columns that are stored once per request
    FrameUse use = FrameUse::kModel;
};

/// Column order: row ids, one dense block named "dense" (if there are dense features), vectors,
/// ids, lists, weighted lists, sequences ("NAME.COLUMN", one group per sequence), then label,
/// weight and mask of each head, then carried columns; each kind in the spec's order. `columns`:
/// those at the end of the recipe (spec::BindResult::columns). Carried bools are uint8, dates int32
/// (days), timestamps int64 (microseconds), decimals float64; nulls are 0 or empty.
/// kInvalidArgument names a column that a frame cannot hold. A table also has what training frames
/// leave out: the masks of each carried column, behind it (frame::CarryMasks), and decimals of the
/// dataset as texts of their digits.
Result<frame::FrameLayout> layoutOf(const spec::RunSpec& spec, const expr::Schema& columns,
                                    const LayoutOptions& options = {});

}  // namespace millrace::segment
