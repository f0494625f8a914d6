#include "backend/dataset/page_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "backend/dataset/arrow_bridge.h"
#include "backend/dataset/bit_unpack.h"

namespace millrace::dataset {

struct PageDecoder::Shape {
    bool isList = false, hasNullLists = false, hasNullItems = false;
    int maxDefinition = 0;
    int width = 0;  ///< bytes a value
};

struct PageDecoder::Target {
    std::shared_ptr<arrow::Buffer> values, offsets, validity;
    std::int64_t rows = 0, rowsMost = 0;    ///< begun so far, and of the row group
    std::int64_t items = 0, itemsMost = 0;  ///< values written, and room
    std::int64_t levels = 0, nulls = 0;

    std::int32_t* offset() { return reinterpret_cast<std::int32_t*>(offsets->mutable_data()); }
    void setValid(std::int64_t row, bool isValid) {
        std::uint8_t& byte = validity->mutable_data()[row >> 3];
        const auto bit = static_cast<std::uint8_t>(1U << (row & 7));
        byte = static_cast<std::uint8_t>(isValid ? byte | bit : byte & ~bit);
    }
};

namespace {

constexpr std::int64_t kBlock = 4096;  // indices that stay in the first level cache

Status damaged(std::string_view what) {
    return dataLoss("corrupt: ", what);
}

int bitsFor(int most) {
    return std::bit_width(static_cast<unsigned>(most));
}

// A stream of levels: its length in four bytes, then the stream.
bool takeLevels(ByteSpan& page, ByteSpan& levels) {
    std::uint32_t length = 0;
    if (page.size() < 4) {
        return false;
    }
    std::memcpy(&length, page.begin, 4);
    if (page.size() - 4 < static_cast<std::int64_t>(length)) {
        return false;
    }
    levels = {page.begin + 4, page.begin + 4 + length};
    page.begin += 4 + static_cast<std::ptrdiff_t>(length);
    return true;
}

// True when all levels are `most`.
bool areAll(ByteSpan levels, int most, std::int64_t count, bool& isAll) {
    isAll = true;
    return forEachRun(
        levels, bitsFor(most), count,
        [&](std::uint32_t value, std::int64_t) {
            isAll = isAll && value == static_cast<std::uint32_t>(most);
            return true;
        },
        [&](ByteSpan, std::int64_t) {
            isAll = false;
            return true;
        });
}

bool unpackLevels(ByteSpan levels, int most, std::int64_t count, std::vector<std::uint32_t>& out) {
    out.resize(static_cast<std::size_t>(count));
    std::uint32_t* at = out.data();
    const int width = bitsFor(most);
    return forEachRun(
        levels, width, count,
        [&](std::uint32_t value, std::int64_t n) {
            at = std::fill_n(at, n, value);
            return value <= static_cast<std::uint32_t>(most);
        },
        [&](ByteSpan packed, std::int64_t n) {
            unpackBits(packed.begin, packed.end, width, n, at);
            const bool isFine = std::all_of(
                at, at + n, [&](std::uint32_t v) { return v <= static_cast<std::uint32_t>(most); });
            at += n;
            return isFine;
        });
}

std::uint64_t loadWord(ByteSpan bytes, std::int64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.begin + at,
                static_cast<std::size_t>(std::min<std::int64_t>(8, bytes.size() - at)));
    return word;
}

// Bits of definition levels 0 and 1 as a bitmap; the number of ones.
bool bitmapOf(ByteSpan levels, std::int64_t count, std::vector<std::uint64_t>& bits,
              std::int64_t& ones) {
    bits.assign(static_cast<std::size_t>(count / 64 + 2), 0);
    std::int64_t at = 0;
    ones = 0;
    return forEachRun(
        levels, 1, count,
        [&](std::uint32_t value, std::int64_t n) {
            for (std::int64_t i = at; value != 0 && i < at + n; ++i) {
                bits[static_cast<std::size_t>(i >> 6)] |= std::uint64_t{1} << (i & 63);
            }
            ones += value != 0 ? n : 0;
            at += n;
            return value <= 1;
        },
        [&](ByteSpan packed, std::int64_t n) {
            for (std::int64_t i = 0; i < n; i += 64) {
                std::uint64_t word = loadWord(packed, i / 8);
                if (n - i < 64) {
                    word &= (std::uint64_t{1} << (n - i)) - 1;
                }
                ones += std::popcount(word);
                const std::int64_t bit = at + i;
                bits[static_cast<std::size_t>(bit >> 6)] |= word << (bit & 63);
                if ((bit & 63) != 0) {
                    bits[static_cast<std::size_t>(bit >> 6) + 1] |= word >> (64 - (bit & 63));
                }
            }
            at += n;
            return true;
        });
}

// Values without gaps to their places; nulls become zeros.
template <class T>
void spread(const std::vector<std::uint64_t>& valid, std::int64_t count, const T* dense, T* out) {
    for (std::int64_t i = 0; i < count; i += 64) {
        const std::uint64_t word = valid[static_cast<std::size_t>(i >> 6)];
        const std::int64_t n = std::min<std::int64_t>(64, count - i);
        for (std::int64_t k = 0; k < n; ++k) {
            const std::uint64_t isValid = (word >> k) & 1;
            // Never past the end: `dense` has one value more than there are ones.
            out[i + k] = isValid != 0 ? *dense : T{0};
            dense += isValid;
        }
    }
}

void copyBits(const std::vector<std::uint64_t>& from, std::int64_t count, std::int64_t first,
              std::uint8_t* to) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = first + i;
        const auto bit = static_cast<std::uint8_t>(
            ((from[static_cast<std::size_t>(i >> 6)] >> (i & 63)) & 1) << (row & 7));
        to[row >> 3] = static_cast<std::uint8_t>((to[row >> 3] & ~(1U << (row & 7))) | bit);
    }
}

