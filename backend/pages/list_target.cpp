#include "backend/pages/list_target.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/pages/page_levels.h"

namespace millrace::pages {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements that stay in the first level cache

Status damagedValues() {
    return dataLoss("corrupt: a page without the values that its levels count");
}

}  // namespace

// A row begins at each repetition level 0.
bool PageRows::addStarts(arrays::ByteSpan repetition, std::int64_t count) {
    std::int64_t at = 0;
    const bool isFine = arrays::forEachRun(
        repetition, 1, count,
        [&](std::uint32_t level, std::int64_t n) {
            for (std::int64_t i = 0; level == 0 && i < n; ++i) {
                starts.push_back(static_cast<std::int32_t>(at + i));
            }
            at += n;
            return level <= 1;
        },
        [&](arrays::ByteSpan packed, std::int64_t n) {
            for (std::int64_t i = 0; i < n; i += 64) {
                std::uint64_t word = ~loadWord(packed, i / 8);
                if (n - i < 64) {
                    word &= (std::uint64_t{1} << (n - i)) - 1;
                }
                for (; word != 0; word &= word - 1) {
                    starts.push_back(static_cast<std::int32_t>(at + i + std::countr_zero(word)));
                }
            }
            at += n;
            return true;
        });
    lead = starts.empty() ? count : starts.front();
    starts.push_back(static_cast<std::int32_t>(count));
    return isFine;
}

Result<ListTarget> ListTarget::make(int width, std::int64_t mostRows, std::int64_t mostValues,
                                    bool mayRepeat, arrow::MemoryPool* pool) {
    ListTarget target(pool);
    target.width_ = width;
    target.mayRepeat_ = mayRepeat;
    target.mostRows_ = mostRows;
    target.mostValues_ = mostValues;
    ASSIGN_OR_RETURN(target.values_,
                     arrays::fromArrow(arrow::AllocateResizableBuffer(0, pool), "decode"));
    ASSIGN_OR_RETURN(target.offsets_,
                     arrays::fromArrow(arrow::AllocateBuffer((mostRows + 1) * 4, pool), "decode"));
    if (mayRepeat) {
        ASSIGN_OR_RETURN(target.itemOf_,
                         arrays::fromArrow(arrow::AllocateBuffer(mostRows * 4, pool), "decode"));
    }
    return target;
}

std::int32_t* ListTarget::offsets() const {
    return reinterpret_cast<std::int32_t*>(offsets_->mutable_data());
}

std::int32_t* ListTarget::itemOf() const {
    return reinterpret_cast<std::int32_t*>(itemOf_->mutable_data());
}

Status ListTarget::reserve(std::int64_t values) {
    if (numValues_ + values <= room_) {
        return okStatus();
    }
    const std::int64_t first = mayRepeat_ ? mostValues_ / 16 : mostValues_;
    room_ = std::min(mostValues_, std::max({2 * room_, numValues_ + values, first}));
    return arrays::fromArrow(values_->Resize(room_ * width_, /*shrink_to_fit=*/false), "decode");
}

void ListTarget::openItem(bool isNull) {
    offsets()[items_] = static_cast<std::int32_t>(numValues_);
    if (isNull) {
        nullItems_.push_back(items_);
    }
    ++items_;
    if (mayRepeat_) {
        itemOf()[rows_] = static_cast<std::int32_t>(items_ - 1);
    }
    ++rows_;
}

// Compares the values of the last two items.
bool ListTarget::areLastEqual() const {
    const std::int64_t begin = offsets()[items_ - 1], before = offsets()[items_ - 2];
    const std::size_t nulls = nullItems_.size();
    const bool isNull = nulls > 0 && nullItems_[nulls - 1] == items_ - 1;
    const std::size_t older = isNull ? nulls - 1 : nulls;
    const bool wasNull = older > 0 && nullItems_[older - 1] == items_ - 2;
    if (isNull != wasNull || numValues_ - begin != begin - before) {
        return false;
    }
    const std::uint8_t* const data = values_->data();
    return begin == before || std::memcmp(data + begin * width_, data + before * width_,
                                          static_cast<std::size_t>((begin - before) * width_)) == 0;
}

