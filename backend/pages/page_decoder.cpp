#include "backend/pages/page_decoder.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/leaf_form.h"
#include "backend/pages/delta_packed.h"
#include "backend/pages/page_bits.h"
#include "backend/pages/page_levels.h"
#include "backend/pages/page_target.h"

namespace millrace::pages {

namespace {

constexpr double kTextBytesMost = 512 << 20;  ///< upper bound for the decoded text of a split

template <class T>
T* wordsOf(const std::shared_ptr<arrow::Buffer>& values) {
    return reinterpret_cast<T*>(values->mutable_data());
}

}  // namespace

PageDecoder::PageDecoder(arrow::MemoryPool* pool)
    : pool_(pool),
      pages_(pool),
      dictionaryWords_(pool),
      pageWords_(pool),
      plainTexts_(pool),
      pageRows_(pool),
      repetition_(pool),
      definition_(pool),
      valid_(pool),
      dense_(pool),
      picks_(pool) {}

void PageDecoder::release() {
    pages_.close();
    pageRows_.release();
    for (auto* words : {&dictionaryWords_, &pageWords_, &plainTexts_, &valid_, &dense_}) {
        arrays::release(*words);
    }
    arrays::release(repetition_);
    arrays::release(definition_);
    arrays::release(picks_);
}

bool PageDecoder::shapeOf(const parquet::ColumnDescriptor& column, const arrow::DataType& pinned,
                          Shape& shape) {
    shape.maxDefinition = column.max_definition_level();
    shape.isInteger = column.physical_type() == parquet::Type::INT32 ||
                      column.physical_type() == parquet::Type::INT64;
    const bool isFlat = column.max_repetition_level() == 0;
    const parquet::schema::Node* leaf = column.schema_node().get();
    if (isFlat) {
        const bool isKnown = arrays::LeafForm::of(column, pinned, shape.form);
        shape.width = shape.form.width;
        return isKnown;
    }
    // optional|required group NAME (LIST) { repeated group list { optional|required item } }
    const parquet::schema::Node* middle = leaf->parent();
    const parquet::schema::Node* list = middle == nullptr ? nullptr : middle->parent();
    if (column.max_repetition_level() != 1 || list == nullptr || list->parent() == nullptr ||
        !middle->is_repeated() || leaf->is_repeated() || pinned.id() != arrow::Type::LIST) {
        return false;
    }
    shape.isList = true;
    shape.hasNullItems = leaf->is_optional();
    shape.emptyDefinition = shape.maxDefinition - 1 - (shape.hasNullItems ? 1 : 0);
    const auto& items = *static_cast<const arrow::ListType&>(pinned).value_type();
    const bool isKnown = arrays::LeafForm::of(column, items, shape.form);
    shape.width = shape.form.width;
    return isKnown && shape.form.turn == arrays::LeafForm::Turn::kNone;
}

Status PageDecoder::allocate(const Shape& shape, const RowSelection& selection,
                             const RowStretch& stretch, std::int64_t levels, Target& target) {
    const std::int64_t wanted = target.wanted;
    target.levelsMost = levels;
    if (levels < 0 || (!shape.isList && levels != stretch.groupRows) ||
        levels > std::int64_t{0x7fffffff} || stretch.groupRows > std::int64_t{0x7ffffffe}) {
        return damaged("a column chunk of another length than its row group");
    }
    if (shape.isList) {
        ASSIGN_OR_RETURN(target.lists,
                         ListTarget::make(shape.width, wanted, levels, selection.mayRepeat, pool_));
        return okStatus();
    }
    // The form of texts and numbers is decided at the first page.
    if (shape.maxDefinition > 0) {
        const std::int64_t bytes = (wanted + 7) / 8;
        ASSIGN_OR_RETURN(target.validity,
                         arrays::fromArrow(arrow::AllocateBuffer(bytes, pool_), "decode"));
        std::memset(target.validity->mutable_data(), 0xff, static_cast<std::size_t>(bytes));
    }
    return okStatus();
}

// Uses codes if the chunk begins with its dictionary, and the dictionary has at most as many
// entries as there are wanted rows.
Status PageDecoder::allocateTexts(const Shape& shape, bool isDictionary, Target& target) {
    const bool mayBeNull = shape.maxDefinition > 0;
    if (target.mayCode && isDictionary &&
        CodedTexts::isWorth(dictionary_.size, mayBeNull, target.wanted)) {
        const auto* entries = reinterpret_cast<const arrays::TextSpan*>(dictionary_.values);
        ASSIGN_OR_RETURN(target.coded, CodedTexts::make(dictionaryBytes_, entries, dictionary_.size,
                                                        mayBeNull, target.wanted, pool_));
        target.coded->expectBytes(target.textBytes);
        return okStatus();
    }
    RETURN_IF_ERROR(allocateWords(shape, target));
    ASSIGN_OR_RETURN(target.texts, arrays::TextTarget::make(target.wanted, pool_));
    target.texts->expectBytes(target.textBytes);
    return okStatus();
}

Status PageDecoder::allocateWords(const Shape& shape, Target& target) {
    ASSIGN_OR_RETURN(
        target.values,
        arrays::fromArrow(arrow::AllocateBuffer(target.wanted * shape.width, pool_), "decode"));
    return okStatus();
}

// Uses codes if the chunk begins with its dictionary and it is small. If later pages leave it, the
// values so far are expanded.
Status PageDecoder::allocateNumbers(const Shape& shape, bool isDictionary, Target& target) {
    if (target.numbers && !isDictionary) {
        RETURN_IF_ERROR(allocateWords(shape, target));
        target.numbers->expand(target.rows, target.values->mutable_data());
        target.numbers.reset();
        return okStatus();
    }
    if (target.numbers || target.values != nullptr) {
        return okStatus();
    }
    const bool isCoded = target.mayCodeNumbers && isDictionary &&
                         shape.form.turn == arrays::LeafForm::Turn::kNone &&
                         CodedNumbers::isWorth(dictionary_.size, target.wanted);
    if (!isCoded) {
        return allocateWords(shape, target);
    }
    ASSIGN_OR_RETURN(target.numbers,
                     CodedNumbers::make(dictionary_, shape.width, target.wanted, pool_));
    return okStatus();
}

Result<std::shared_ptr<arrow::Array>> PageDecoder::readChunk(
    arrow::io::RandomAccessFile& file, const parquet::ColumnDescriptor& column,
    const parquet::ColumnChunkMetaData& chunk, const std::shared_ptr<arrow::DataType>& pinned,
    const RowStretch& stretch, const RowSelection& selection, std::span<const PagePlace> places) {
    Shape shape;
    if (pinned == nullptr || !shapeOf(column, *pinned, shape)) {
        return std::shared_ptr<arrow::Array>();
    }
    if (!places.empty()) {
        auto array = readChunkBy(places, file, chunk, shape, pinned, stretch, selection);
        if (array.status().code() != absl::StatusCode::kDataLoss) {
            return array;
        }
        // Either the places do not fit the pages, or the damage is reported below.
    }
    return readChunkBy({}, file, chunk, shape, pinned, stretch, selection);
}

Result<std::shared_ptr<arrow::Array>> PageDecoder::readChunkBy(
    std::span<const PagePlace> places, arrow::io::RandomAccessFile& file,
    const parquet::ColumnChunkMetaData& chunk, const Shape& shape,
    const std::shared_ptr<arrow::DataType>& pinned, const RowStretch& stretch,
    const RowSelection& selection) {
    ASSIGN_OR_RETURN(const bool isOpen, pages_.open(file, chunk));
    if (!isOpen) {
        return std::shared_ptr<arrow::Array>();
    }
    Target target(selection, stretch);
    // An estimate, bounded so that a damaged footer cannot cause a huge allocation.
    target.textBytes = static_cast<std::int64_t>(
        std::clamp(static_cast<double>(chunk.total_uncompressed_size()), 0.0, kTextBytesMost) *
        static_cast<double>(target.wanted) /
        static_cast<double>(std::max<std::int64_t>(stretch.groupRows, 1)));
    RETURN_IF_ERROR(allocate(shape, selection, stretch, chunk.num_values(), target));
    dictionary_ = {};
    dictionaryBytes_ = {};
    ASSIGN_OR_RETURN(const bool isRead,
                     places.empty() ? readPages(shape, target) : readPlaces(places, shape, target));
    if (!isRead) {
        return std::shared_ptr<arrow::Array>();
    }
    if (target.walk.left() > 0) {
        return damaged(strCat(target.seen, " rows instead of ", stretch.groupRows));
    }
    if (shape.isList) {
        return target.lists->finish(pinned);
    }
    return finishFlat(shape, pinned, target);
}

Result<std::shared_ptr<arrow::Array>> PageDecoder::finishFlat(
    const Shape& shape, const std::shared_ptr<arrow::DataType>& pinned, Target& target) {
    if (target.coded) {
        return target.coded->finish(target.rows, pool_);
    }
    if (target.numbers) {
        return target.numbers->finish(pinned, target.rows, target.nulls, pool_);
    }
    if (target.values == nullptr) {
        RETURN_IF_ERROR(shape.isText() ? allocateTexts(shape, false, target)
                                       : allocateWords(shape, target));
    }
    std::vector<std::shared_ptr<arrow::Buffer>> buffers = {target.nulls > 0 ? target.validity
                                                                            : nullptr};
    if (target.texts) {
        buffers.push_back(target.texts->offsets());
        buffers.push_back(target.texts->bytes());
    } else {
        ASSIGN_OR_RETURN(auto values, arrays::turnWords(shape.form, *pinned, target.rows,
                                                        std::move(target.values), pool_));
        buffers.push_back(std::move(values));
    }
    return arrow::MakeArray(
        arrow::ArrayData::Make(pinned, target.rows, std::move(buffers), target.nulls));
}

Result<bool> PageDecoder::readPages(const Shape& shape, Target& target) {
    PageHeader page;
    while (target.walk.left() > 0 || (target.lists && target.lists->isOpen())) {
        ASSIGN_OR_RETURN(const bool isThere, pages_.next(page));
        if (!isThere) {
            break;
        }
        if (page.type == PageHeader::kDictionary) {
            RETURN_IF_ERROR(readDictionary(page, shape));
            continue;
        }
        if (page.type != PageHeader::kData && page.type != PageHeader::kDataV2) {
            continue;
        }
        RETURN_IF_ERROR(countLevels(page, target));
        // Skips a page without a wanted row if its header has the number of rows.
        const std::int64_t rows = shape.isList ? page.numRows : page.numValues;
        const bool isOpen = target.lists && target.lists->isOpen();
        if (rows > 0 && rows <= target.rowsMost - target.seen && !isOpen &&
            target.walk.peek(target.seen, rows) == 0) {
            target.seen += rows;
            continue;
        }
        ASSIGN_OR_RETURN(const bool isRead, readPage(page, shape, target));
        if (!isRead) {
            return false;
        }
    }
    return true;
}

Status PageDecoder::countLevels(const PageHeader& page, Target& target) {
    if (page.numValues > target.levelsMost - target.levels) {
        return damaged("more values than the footer says");
    }
    if (page.numRows > page.numValues || page.numRows < -1) {
        return damaged("a page header that counts other rows than values");
    }
    target.levels += page.numValues;
    return okStatus();
}

// Skips pages without a wanted row without reading them: the stream seeks to the next needed page.
Result<bool> PageDecoder::readPlaces(std::span<const PagePlace> places, const Shape& shape,
                                     Target& target) {
    const Status misfit = damaged("an offset index that does not fit the pages");
    const auto isWished = [&](const PagePlace& place) {
        return target.walk.wants(place.begin, place.end - place.begin);
    };
    PageHeader page;
    pages_.seek(pages_.position(), places.front().offset);
    while (pages_.position() < places.front().offset) {
        ASSIGN_OR_RETURN(const bool isThere, pages_.next(page));
        if (!isThere || page.type != PageHeader::kDictionary) {
            return misfit;
        }
        RETURN_IF_ERROR(readDictionary(page, shape));
    }
    std::size_t runEnd = 0;  // pages before this one are read consecutively
    for (std::size_t p = 0; p < places.size() && target.walk.left() > 0; ++p) {
        const PagePlace& place = places[p];
        if (!isWished(place)) {
            continue;
        }
        if (p >= runEnd) {
            for (runEnd = p + 1; runEnd < places.size() && isWished(places[runEnd]);) {
                ++runEnd;
            }
            pages_.seek(place.offset, places[runEnd - 1].offset + places[runEnd - 1].bytes);
        }
        ASSIGN_OR_RETURN(const bool isThere, pages_.next(page));
        if (!isThere || (page.type != PageHeader::kData && page.type != PageHeader::kDataV2)) {
            return misfit;
        }
        RETURN_IF_ERROR(countLevels(page, target));
        target.seen = place.begin;
        ASSIGN_OR_RETURN(const bool isRead, readPage(page, shape, target));
        if (!isRead) {
            return false;
        }
        if (target.seen != place.end || (shape.isList && pageRows_.lead > 0) ||
            pages_.position() != place.offset + place.bytes) {
            return misfit;
        }
    }
    return true;
}

Status PageDecoder::readDictionary(const PageHeader& page, const Shape& shape) {
    if (dictionary_.size >= 0) {
        return damaged("a second dictionary page");
    }
    ASSIGN_OR_RETURN(const arrays::ByteSpan values, pages_.dictionary());
    if (shape.form.isUnpacked()) {
        arrays::ByteSpan words;
        if (!shape.isText() ||
            !arrays::unpackPlain(shape.form, values, page.numValues, dictionaryWords_, words) ||
            words.size() < std::int64_t{page.numValues} * shape.width) {
            return damaged("a dictionary page without its values");
        }
        dictionaryBytes_ = values;
        dictionary_ = {dictionaryWords_.data(), page.numValues};
        return okStatus();
    }
    if (values.size() < std::int64_t{page.numValues} * shape.width) {
        return damaged("a dictionary page shorter than its values");
    }
    dictionary_ = {reinterpret_cast<const std::uint64_t*>(values.begin), page.numValues};
    return okStatus();
}

Result<bool> PageDecoder::readPage(const PageHeader& page, const Shape& shape, Target& target) {
    const bool isDictionary = page.encoding == PageHeader::kRleDictionary ||
                              page.encoding == PageHeader::kPlainDictionary;
    const bool isRle =
        shape.form.turn == arrays::LeafForm::Turn::kBits && page.encoding == PageHeader::kRle;
    const bool isPacked = shape.isInteger && page.encoding == PageHeader::kDeltaBinaryPacked;
    const bool hasLengths = shape.isText() && page.encoding == PageHeader::kDeltaLengthByteArray;
    if ((!isDictionary && !isRle && !isPacked && !hasLengths &&
         page.encoding != PageHeader::kPlain) ||
        (shape.maxDefinition > 0 && page.definitionEncoding != PageHeader::kRle) ||
        (shape.isList && page.repetitionEncoding != PageHeader::kRle)) {
        return false;
    }
    const std::int64_t count = page.numValues;
    ASSIGN_OR_RETURN(arrays::ByteSpan rest, pages_.body());
    arrays::ByteSpan repetition, definition;
    if (page.type == PageHeader::kDataV2) {
        repetition = {rest.begin, rest.begin + page.repetitionBytes};
        definition = {repetition.end, repetition.end + page.definitionBytes};
        rest.begin = definition.end;
    } else if ((shape.isList && !takeLevels(rest, repetition)) ||
               (shape.maxDefinition > 0 && !takeLevels(rest, definition))) {
        return damaged("a page shorter than its levels");
    }
    PageValues values;
    arrays::ByteSpan texts = isDictionary ? dictionaryBytes_ : rest;
    arrays::ByteSpan bits;
    if (isRle        ? !takeLevels(rest, bits)
        : isPacked   ? !unpackDeltas(rest, count, shape.width, pageWords_, rest)
        : hasLengths ? !unpackLengths(rest, count, pageWords_, rest, texts)
                     : !isDictionary && shape.form.isUnpacked() && !toWords(shape, count, rest)) {
        return damaged("a page shorter than its values");
    }
    if (isRle) {
        values.openBits(bits);
    } else if (!values.open(isDictionary, rest, dictionary_)) {
        return damaged("dictionary indices");
    }
    if (shape.isList) {
        return readList(page, shape, {repetition, definition}, values, target);
    }
    if (shape.isText()) {
        return readTexts(shape, definition, values, count, texts, target);
    }
    return readNumbers(shape, definition, values, count, target);
}

Result<bool> PageDecoder::readNumbers(const Shape& shape, arrays::ByteSpan levels,
                                      PageValues& values, std::int64_t count, Target& target) {
    RETURN_IF_ERROR(allocateNumbers(shape, values.isDictionary(), target));
    bool isFine = false;
    if (target.numbers) {
        values.giveIndices();
        isFine =
            readFlat(shape, levels, values, count, target, target.numbers->codes() + target.rows);
    } else if (shape.width == 4) {
        isFine = readFlat(shape, levels, values, count, target,
                          wordsOf<std::uint32_t>(target.values) + target.rows);
    } else {
        isFine = readFlat(shape, levels, values, count, target,
                          wordsOf<std::uint64_t>(target.values) + target.rows);
    }
    return isFine ? Result<bool>(true) : misread();
}

// Writes codes directly; collects texts as spans of the page, which are then copied together.
Result<bool> PageDecoder::readTexts(const Shape& shape, arrays::ByteSpan levels, PageValues& values,
                                    std::int64_t count, arrays::ByteSpan page, Target& target) {
    if (!target.texts && !target.coded) {
        RETURN_IF_ERROR(allocateTexts(shape, values.isDictionary(), target));
    }
    if (target.coded && values.isDictionary()) {
        values.giveIndices();
        return readFlat(shape, levels, values, count, target, target.coded->codes() + target.rows)
                   ? Result<bool>(true)
                   : misread();
    }
    const std::int64_t written = target.rows;
    std::uint64_t* words = nullptr;
    if (target.coded) {
        plainTexts_.resize(static_cast<std::size_t>(count));
        words = plainTexts_.data();
    } else {
        words = wordsOf<std::uint64_t>(target.values) + written;
    }
    if (!readFlat(shape, levels, values, count, target, words)) {
        return misread();
    }
    auto* const spans = reinterpret_cast<arrays::TextSpan*>(words);
    const std::int64_t rows = target.rows - written;
    RETURN_IF_ERROR(target.coded ? target.coded->addPlain(page, spans, rows, written)
                                 : target.texts->append(page, spans, rows));
    return true;
}

// Converts a plain page of bools or texts to a plain page of words.
bool PageDecoder::toWords(const Shape& shape, std::int64_t count, arrays::ByteSpan& page) {
    const arrays::ByteSpan stored = page;
    return arrays::unpackPlain(shape.form, stored, count, pageWords_, page);
}

template <class T>
bool PageDecoder::readFlat(const Shape& shape, arrays::ByteSpan levels, PageValues& values,
                           std::int64_t count, Target& target, T* out) {
    if (count > target.rowsMost - target.seen) {
        return false;
    }
    const std::int64_t first = target.seen, wanted = target.walk.peek(first, count);
    target.seen += count;
    if (wanted == 0) {
        return true;
    }
    bool isAll = true;
    if (shape.maxDefinition > 0 && !areAll(levels, shape.maxDefinition, count, isAll)) {
        return false;
    }
    std::int64_t present = count;
    if (!isAll && !(shape.maxDefinition == 1 ? bitmapOf(levels, count, valid_, present)
                                             : bitmapOfDeep(shape, levels, count, present))) {
        return false;
    }
    const std::int64_t written = target.rows;
    target.rows += wanted;
    if (wanted == count) {
        target.walk.pass(count);
        return isAll ? values.read(count, out) : readNullable(values, count, present, target, out);
    }
    const auto places = target.walk.take(first, count);
    return isAll ? values.pick(places, count, out)
                 : pickNullable(values, places, present, written, target, out);
}

// Inside structs a value exists if its level is the highest one.
bool PageDecoder::bitmapOfDeep(const Shape& shape, arrays::ByteSpan levels, std::int64_t count,
                               std::int64_t& present) {
    if (!unpackLevels(levels, shape.maxDefinition, count, definition_)) {
        return false;
    }
    valid_.assign(static_cast<std::size_t>(count / 64 + 2), 0);
    present = 0;
    const auto most = static_cast<std::uint32_t>(shape.maxDefinition);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t isValid = definition_[static_cast<std::size_t>(i)] == most ? 1 : 0;
        valid_[static_cast<std::size_t>(i >> 6)] |= isValid << (i & 63);
        present += static_cast<std::int64_t>(isValid);
    }
    return true;
}