bool hasWidthOf(const parquet::ColumnDescriptor& column, arrow::Type::type type, int& width) {
    const auto& logical = column.logical_type();
    const auto isPlainInt = [&](int bits) {
        if (logical == nullptr || logical->is_none()) {
            return true;
        }
        const auto* number = dynamic_cast<const parquet::IntLogicalType*>(logical.get());
        return number != nullptr && number->is_signed() && number->bit_width() == bits;
    };
    const bool isPlain = logical == nullptr || logical->is_none();
    switch (column.physical_type()) {
        case parquet::Type::INT32:
            width = 4;
            return type == arrow::Type::INT32 && isPlainInt(32);
        case parquet::Type::INT64:
            width = 8;
            return type == arrow::Type::INT64 && isPlainInt(64);
        case parquet::Type::FLOAT:
            width = 4;
            return type == arrow::Type::FLOAT && isPlain;
        case parquet::Type::DOUBLE:
            width = 8;
            return type == arrow::Type::DOUBLE && isPlain;
        default:
            return false;
    }
}

}  // namespace

bool PageDecoder::shapeOf(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                          Shape& shape) {
    shape.maxDefinition = column.max_definition_level();
    const bool isFlat = column.max_repetition_level() == 0;
    const parquet::schema::Node* leaf = column.schema_node().get();
    if (isFlat) {
        const bool isTop = leaf->parent() != nullptr && leaf->parent()->parent() == nullptr;
        return isTop && shape.maxDefinition <= 1 && hasWidthOf(column, pinned.id(), shape.width);
    }
    // optional|required group NAME (LIST) { repeated group list { optional|required item } }
    const parquet::schema::Node* middle = leaf->parent();
    const parquet::schema::Node* list = middle == nullptr ? nullptr : middle->parent();
    if (column.max_repetition_level() != 1 || list == nullptr || list->parent() == nullptr ||
        list->parent()->parent() != nullptr || !middle->is_repeated() || leaf->is_repeated() ||
        list->is_repeated() || pinned.id() != arrow::Type::LIST) {
        return false;
    }
    shape.isList = true;
    shape.hasNullLists = list->is_optional();
    shape.hasNullItems = leaf->is_optional();
    const int levels = 1 + (shape.hasNullLists ? 1 : 0) + (shape.hasNullItems ? 1 : 0);
    const auto& items = *static_cast<const arrow::ListType&>(pinned).value_type();
    return shape.maxDefinition == levels && hasWidthOf(column, items.id(), shape.width);
}