// The last item is complete; drops it if it repeats the previous one.
void ListTarget::closeItem() {
    if (!mayRepeat_ || items_ < 2 || !areLastEqual()) {
        return;
    }
    --items_;
    numValues_ = offsets()[items_];
    if (!nullItems_.empty() && nullItems_.back() == items_) {
        nullItems_.pop_back();
    }
    itemOf()[rows_ - 1] = static_cast<std::int32_t>(items_ - 1);
}

template <class T>
Status ListTarget::append(PageValues& values, std::int64_t count) {
    RETURN_IF_ERROR(reserve(count));
    T* const out = reinterpret_cast<T*>(values_->mutable_data()) + numValues_;
    numValues_ += count;
    return values.read(count, out) ? okStatus() : damagedValues();
}

// Reads the next `count` elements of the page. Indices of a dictionary page are put after those of
// the last wanted row, with which later rows are compared.
bool ListTarget::fetch(PageValues& values, std::int64_t count, const std::uint8_t*& elements) {
    if (!values.isDictionary()) {
        elements = values.takePlain(count, width_);
        return elements != nullptr || count == 0;
    }
    const auto kept = static_cast<std::size_t>(hasPrevious_ ? previousCount_ : 0);
    const std::size_t needed = kept + static_cast<std::size_t>(count);
    if (scratch_.size() < needed) {
        arrays::PoolVector<std::uint32_t> larger(std::max<std::size_t>(2 * kBlock, 2 * needed),
                                                 scratch_.get_allocator());
        if (kept > 0) {
            std::memcpy(larger.data(), previous_, kept * sizeof(std::uint32_t));
        }
        scratch_.swap(larger);
    } else if (kept > 0) {
        std::memmove(scratch_.data(), previous_, kept * sizeof(std::uint32_t));
    }
    previous_ = reinterpret_cast<const std::uint8_t*>(scratch_.data());
    elements = reinterpret_cast<const std::uint8_t*>(scratch_.data() + kept);
    return values.readIndices(count, scratch_.data() + kept);
}

template <class T>
void ListTarget::addStretch(const PageValues& values, const PageRows& page,
                            const Stretch& stretch) {
    const std::size_t size = values.isDictionary() ? sizeof(std::uint32_t) : sizeof(T);
    const T* const dictionary = values.dictionary<T>();
    const std::uint8_t* at = stretch.elements;
    for (std::int64_t row = stretch.first; row < stretch.last; ++row) {
        const auto k = static_cast<std::size_t>(row);
        const std::int64_t count = page.starts[k + 1] - page.starts[k];
        const std::size_t bytes = static_cast<std::size_t>(count) * size;
        const bool isNull = !page.isNull.empty() && page.isNull[k] != 0;
        if (mayRepeat_ && hasPrevious_ && count == previousCount_ && isNull == wasNull_ &&
            (count == 0 || std::memcmp(at, previous_, bytes) == 0)) {
            addRepeat();
        } else {
            openItem(isNull);
            T* const out = reinterpret_cast<T*>(values_->mutable_data()) + numValues_;
            if (values.isDictionary()) {
                const auto* const index = reinterpret_cast<const std::uint32_t*>(at);
                for (std::int64_t i = 0; i < count; ++i) {
                    out[i] = dictionary[index[i]];
                }
            } else if (count > 0) {
                std::memcpy(out, at, bytes);
            }
            numValues_ += count;
            if (!hasPrevious_) {
                closeItem();
            }
        }
        hasPrevious_ = true;
        previous_ = at;
        previousCount_ = count;
        wasNull_ = isNull;
        at += bytes;
    }
}

