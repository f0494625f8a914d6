#pragma once
// Frames as record batches: the columns of the table for a recipe's output.
//
// One column per:
// - dense feature (float), vector (fixed-size list of float)
// - id feature (int64, in [0, rows of its table)), list feature (list of int64)
// - weighted feature (list of int64, and its weights as "NAME.weights", list of float)
// - head (float), its weight ("HEAD.weight", float) and mask ("HEAD.mask", bool)
// - carried column: in its own type with its nulls if the layout was made for a table, else as the
//   model gets it
//
// If two have one name, the head becomes "HEAD.label" and the carried column "COLUMN.carry".
// Threads: immutable; batchOf() from any. Values are copied: the frame may be released.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/expr/schema.h"
#include "backend/frame/carry_mask.h"
#include "backend/frame/frame.h"
#include "backend/spec/run_spec.h"
#include "backend/table/external_sort.h"

namespace millrace::table {

/// The types of the carried columns in a table, by name.
using CarriedTypes = std::map<std::string, std::shared_ptr<arrow::DataType>>;

/// `columns`: those at the end of the recipe. A column unchanged from the dataset has the type in
/// its files; a column that a step made has the step's type. A decimal that a step made is a
/// double.
Result<CarriedTypes> carriedTypes(const spec::RunSpec& spec, const expr::Schema& columns,
                                  const dataset::Dataset& dataset);

class FrameTable {
 public:
    /// `columns`: names to keep, in their order; empty: all. `types`: of carried columns; a column
    /// missing there stays a number as in the frame. kInvalidArgument for an unknown name,
    /// kInternal for a type that the frame's values do not have.
    static Result<FrameTable> make(const spec::RunSpec& spec, const frame::FrameLayout& layout,
                                   const CarriedTypes& types,
                                   const std::vector<std::string>& columns);

    const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
    Result<BatchPtr> batchOf(const frame::FrameView& view) const;

 private:
    struct Column {
        std::size_t source = 0;   ///< index in the layout
        std::size_t lane = 0;     ///< position in the dense block
        bool isWeights = false;   ///< of a weighted feature: the weights beside its ids
        frame::CarryMasks masks;  ///< carried: the columns after it in the layout
    };
    Result<std::shared_ptr<arrow::Array>> valuesOf(
        const frame::FrameView& view, const Column& column,
        const std::shared_ptr<arrow::DataType>& type) const;
    std::shared_ptr<arrow::Schema> schema_;
    std::vector<Column> columns_;
};

/// Indices of the fields of `known` with these names, in their order; all of them if no name is
/// given. kInvalidArgument for a name that is unknown or given twice.
Result<std::vector<int>> chooseColumns(const std::vector<std::string>& known,
                                       const std::vector<std::string>& wanted);

}  // namespace millrace::table