Result<PageDecoder::Target> PageDecoder::allocate(const Shape& shape, std::int64_t rows,
                                                  std::int64_t levels) {
    Target target;
    target.rowsMost = rows;
    target.itemsMost = shape.isList ? levels : rows;
    if (levels < 0 || (!shape.isList && levels != rows) || levels > std::int64_t{0x7fffffff} ||
        rows > std::int64_t{0x7ffffffe}) {
        return damaged("a column chunk of another length than its row group");
    }
    const auto buffer = [&](std::int64_t bytes) -> Result<std::shared_ptr<arrow::Buffer>> {
        ASSIGN_OR_RETURN(auto made, fromArrow(arrow::AllocateBuffer(bytes, pool_), "decode"));
        return std::shared_ptr<arrow::Buffer>(std::move(made));
    };
    ASSIGN_OR_RETURN(target.values, buffer(target.itemsMost * shape.width));
    if (shape.isList) {
        ASSIGN_OR_RETURN(target.offsets, buffer((rows + 1) * 4));
    }
    const bool isNullable = shape.isList ? shape.hasNullLists : shape.maxDefinition > 0;
    if (isNullable) {
        ASSIGN_OR_RETURN(target.validity, buffer((rows + 7) / 8));
        std::memset(target.validity->mutable_data(), 0xff,
                    static_cast<std::size_t>((rows + 7) / 8));
    }
    return target;
}

Result<std::shared_ptr<arrow::Array>> PageDecoder::readChunk(
    parquet::RowGroupReader& group, int leaf, const std::shared_ptr<arrow::DataType>& pinned,
    std::int64_t rows) {
    Shape shape;
    if (pinned == nullptr || !shapeOf(*group.metadata()->schema()->Column(leaf), *pinned, shape)) {
        return std::shared_ptr<arrow::Array>();
    }
    const auto chunk = group.metadata()->ColumnChunk(leaf);
    ASSIGN_OR_RETURN(Target target, allocate(shape, rows, chunk->num_values()));
    dictionarySize_ = -1;
    const auto pages = group.GetColumnPageReader(leaf);
    ASSIGN_OR_RETURN(const bool isRead, readPages(*pages, shape, target));
    if (!isRead) {
        return std::shared_ptr<arrow::Array>();
    }
    if (target.rows != rows) {
        return damaged(strCat(target.rows, " rows instead of ", rows));
    }
    const auto validity = target.nulls > 0 ? target.validity : nullptr;
    if (!shape.isList) {
        return arrow::MakeArray(
            arrow::ArrayData::Make(pinned, rows, {validity, target.values}, target.nulls));
    }
    const auto item = static_cast<const arrow::ListType&>(*pinned).value_type();
    target.offset()[rows] = static_cast<std::int32_t>(target.items);
    auto items = arrow::ArrayData::Make(item, target.items, {nullptr, target.values}, 0);
    return arrow::MakeArray(arrow::ArrayData::Make(pinned, rows, {validity, target.offsets},
                                                   {std::move(items)}, target.nulls));
}

Result<bool> PageDecoder::readPages(parquet::PageReader& pages, const Shape& shape,
                                    Target& target) {
    while (const std::shared_ptr<parquet::Page> page = pages.NextPage()) {
        if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
            const auto& dictionary = static_cast<const parquet::DictionaryPage&>(*page);
            dictionarySize_ = dictionary.num_values();
            const std::int64_t bytes = dictionarySize_ * shape.width;
            if (dictionarySize_ < 0 || bytes > page->size()) {
                return damaged("a dictionary page shorter than its values");
            }
            // The page reader decompresses the next page into the same memory.
            dictionary_.resize(static_cast<std::size_t>(bytes / 8 + 1));
            std::memcpy(dictionary_.data(), page->data(), static_cast<std::size_t>(bytes));
            continue;
        }
        if (page->type() != parquet::PageType::DATA_PAGE) {
            return false;
        }
        ASSIGN_OR_RETURN(const bool isRead,
                         readPage(static_cast<const parquet::DataPageV1&>(*page), shape, target));
        if (!isRead) {
            return false;
        }
    }
    return true;
}