// Adds the rows at `places`, or the first `count` if `places` is empty.
template <class T>
Status ListTarget::addRows(PageValues& values, const PageRows& page,
                           std::span<const std::int64_t> places, std::int64_t count,
                           std::int64_t& at) {
    const auto rowAt = [&](std::int64_t k) {
        return places.empty() ? k : places[static_cast<std::size_t>(k)];
    };
    const auto startOf = [&](std::int64_t row) -> std::int64_t {
        return page.starts[static_cast<std::size_t>(row)];
    };
    for (std::int64_t k = 0; k < count;) {
        Stretch stretch;
        stretch.first = rowAt(k++);
        stretch.last = stretch.first + 1;
        const std::int64_t begin = startOf(stretch.first);
        if (!values.skip(begin - at, width_)) {
            return damagedValues();
        }
        while (k < count && rowAt(k) == stretch.last &&
               startOf(stretch.last + 1) - begin <= kBlock) {
            ++stretch.last;
            ++k;
        }
        at = startOf(stretch.last);
        RETURN_IF_ERROR(reserve(at - begin));
        if (!fetch(values, at - begin, stretch.elements)) {
            return damagedValues();
        }
        addStretch<T>(values, page, stretch);
    }
    return okStatus();
}

template <class T>
Status ListTarget::addPageOf(PageValues& values, const PageRows& page, std::int64_t firstRow,
                             SelectionWalk& walk) {
    std::int64_t at = page.lead;
    if (page.lead > 0 && !hasBegun_) {
        return dataLoss("corrupt: repetition levels");
    }
    if (isOpen_) {
        RETURN_IF_ERROR(append<T>(values, page.lead));
    } else if (!values.skip(page.lead, width_)) {
        return damagedValues();
    }
    const std::int64_t count = page.count();
    if (count == 0) {
        return okStatus();
    }
    if (isOpen_) {
        closeItem();
    }
    hasBegun_ = true;
    hasPrevious_ = false;
    const std::int64_t wanted = walk.peek(firstRow, count);
    std::span<const std::int64_t> places;
    if (wanted == count) {
        walk.pass(count);
    } else {
        places = walk.take(firstRow, count);
    }
    isOpen_ = wanted == count || (wanted > 0 && places.back() == count - 1);
    const std::int64_t complete = wanted - (isOpen_ ? 1 : 0);
    RETURN_IF_ERROR(addRows<T>(values, page, places, complete, at));
    const auto last = static_cast<std::size_t>(count - 1);
    if (!isOpen_) {
        return okStatus();
    }
    if (!values.skip(page.starts[last] - at, width_)) {
        return damagedValues();
    }
    openItem(!page.isNull.empty() && page.isNull[last] != 0);
    return append<T>(values, page.starts[last + 1] - page.starts[last]);
}

Status ListTarget::addPage(PageValues& values, const PageRows& page, std::int64_t firstRow,
                           SelectionWalk& walk) {
    return width_ == 4 ? addPageOf<std::uint32_t>(values, page, firstRow, walk)
                       : addPageOf<std::uint64_t>(values, page, firstRow, walk);
}

Result<std::shared_ptr<arrow::Array>> ListTarget::finish(
    const std::shared_ptr<arrow::DataType>& list) {
    if (isOpen_) {
        closeItem();
    }
    offsets()[items_] = static_cast<std::int32_t>(numValues_);
    std::shared_ptr<arrow::Buffer> validity;
    const auto nulls = static_cast<std::int64_t>(nullItems_.size());
    if (nulls > 0) {
        const std::int64_t bytes = (items_ + 7) / 8;
        ASSIGN_OR_RETURN(validity,
                         arrays::fromArrow(arrow::AllocateBuffer(bytes, pool_), "decode"));
        std::memset(validity->mutable_data(), 0xff, static_cast<std::size_t>(bytes));
        for (const std::int64_t item : nullItems_) {
            validity->mutable_data()[item >> 3] &= static_cast<std::uint8_t>(~(1U << (item & 7)));
        }
    }
    const auto itemType = static_cast<const arrow::ListType&>(*list).value_type();
    auto values = arrow::ArrayData::Make(itemType, numValues_, {nullptr, values_}, 0);
    auto items =
        arrow::ArrayData::Make(list, items_, {validity, offsets_}, {std::move(values)}, nulls);
    if (!mayRepeat_ || items_ == rows_) {
        return arrow::MakeArray(items);
    }
    auto rows = arrow::ArrayData::Make(arrow::dictionary(arrow::int32(), list), rows_,
                                       {nullptr, itemOf_}, 0);
    rows->dictionary = std::move(items);
    return arrow::MakeArray(rows);
}

}  // namespace millrace::pages
