#pragma once
// The facts that PageDecoder has about a column chunk, and the array that it builds. Private to
// pages; threads: one.
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "backend/arrays/leaf_form.h"
#include "backend/core/status.h"
#include "backend/pages/coded_numbers.h"
#include "backend/pages/coded_texts.h"
#include "backend/pages/list_target.h"
#include "backend/pages/page_decoder.h"
#include "backend/pages/row_selection.h"

namespace millrace::pages {

struct PageDecoder::Shape {
    bool isList = false, hasNullItems = false;
    bool isInteger = false;  ///< in the pages
    int maxDefinition = 0;
    int emptyDefinition = 0;  ///< level of an empty list; lower levels mean null
    arrays::LeafForm form;
    int width = 0;  ///< bytes per word

    bool isText() const { return form.turn == arrays::LeafForm::Turn::kTexts; }
};

struct PageDecoder::Target {
    Target(const RowSelection& selection, const RowStretch& stretch)
        : walk(selection, stretch.begin, stretch.rows),
          wanted(selection.count(stretch.rows)),
          rowsMost(stretch.groupRows),
          mayCode(selection.mayCode),
          mayCodeNumbers(selection.mayCodeNumbers) {}

    SelectionWalk walk;
    const std::int64_t wanted;
    const std::int64_t rowsMost;  ///< rows in the row group
    const bool mayCode, mayCodeNumbers;
    std::int64_t textBytes = 0;  ///< estimate for the wanted rows
    std::int64_t seen = 0;       ///< rows that have begun
    std::int64_t levels = 0, levelsMost = 0;
    // Flat columns.
    std::shared_ptr<arrow::Buffer> values, validity;
    std::optional<arrays::TextTarget> texts;
    std::optional<CodedTexts> coded;      ///< if texts become codes
    std::optional<CodedNumbers> numbers;  ///< if numbers become codes
    std::int64_t rows = 0, nulls = 0;     ///< written so far
    // Lists.
    std::optional<ListTarget> lists;

    /// Stored for a missing value: 0, or a null's code.
    template <class T>
    T none() const {
        const std::uint32_t code = coded ? coded->nullCode() : numbers ? numbers->nullCode() : 0;
        return sizeof(T) == sizeof(code) ? static_cast<T>(code) : T{0};
    }
};

inline Status damaged(std::string_view what) {
    return dataLoss("corrupt: ", what);
}

inline Status misread() {
    return damaged("a page without the values that its levels count");
}

}  // namespace millrace::pages
