#pragma once
// Profiles of columns in memory, for tests of guesses.
#include <memory>
#include <string>

#include <arrow/array/array_base.h>

#include "backend/profile/column_profile.h"

namespace millrace::profile {

inline ColumnProfile columnOf(const std::string& name, const expr::DataType& type,
                              const std::shared_ptr<arrow::Array>& values) {
    ColumnProfile column(name, type);
    column.add(*values);
    return column;
}

}  // namespace millrace::profile