template <class T>
bool PageDecoder::readNullable(PageValues& values, std::int64_t count, std::int64_t present,
                               Target& target, T* out) {
    dense_.resize((static_cast<std::size_t>(present) + kSpreadAhead) * sizeof(T) / 8 + 1);
    T* const dense = reinterpret_cast<T*>(dense_.data());
    if (!values.read(present, dense)) {
        return false;
    }
    spread(valid_, count, dense, target.none<T>(), out);
    if (!target.coded) {
        copyBits(valid_, count, target.rows - count, target.validity->mutable_data());
    }
    target.nulls += count - present;
    return true;
}

// Picks the wanted values of a page with nulls.
template <class T>
bool PageDecoder::pickNullable(PageValues& values, std::span<const std::int64_t> places,
                               std::int64_t present, std::int64_t written, Target& target, T* out) {
    Rank rank(valid_);
    picks_.clear();
    for (const std::int64_t place : places) {
        if (isSet(valid_, place)) {
            picks_.push_back(rank.before(place));
        }
    }
    dense_.resize(picks_.size() * sizeof(T) / 8 + 2);
    const T* dense = reinterpret_cast<const T*>(dense_.data());
    if (!values.pick(std::span<const std::int64_t>(picks_), present,
                     reinterpret_cast<T*>(dense_.data()))) {
        return false;
    }
    std::uint8_t* const validity = target.validity->mutable_data();
    for (const std::int64_t place : places) {
        const bool isValid = isSet(valid_, place);
        *out++ = isValid ? *dense++ : target.none<T>();
        if (!isValid && !target.coded) {
            validity[written >> 3] &= static_cast<std::uint8_t>(~(1U << (written & 7)));
        }
        target.nulls += isValid ? 0 : 1;
        ++written;
    }
    return true;
}

