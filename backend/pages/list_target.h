#pragma once
// Collects the lists of a column chunk from its pages; stores equal neighbours once.
//
// Repeats are found on dictionary indices (or plain bytes) before any value is looked up; values
// are compared only between rows of different pages. A column whose lists are the same for all rows
// of a request therefore costs one lookup per request.
// Threads: one. Owns the buffers until finish(). Failure: kDataLoss for missing values.
#include <cstdint>
#include <memory>
#include <span>

#include <arrow/type_fwd.h>

#include "backend/arrays/pool_vector.h"
#include "backend/core/status.h"
#include "backend/pages/page_values.h"
#include "backend/pages/row_selection.h"

namespace millrace::pages {

/// The lists that begin in a page.
struct PageRows {
    explicit PageRows(arrow::MemoryPool* pool) : starts(pool), isNull(pool) {}

    std::int64_t lead = 0;  ///< values before the first list: they belong to the previous page's
                            ///< last list
    arrays::PoolVector<std::int32_t>
        starts;  ///< start of each list among the page's values; then their end
    arrays::PoolVector<std::uint8_t> isNull;  ///< one per list; empty: no list is null

    /// For a page in which every level has a value; returns false if it is damaged.
    bool addStarts(arrays::ByteSpan repetition, std::int64_t count);
    std::int64_t count() const { return static_cast<std::int64_t>(starts.size()) - 1; }
    void release() {
        arrays::release(starts);
        arrays::release(isNull);
    }
};

class ListTarget {
 public:
    /// Lists of values of `width` bytes (4 or 8); at most `mostRows` wanted lists and `mostValues`
    /// values.
    static Result<ListTarget> make(int width, std::int64_t mostRows, std::int64_t mostValues,
                                   bool mayRepeat, arrow::MemoryPool* pool);

    /// Adds the lists from `firstRow` on, which begin in the page, as far as `walk` wants them.
    Status addPage(PageValues& values, const PageRows& page, std::int64_t firstRow,
                   SelectionWalk& walk);

    /// Whether the last wanted list may continue in the next page.
    bool isOpen() const { return isOpen_; }
    /// Returns a list array; if lists repeat, dictionary<int32, list>.
    Result<std::shared_ptr<arrow::Array>> finish(const std::shared_ptr<arrow::DataType>& list);

 private:
    explicit ListTarget(arrow::MemoryPool* pool) : pool_(pool), nullItems_(pool), scratch_(pool) {}

    /// Adjacent rows of a page, with their elements in the page.
    struct Stretch {
        const std::uint8_t* elements = nullptr;  ///< indices, or plain values
        std::int64_t first = 0, last = 0;        ///< rows of the page
    };
    template <class T>
    Status addPageOf(PageValues& values, const PageRows& page, std::int64_t firstRow,
                     SelectionWalk& walk);
    template <class T>
    Status addRows(PageValues& values, const PageRows& page, std::span<const std::int64_t> places,
                   std::int64_t count, std::int64_t& at);
    template <class T>
    void addStretch(const PageValues& values, const PageRows& page, const Stretch& stretch);
    template <class T>
    Status append(PageValues& values, std::int64_t count);
    bool fetch(PageValues& values, std::int64_t count, const std::uint8_t*& elements);
    Status reserve(std::int64_t values);
    void openItem(bool isNull);
    void closeItem();
    void addRepeat() { itemOf()[rows_++] = static_cast<std::int32_t>(items_ - 1); }
    bool areLastEqual() const;
    std::int32_t* offsets() const;
    std::int32_t* itemOf() const;

    int width_ = 8;
    bool mayRepeat_ = false;
    arrow::MemoryPool* pool_ = nullptr;
    std::int64_t mostRows_ = 0, mostValues_ = 0;
    std::shared_ptr<arrow::ResizableBuffer> values_;
    std::shared_ptr<arrow::Buffer> offsets_, itemOf_;
    std::int64_t rows_ = 0, items_ = 0, numValues_ = 0, room_ = 0;
    arrays::PoolVector<std::int64_t> nullItems_;
    bool isOpen_ = false;    ///< the last item may continue in the next page
    bool hasBegun_ = false;  ///< a list has begun, wanted or not
    arrays::PoolVector<std::uint32_t> scratch_;
    /// The last wanted row's elements, in this page.
    bool hasPrevious_ = false, wasNull_ = false;
    const std::uint8_t* previous_ = nullptr;
    std::int64_t previousCount_ = 0;
};

}  // namespace millrace::pages
