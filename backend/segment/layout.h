#pragma once
// The columns of a run's frames, known from its bound spec before a row is read.
#include <set>
#include <string>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/frame/frame.h"
#include "backend/spec/run_spec.h"

namespace millrace::segment {

/// What the frames are read by.
enum class FrameUse { kModel, kTable };

struct LayoutOptions {
    std::set<std::string> deduplicated;  ///< names of list columns that are stored once a request
    FrameUse use = FrameUse::kModel;
};

/// Row ids, one dense block named "dense" (when there are dense features), vectors, ids, lists,
/// weighted lists, sequences ("NAME.COLUMN", one group a sequence), per head label, weight and
/// mask, carry: each kind in the spec's order. `columns`: at the end of the
/// recipe (spec::BindResult::columns). Carried bools are uint8, dates int32 (days), timestamps
/// int64 (microseconds), decimals float64; nulls are 0 or empty. kInvalidArgument names a column
/// that a frame cannot hold.
/// For a table, what a frame of training leaves out is there too: behind each carried column its
/// masks (frame::CarryMasks), and decimals of the dataset as their digits (texts).
Result<frame::FrameLayout> layoutOf(const spec::RunSpec& spec, const expr::Schema& columns,
                                    const LayoutOptions& options = {});

}  // namespace millrace::segment
