#pragma once
// Frames as record batches: the columns of the table that a recipe's variation is.
//
// One column a dense feature (float), vector (fixed-size list of float), id feature (int64, in
// [0, rows of its table)), list feature (list of int64), head (float), its weight ("HEAD.weight",
// [0, rows of its table)), list feature (list of int64), weighted feature (the same, and the
// weights as "NAME.weights", list of float), head (float), its weight ("HEAD.weight", float) and
// mask
// ("HEAD.mask", bool), and carried column: in its own type, with its nulls, where the layout was
// made for a table, else as the model gets it. Where two have one name, the head becomes
// "HEAD.label" and the carried column "COLUMN.carry".
// Threads: immutable; batchOf() from any. Values are copied: the frame may go.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/expr/schema.h"
#include "backend/frame/carry_mask.h"
#include "backend/frame/frame.h"
#include "backend/spec/run_spec.h"
#include "backend/table/external_sort.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace millrace::table {

/// Of the carried columns, by name, the types that a table has them in.
using CarriedTypes = std::map<std::string, std::shared_ptr<arrow::DataType>>;

/// `columns`: at the end of the recipe. What is the dataset's as it stands has the type that its
/// files have; what a step made has the step's. A decimal that a step made is a double.
Result<CarriedTypes> carriedTypes(const spec::RunSpec& spec, const expr::Schema& columns,
                                  const dataset::Dataset& dataset);

class FrameTable {
 public:
    /// `columns`: names to keep, in their order; empty: all. `types`: of carried columns; those
    /// that it lacks stay numbers as the frame has them. kInvalidArgument for a name that is not
    /// there, kInternal for a type that the frame's values are not.
    static Result<FrameTable> make(const spec::RunSpec& spec, const frame::FrameLayout& layout,
                                   const CarriedTypes& types,
                                   const std::vector<std::string>& columns);

    const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
    Result<BatchPtr> batchOf(const frame::FrameView& view) const;

 private:
    struct Column {
        std::size_t source = 0;   ///< of the layout
        std::size_t lane = 0;     ///< of the dense block
        bool isWeights = false;   ///< of a weighted feature, beside its ids
        frame::CarryMasks masks;  ///< carried: the layout's next columns
    };
    Result<std::shared_ptr<arrow::Array>> valuesOf(
        const frame::FrameView& view, const Column& column,
        const std::shared_ptr<arrow::DataType>& type) const;
    std::shared_ptr<arrow::Schema> schema_;
    std::vector<Column> columns_;
};

/// The fields of `schema` with these names, in their order; all of them where there is no name.
/// kInvalidArgument for a name that is not there, or twice.
Result<std::vector<int>> chooseColumns(const std::vector<std::string>& known,
                                       const std::vector<std::string>& wanted);

}  // namespace millrace::table