Result<bool> PageDecoder::readPage(const parquet::DataPageV1& page, const Shape& shape,
                                   Target& target) {
    const bool isDictionary = page.encoding() == parquet::Encoding::RLE_DICTIONARY ||
                              page.encoding() == parquet::Encoding::PLAIN_DICTIONARY;
    if ((!isDictionary && page.encoding() != parquet::Encoding::PLAIN) ||
        (shape.maxDefinition > 0 && page.definition_level_encoding() != parquet::Encoding::RLE) ||
        (shape.isList && page.repetition_level_encoding() != parquet::Encoding::RLE)) {
        return false;
    }
    const std::int64_t count = page.num_values();
    ByteSpan rest{page.data(), page.data() + page.size()};
    ByteSpan repetition, definition;
    if (count < 0 || (shape.isList && !takeLevels(rest, repetition)) ||
        (shape.maxDefinition > 0 && !takeLevels(rest, definition))) {
        return damaged("a page shorter than its levels");
    }
    const std::int64_t room =
        shape.isList ? target.itemsMost - target.levels : target.rowsMost - target.rows;
    if (count > room) {
        return damaged("more values than the footer says");
    }
    target.levels += count;
    const int encoding = isDictionary ? 1 : 0;
    if (shape.isList) {
        return readList(shape, encoding, repetition, definition, rest, count, target);
    }
    RETURN_IF_ERROR(readFlat(shape, encoding, definition, rest, count, target));
    return true;
}

Status PageDecoder::readFlat(const Shape& shape, int encoding, ByteSpan levels, ByteSpan values,
                             std::int64_t count, Target& target) {
    std::uint8_t* const out = target.values->mutable_data() + target.rows * shape.width;
    const std::int64_t first = target.rows;
    target.rows += count;
    bool isAll = true;
    if (shape.maxDefinition > 0 && !areAll(levels, 1, count, isAll)) {
        return damaged("definition levels");
    }
    if (isAll) {
        return readValues(shape, encoding, values, count, out);
    }
    std::int64_t present = 0;
    if (!bitmapOf(levels, count, valid_, present)) {
        return damaged("definition levels");
    }
    dense_.resize(static_cast<std::size_t>((present + 1) * shape.width));
    RETURN_IF_ERROR(readValues(shape, encoding, values, present, dense_.data()));
    if (shape.width == 4) {
        spread(valid_, count, reinterpret_cast<const std::uint32_t*>(dense_.data()),
               reinterpret_cast<std::uint32_t*>(out));
    } else {
        spread(valid_, count, reinterpret_cast<const std::uint64_t*>(dense_.data()),
               reinterpret_cast<std::uint64_t*>(out));
    }
    copyBits(valid_, count, first, target.validity->mutable_data());
    target.nulls += count - present;
    return okStatus();
}

Result<bool> PageDecoder::readList(const Shape& shape, int encoding, ByteSpan repetition,
                                   ByteSpan definition, ByteSpan values, std::int64_t count,
                                   Target& target) {
    bool isAll = true;
    if (!areAll(definition, shape.maxDefinition, count, isAll)) {
        return damaged("definition levels");
    }
    std::int64_t present = count;
    if (isAll) {
        RETURN_IF_ERROR(startRows(repetition, count, target));
    } else {
        ASSIGN_OR_RETURN(const bool isRead,
                         walkLevels(shape, repetition, definition, count, target, present));
        if (!isRead) {
            return false;
        }
    }
    RETURN_IF_ERROR(readValues(shape, encoding, values, present,
                               target.values->mutable_data() + target.items * shape.width));
    target.items += present;
    return true;
}

