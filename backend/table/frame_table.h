#pragma once
// Frames as record batches: the columns of the table that a recipe's variation is.
//
// One column a dense feature (float), vector (fixed-size list of float), id feature (int64, in
// [0, rows of its table)), list feature (list of int64), head (float), its weight ("HEAD.weight",
// float) and mask ("HEAD.mask", bool), and carried column (its own type without nulls). Where two
// have one name, the head becomes "HEAD.label" and the carried column "COLUMN.carry".
// Threads: immutable; batchOf() from any. Values are copied: the frame may go.
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/schema.h"
#include "backend/table/external_sort.h"

namespace millrace::table {

class FrameTable {
 public:
    /// `columns`: names to keep, in their order; empty: all. `types`: of the dataset's columns, so
    /// that carried dates and times stay such. kInvalidArgument for a name that is not there.
    static Result<FrameTable> make(const spec::RunSpec& spec, const frame::FrameLayout& layout,
                                   const spec::Schema& types,
                                   const std::vector<std::string>& columns);

    const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
    Result<BatchPtr> batchOf(const frame::FrameView& view) const;

 private:
    struct Column {
        std::size_t source = 0;  ///< of the layout
        std::size_t lane = 0;    ///< of the dense block
    };
    std::shared_ptr<arrow::Schema> schema_;
    std::vector<Column> columns_;
};

/// The fields of `schema` with these names, in their order; all of them where there is no name.
/// kInvalidArgument for a name that is not there, or twice.
Result<std::vector<int>> chooseColumns(const std::vector<std::string>& known,
                                       const std::vector<std::string>& wanted);

}  // namespace millrace::table
