#pragma once
// Masks for the null rows of a carried column, and for the null elements of its lists, in frames
// that become a table. They are columns of their own, directly after the carried column. Frames for
// training have no masks: a null is 0 or empty there.
#include <cstddef>
#include <string_view>
#include <vector>

#include "backend/frame/frame.h"

namespace millrace::frame {

/// uint8 [rows], 1 if the carried column `name` has a value.
inline ColumnSpec carryMask(std::string_view name) {
    return ColumnSpec::fixed(Role::kMask, DType::kUint8, strCat("carry:", name));
}

/// uint8 lists shaped like those of the carried column `name`, 1 if an element has a value.
inline ColumnSpec elementMask(std::string_view name) {
    return ColumnSpec::list(Role::kMask, DType::kUint8, strCat("elements:", name));
}

/// The masks that follow a carried column.
struct CarryMasks {
    bool ofRows = false, ofElements = false;

    static CarryMasks behind(const FrameLayout& layout, std::size_t column) {
        const std::vector<ColumnSpec>& all = layout.columns();
        const auto is = [&](std::size_t at, const ColumnSpec& mask) {
            return at < all.size() && all[at].role == mask.role && all[at].name == mask.name;
        };
        CarryMasks masks;
        masks.ofRows =
            all[column].role == Role::kCarry && is(column + 1, carryMask(all[column].name));
        masks.ofElements = masks.ofRows && is(column + 2, elementMask(all[column].name));
        return masks;
    }
    std::size_t count() const { return (ofRows ? 1 : 0) + (ofElements ? 1 : 0); }
};

}  // namespace millrace::frame