// A row begins at each repetition level 0.
Status PageDecoder::startRows(ByteSpan repetition, std::int64_t count, Target& target) {
    std::int32_t* const offsets = target.offset();
    std::int64_t rows = target.rows, at = target.items;
    const auto start = [&](std::int64_t item) {
        if (rows == target.rowsMost) {
            return false;
        }
        offsets[rows++] = static_cast<std::int32_t>(item);
        return true;
    };
    const bool isFine = forEachRun(
        repetition, 1, count,
        [&](std::uint32_t level, std::int64_t n) {
            for (std::int64_t i = 0; level == 0 && i < n; ++i) {
                if (!start(at + i)) {
                    return false;
                }
            }
            at += n;
            return level <= 1;
        },
        [&](ByteSpan packed, std::int64_t n) {
            for (std::int64_t i = 0; i < n; i += 64) {
                std::uint64_t word = ~loadWord(packed, i / 8);
                if (n - i < 64) {
                    word &= (std::uint64_t{1} << (n - i)) - 1;
                }
                for (; word != 0; word &= word - 1) {
                    if (!start(at + i + std::countr_zero(word))) {
                        return false;
                    }
                }
            }
            at += n;
            return true;
        });
    if (!isFine || (count > 0 && rows == 0) || (target.rows == 0 && rows > 0 && offsets[0] != 0)) {
        return damaged("repetition levels");
    }
    target.rows = rows;
    return okStatus();
}

// Lists that are null or empty take a level but no value.
Result<bool> PageDecoder::walkLevels(const Shape& shape, ByteSpan repetition, ByteSpan definition,
                                     std::int64_t count, Target& target, std::int64_t& present) {
    if (!unpackLevels(repetition, 1, count, repetition_) ||
        !unpackLevels(definition, shape.maxDefinition, count, definition_)) {
        return damaged("levels");
    }
    const auto most = static_cast<std::uint32_t>(shape.maxDefinition);
    std::int64_t items = target.items;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const bool isItem = definition_[i] == most;
        if (shape.hasNullItems && definition_[i] + 1 == most) {
            return false;  // a null inside of a list
        }
        if (repetition_[i] == 0) {
            if (target.rows == target.rowsMost) {
                return damaged("more rows than the footer says");
            }
            const bool isNull = shape.hasNullLists && definition_[i] == 0;
            if (isNull) {
                target.setValid(target.rows, false);
                ++target.nulls;
            }
            target.offset()[target.rows++] = static_cast<std::int32_t>(items);
        } else if (!isItem || target.rows == 0) {
            return damaged("levels that contradict each other");
        }
        items += isItem ? 1 : 0;
    }
    present = items - target.items;
    return true;
}

Status PageDecoder::readValues(const Shape& shape, int encoding, ByteSpan values,
                               std::int64_t count, std::uint8_t* out) {
    // Bits are copied, never looked at: integers and floats of a width are alike.
    return shape.width == 4
               ? readValuesOf(encoding, values, count, reinterpret_cast<std::uint32_t*>(out))
               : readValuesOf(encoding, values, count, reinterpret_cast<std::uint64_t*>(out));
}

template <class T>
Status PageDecoder::readValuesOf(int encoding, ByteSpan values, std::int64_t count, T* out) {
    if (count == 0) {
        return okStatus();
    }
    if (encoding == 0) {
        const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
        if (bytes > values.size()) {
            return damaged("a page shorter than its values");
        }
        std::memcpy(out, values.begin, static_cast<std::size_t>(bytes));
        return okStatus();
    }
    if (dictionarySize_ < 0 || values.size() < 1 || *values.begin > 32) {
        return damaged("dictionary indices without a dictionary");
    }
    const int width = *values.begin;
    const T* const dictionary = reinterpret_cast<const T*>(dictionary_.data());
    const auto size = static_cast<std::uint64_t>(dictionarySize_);
    std::uint32_t index[kBlock];
    const bool isFine = forEachRun(
        {values.begin + 1, values.end}, width, count,
        [&](std::uint32_t value, std::int64_t n) {
            if (value >= size) {
                return false;
            }
            out = std::fill_n(out, n, dictionary[value]);
            return true;
        },
        [&](ByteSpan packed, std::int64_t n) {
            for (std::int64_t a = 0; a < n; a += kBlock) {
                const std::int64_t m = std::min(kBlock, n - a);
                unpackBits(packed.begin + a * width / 8, packed.end, width, m, index);
                std::uint32_t most = 0;
                for (std::int64_t i = 0; i < m; ++i) {
                    most = std::max(most, index[i]);
                }
                if (most >= size) {
                    return false;
                }
                for (std::int64_t i = 0; i < m; ++i) {
                    out[i] = dictionary[index[i]];
                }
                out += m;
            }
            return true;
        });
    return isFine ? okStatus() : damaged("dictionary indices");
}

}  // namespace millrace::dataset
