#pragma once
// Selection of rows in a row group, and a walk over them page by page.
//
// Threads: values; a walk belongs to one thread. Borrows the list of rows.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::pages {

/// Selected rows of a split, and the allowed forms of lists, texts and numbers.
struct RowSelection {
    /// Ascending offsets from the split's first row; null: all its rows.
    const std::vector<std::int64_t>* rows = nullptr;
    /// A list column may come as dictionary<int32, list>, with equal neighbours stored once.
    bool mayRepeat = false;
    /// A text column may come as dictionary<int32, utf8> (backend/arrays/text_codes.h).
    bool mayCode = false;
    /// A column of numbers may come as dictionary<int32, number> (backend/arrays/number_codes.h).
    bool mayCodeNumbers = false;

    std::int64_t count(std::int64_t splitRows) const {
        return rows == nullptr ? splitRows : static_cast<std::int64_t>(rows->size());
    }
};

/// Walks the wanted rows of [begin, begin + rows) of a row group in consecutive stretches.
class SelectionWalk {
 public:
    SelectionWalk(const RowSelection& selection, std::int64_t begin, std::int64_t rows)
        : rows_(selection.rows),
          begin_(begin),
          end_(begin + rows),
          wanted_(selection.count(rows)) {}

    /// Number of wanted rows not yet taken or passed.
    std::int64_t left() const { return wanted_ - next_; }

    /// Whether a row of [first, first + count) is wanted, at any distance ahead.
    bool wants(std::int64_t first, std::int64_t count) const {
        const std::int64_t from = std::max(first, begin_), to = std::min(first + count, end_);
        if (rows_ == nullptr || from >= to) {
            return from < to;
        }
        const auto row = std::lower_bound(rows_->begin() + next_, rows_->end(), from - begin_);
        return row != rows_->end() && *row < to - begin_;
    }
    /// Number of wanted rows in [first, first + count), without taking them; all earlier ones must
    /// have been taken or passed.
    std::int64_t peek(std::int64_t first, std::int64_t count) const {
        const std::int64_t from = std::max(first, begin_), to = std::min(first + count, end_);
        if (from >= to) {
            return 0;
        }
        if (rows_ == nullptr) {
            return to - from;
        }
        const auto start = rows_->begin() + next_;
        return std::lower_bound(start, rows_->end(), to - begin_) - start;
    }
    /// Takes the wanted rows and returns their offsets from `first`, ascending. Valid until the
    /// next call. Not for a stretch that is wanted as a whole.
    std::span<const std::int64_t> take(std::int64_t first, std::int64_t count) {
        const std::int64_t n = peek(first, count);
        places_.resize(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t row = rows_ == nullptr
                                         ? std::max(first, begin_) + i
                                         : (*rows_)[static_cast<std::size_t>(next_ + i)] + begin_;
            places_[static_cast<std::size_t>(i)] = row - first;
        }
        next_ += n;
        return places_;
    }
    /// Passes a stretch that was wanted as a whole.
    void pass(std::int64_t count) { next_ += count; }

 private:
    const std::vector<std::int64_t>* rows_;
    std::int64_t begin_, end_, wanted_, next_ = 0;
    std::vector<std::int64_t> places_;
};

/// Selects the wanted rows of an array of all rows.
Result<std::shared_ptr<arrow::Array>> selectRows(std::shared_ptr<arrow::Array> all,
                                                 const RowSelection& selection,
                                                 arrow::MemoryPool* pool);
/// An array of floats with its nulls replaced by 0; other arrays unchanged.
Result<std::shared_ptr<arrow::Array>> zeroNullFloats(std::shared_ptr<arrow::Array> values,
                                                     arrow::MemoryPool* pool);
/// Expands a dictionary of lists, texts or numbers to one value per row; other arrays unchanged.
Result<std::shared_ptr<arrow::Array>> expandStored(std::shared_ptr<arrow::Array> values,
                                                   arrow::MemoryPool* pool);

}  // namespace millrace::pages
