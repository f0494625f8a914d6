#pragma once
// Which rows of a carried column are null, in frames that become a table: a mask column of its own,
// which stands right behind the column. Training's frames have none: there a null is 0 or empty.
#include <string>
#include <string_view>

#include "backend/core/text.h"
#include "backend/frame/frame.h"

namespace millrace::frame {

/// uint8 [rows], 1 where the carried column `name` has a value.
inline ColumnSpec carryMask(std::string_view name) {
    return ColumnSpec::fixed(Role::kMask, DType::kUint8, strCat("carry:", name));
}

/// Whether `column` is the mask of `before`, the column in front of it.
inline bool isCarryMask(const ColumnSpec& before, const ColumnSpec& column) {
    return before.role == Role::kCarry && column.role == Role::kMask &&
           column.name == strCat("carry:", before.name);
}

}  // namespace millrace::frame