Result<bool> PageDecoder::readList(const PageHeader& page, const Shape& shape, PageLevels levels,
                                   PageValues& values, Target& target) {
    const auto [repetition, definition] = levels;
    const std::int64_t count = page.numValues;
    bool isAll = true;
    if (!areAll(definition, shape.maxDefinition, count, isAll)) {
        return damaged("definition levels");
    }
    pageRows_.starts.clear();
    pageRows_.isNull.clear();
    pageRows_.lead = 0;
    if (isAll) {
        if (!pageRows_.addStarts(repetition, count)) {
            return damaged("repetition levels");
        }
    } else {
        ASSIGN_OR_RETURN(const bool isRead, walkLevels(shape, repetition, definition, count));
        if (!isRead) {
            return false;
        }
    }
    if (pageRows_.count() > target.rowsMost - target.seen) {
        return damaged("more rows than the footer says");
    }
    if (page.numRows >= 0 && page.numRows != pageRows_.count()) {
        return damaged("a page header that counts other rows than its levels");
    }
    RETURN_IF_ERROR(target.lists->addPage(values, pageRows_, target.seen, target.walk));
    target.seen += pageRows_.count();
    return true;
}

// Lists that are null or empty take a level but no value. False: this decoder does not support it.
Result<bool> PageDecoder::walkLevels(const Shape& shape, arrays::ByteSpan repetition,
                                     arrays::ByteSpan definition, std::int64_t count) {
    if (!unpackLevels(repetition, 1, count, repetition_) ||
        !unpackLevels(definition, shape.maxDefinition, count, definition_)) {
        return damaged("levels");
    }
    const auto most = static_cast<std::uint32_t>(shape.maxDefinition);
    const auto empty = static_cast<std::uint32_t>(shape.emptyDefinition);
    std::int32_t values = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const bool isItem = definition_[i] == most;
        if (shape.hasNullItems && definition_[i] + 1 == most) {
            return false;  // a null inside a list
        }
        if (repetition_[i] == 0) {
            pageRows_.starts.push_back(values);
            pageRows_.isNull.push_back(definition_[i] < empty ? 1 : 0);
        } else if (!isItem) {
            return damaged("levels that contradict each other");
        }
        values += isItem ? 1 : 0;
    }
    pageRows_.lead = pageRows_.starts.empty() ? values : pageRows_.starts.front();
    pageRows_.starts.push_back(values);
    return true;
}

}  // namespace millrace::pages
