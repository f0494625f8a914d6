#pragma once
// Columns of a side table in memory, reserved in the budget. Private to recipe.
// Owns: the columns and their reservation.
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/recipe/compiled_recipe.h"

namespace millrace::recipe {

struct SideRows {
    std::shared_ptr<arrow::Table> table;
    MemoryBudget::Reservation reservation;

    /// `name` is for messages. kResourceExhausted, before anything is read, if the columns and an
    /// index over them exceed what the budget has left.
    static Result<SideRows> load(const TableSource& tables, const spec::TableRef& table,
                                 const std::vector<std::string>& columns, const std::string& name);
    void release();
};

}  // namespace millrace::recipe
