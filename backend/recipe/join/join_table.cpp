#include "backend/recipe/join/join_table.h"

#include <algorithm>
#include <numeric>

#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/scalar.h>
#include <arrow/util/byte_size.h>

#include "backend/arrays/decimals.h"
#include "backend/core/parallel.h"
#include "backend/eval/evaluator.h"
#include "backend/expr/expression.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr std::int64_t kPieceRows = std::int64_t{1} << 15;  ///< rows that a thread takes at a time

bool isIntegerLike(const expr::DataType& type) {
    return type.isInteger() || type.isTemporal() || type.isBool();
}

/// Expands dictionary-coded texts to plain texts.
Result<ArrayPtr> withoutDictionary(const ArrayPtr& column) {
    if (column->type_id() != arrow::Type::DICTIONARY) {
        return column;
    }
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*column);
    return eval::takeRows(coded.dictionary(), coded.indices());
}

/// Converts a key's column to the type common to both sides. Decimals of two scales are compared by
/// their digits: as doubles, two long numbers could be equal.
Result<ArrayPtr> keyOf(const ArrayPtr& stored, const expr::DataType& from,
                       const expr::DataType& common, bool isTry) {
    if (stored->type_id() == arrow::Type::DICTIONARY && common.isString()) {
        return stored;
    }
    ASSIGN_OR_RETURN(const ArrayPtr column, withoutDictionary(stored));
    if (common.kind == expr::TypeKind::kDecimal && column->type_id() == arrow::Type::DECIMAL128) {
        return arrays::decimalKeys(*column, arrow::default_memory_pool());
    }
    const bool isDecimal = common.kind == expr::TypeKind::kDecimal;
    return eval::castValues(column, from,
                            isDecimal ? expr::DataType{expr::TypeKind::kString} : common, isTry);
}

const arrow::StringArray& textsOf(const ArrayPtr& column) {
    return static_cast<const arrow::StringArray&>(*column);
}

/// Calls `body(from, rows)` for pieces of the rows.
template <class Body>
Status forPieces(std::int64_t rows, int threads, const Body& body) {
    const auto pieces = static_cast<std::size_t>((rows + kPieceRows - 1) / kPieceRows);
    return parallelFor(pieces, threads, "table", [&](std::size_t i) {
        const std::int64_t from = static_cast<std::int64_t>(i) * kPieceRows;
        return body(from, std::min(kPieceRows, rows - from));
    });
}

struct Bounds {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
};

Bounds boundsOf(const arrow::Array& keys) {
    return withIntegers(keys, [](const auto& rows) {
        Bounds bounds;
        for (std::int64_t row = 0; row < rows.size(); ++row) {
            const auto value = static_cast<std::int64_t>(rows.of(row));
            bounds.least = rows.isKey(row) ? std::min(bounds.least, value) : bounds.least;
            bounds.most = rows.isKey(row) ? std::max(bounds.most, value) : bounds.most;
        }
        return bounds;
    });
}

std::int64_t bytesOf(std::uint64_t span, JoinTable::Finds finds) {
    return static_cast<std::int64_t>(finds == JoinTable::Finds::kMember ? (span / 64 + 1) * 8
                                                                        : (span + 1) * 4);
}

}  // namespace

Status JoinTable::duplicate(const Options& options, const std::vector<ArrayPtr>& keys,
                            EqualRows rows) const {
    std::string shown;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto scalar = keys[i]->GetScalar(rows.second);
        strAppend(&shown, i == 0 ? "" : ", ", specs_[i].right, " = ",
                  scalar.ok() ? (*scalar)->ToString() : "?");
    }
    return invalidArgument(options.name, ": the key ", shown, " occurs twice, in rows ",
                           std::int64_t{rows.first} + 1, " and ", std::int64_t{rows.second} + 1,
                           "; on_duplicate: first takes the first");
}

/// Whether an array over the keys' range takes no more memory than buckets.
bool JoinTable::liesClose(const Options& options, const ArrayPtr& keys) {
    const Bounds bounds = boundsOf(*keys);
    const bool isEmpty = bounds.least > bounds.most;
    least_ = isEmpty ? 0 : static_cast<std::uint64_t>(bounds.least);
    span_ = isEmpty ? 0 : static_cast<std::uint64_t>(bounds.most) - least_;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    return span_ < kMost && bytesOf(span_, options.finds) <= bucketBytes(keys->length());
}

Status JoinTable::fillByValue(const Options& options, const ArrayPtr& keys) {
    if (options.finds == Finds::kMember) {
        isMember_.assign(static_cast<std::size_t>(span_ / 64 + 1), 0);
        withIntegers(*keys, [this](const auto& rows) {
            for (std::int64_t row = 0; row < rows.size(); ++row) {
                const std::uint64_t at = rows.isKey(row) ? rows.of(row) - least_ : 0;
                isMember_[at / 64] |= std::uint64_t{rows.isKey(row)} << (at % 64);
            }
            return 0;
        });
        return okStatus();
    }
    byValue_.assign(static_cast<std::size_t>(span_ + 1), kNoRow);
    const bool isNumbered = options.finds == Finds::kNumber;
    numKeys_ = isNumbered ? 0 : numKeys_;
    const EqualRows equal = withIntegers(*keys, [&](const auto& rows) {
        for (std::int64_t row = 0; row < rows.size(); ++row) {
            if (!rows.isKey(row)) {
                continue;
            }
            std::uint32_t& known = byValue_[rows.of(row) - least_];
            if (known == kNoRow) {
                known = static_cast<std::uint32_t>(isNumbered ? numKeys_++ : row);
            } else if (!options.isFirstTaken) {
                return EqualRows{known, static_cast<std::uint32_t>(row)};
            }
        }
        return EqualRows{};
    });
    return equal.first == kNoRow ? okStatus() : duplicate(options, {keys}, equal);
}

/// Stores the canonical bytes of all rows, row by row.
Status JoinTable::keepTuples(const Options& options, const std::vector<ArrayPtr>& keys) {
    const auto rows = keys[0]->length();
    arenaEnds_.assign(static_cast<std::size_t>(rows), 0);
    const auto forTuples = [&](std::int64_t from, std::int64_t count, auto each) -> Status {
        ASSIGN_OR_RETURN(TupleRows tuples, TupleRows::of(keys));
        KeyBlock<> block;
        for (std::int64_t done = 0; done < count; done += kKeyBlock) {
            const auto n =
                static_cast<std::size_t>(std::min<std::int64_t>(kKeyBlock, count - done));
            tuples.load(from + done, n, block);
            for (std::size_t i = 0; i < n; ++i) {
                each(static_cast<std::size_t>(from + done) + i, tuples.bytes(i));
            }
        }
        return okStatus();
    };
    RETURN_IF_ERROR(forPieces(rows, options.threads, [&](std::int64_t from, std::int64_t count) {
        return forTuples(from, count, [this](std::size_t row, std::string_view bytes) {
            arenaEnds_[row] = bytes.size();
        });
    }));
    std::partial_sum(arenaEnds_.begin(), arenaEnds_.end(), arenaEnds_.begin());
    const std::size_t bytes = arenaEnds_.empty() ? 0 : arenaEnds_.back();
    RETURN_IF_ERROR(reserve(
        options, bucketBytes(rows, options.finds) + rows * 8 + static_cast<std::int64_t>(bytes)));
    arena_.resize(bytes);
    return forPieces(rows, options.threads, [&](std::int64_t from, std::int64_t count) {
        return forTuples(from, count, [this](std::size_t row, std::string_view key) {
            std::ranges::copy(key, arena_.data() + (arenaEnds_[row] - key.size()));
        });
    });
}

/// Fills short-text buckets; does not keep the column.
Status JoinTable::fillShort(const Options& options, const ArrayPtr& keys) {
    const bool hasFilter = options.finds == Finds::kMember;
    const std::int64_t rows = keys->length();
    RETURN_IF_ERROR(reserve(options, KeyBuckets<ShortKey>::bytesFor(rows, hasFilter)));
    RETURN_IF_ERROR(shorts_.make(rows, options.name, hasFilter));
    KeyBuckets<ShortKey>::Source source;
    source.load = [&](std::int64_t from, std::size_t n, KeyBlock<ShortKey>& block) {
        ShortTextRows(form_, textsOf(keys)).load(from, n, block);
    };
    const EqualRows equal = shorts_.insert(source, rows, options.threads, options.isFirstTaken);
    return equal.first == kNoRow ? okStatus() : duplicate(options, {keys}, equal);
}

Status JoinTable::fillBuckets(const Options& options, const std::vector<ArrayPtr>& keys) {
    if (kind_ == Kind::kShortTexts) {
        return fillShort(options, keys[0]);
    }
    KeyBuckets<>::Source source;
    std::optional<StoredKeys> stored;
    const bool hasFilter = options.finds == Finds::kMember;
    const std::int64_t bytes = bucketBytes(keys[0]->length(), options.finds);
    if (kind_ == Kind::kIntegers) {
        RETURN_IF_ERROR(reserve(options, bytes));
        source.load = [&](std::int64_t from, std::size_t n, KeyBlock<>& block) {
            withIntegers(*keys[0], [&](const auto& rows) {
                rows.load(from, n, block);
                return 0;
            });
        };
    } else if (kind_ == Kind::kTexts) {
        texts_ = keys[0];
        RETURN_IF_ERROR(reserve(options, bytes + arrow::util::TotalBufferSize(*texts_)));
        stored.emplace(textsOf(texts_));
        source.load = [&](std::int64_t from, std::size_t n, KeyBlock<>& block) {
            TextRows(textsOf(texts_)).load(from, n, block);
        };
    } else {
        RETURN_IF_ERROR(keepTuples(options, keys));
        stored.emplace(arena_, arenaEnds_);
        source.load = [&](std::int64_t from, std::size_t n, KeyBlock<>& block) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::string_view key =
                    stored->of(static_cast<std::uint32_t>(from) + static_cast<std::uint32_t>(i));
                block.isKey[i] = !key.empty();
                block.keys[i] = hashOfKey(key);
            }
        };
    }
    if (stored) {
        source.isEqual = [&](std::uint32_t row, std::uint32_t other) {
            return stored->isEqual(row, stored->of(other));
        };
    }
    RETURN_IF_ERROR(buckets_.make(keys[0]->length(), options.name, hasFilter));
    const EqualRows equal =
        buckets_.insert(source, keys[0]->length(), options.threads, options.isFirstTaken);
    return equal.first == kNoRow ? okStatus() : duplicate(options, keys, equal);
}

Status JoinTable::fillAgain(const Options& options, const std::vector<ArrayPtr>& keys) {
    const std::int64_t rows = keys[0]->length();
    const std::vector<std::int64_t> firsts =
        kind_ == Kind::kShortTexts ? shorts_.firstRows(rows) : buckets_.firstRows(rows);
    buckets_ = {};
    shorts_ = {};
    arena_ = {};
    arenaEnds_ = {};
    ASSIGN_OR_RETURN(const ArrayPtr indices, eval::indexArray(firsts, false));
    std::vector<ArrayPtr> different;
    for (const ArrayPtr& key : keys) {
        ASSIGN_OR_RETURN(ArrayPtr values, eval::takeRows(key, indices));
        different.push_back(std::move(values));
    }
    numKeys_ = different[0]->length();
    return fillBuckets(options, different);
}

Status JoinTable::reserve(const Options& options, std::int64_t bytes) {
    reservation_.release();
    if (options.budget != nullptr) {
        ASSIGN_OR_RETURN(reservation_, options.budget->reserve(bytes, options.name));
    }
    return okStatus();
}

Status JoinTable::bringToCommonTypes(const Options& options, std::vector<ArrayPtr>& keys) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        expr::DataType common;
        if (!expr::commonType(specs_[i].leftType, specs_[i].rightType, common) || common.isList) {
            return invalidArgument(options.name, ": ", specs_[i].left, " is ",
                                   specs_[i].leftType.name(), ", ", specs_[i].right, " ",
                                   specs_[i].rightType.name(),
                                   "; a key's columns must be of one kind");
        }
        ASSIGN_OR_RETURN(keys[i], keyOf(keys[i], specs_[i].rightType, common, false));
        ASSIGN_OR_RETURN(keys[i], withoutDictionary(keys[i]));
        types_.push_back(common);
    }
    return okStatus();
}

Status JoinTable::fill(const Options& options, std::vector<ArrayPtr> keys) {
    RETURN_IF_ERROR(bringToCommonTypes(options, keys));
    const std::int64_t rows = keys[0]->length();
    if (rows >= static_cast<std::int64_t>(kNoRow)) {
        return invalidArgument(options.name, ": ", rows,
                               " rows are too many; a side table has at most 2^32 - 2");
    }
    numKeys_ = rows;
    const bool isOne = specs_.size() == 1;
    if (isOne && isIntegerLike(types_[0])) {
        if (liesClose(options, keys[0])) {
            kind_ = Kind::kByValue;
            RETURN_IF_ERROR(reserve(options, bytesOf(span_, options.finds)));
            return fillByValue(options, keys[0]);
        }
        kind_ = Kind::kIntegers;
    } else if (isOne && keys[0]->type_id() == arrow::Type::STRING) {
        const std::optional<ShortForm> form = ShortForm::of(textsOf(keys[0]), options.threads);
        kind_ = form ? Kind::kShortTexts : Kind::kTexts;
        form_ = form.value_or(ShortForm{});
    } else {
        kind_ = Kind::kTuples;
    }
    RETURN_IF_ERROR(fillBuckets(options, keys));
    // If most rows repeat a key, one row per key is enough.
    if (options.finds != Finds::kRow && buckets_.numKeys() + shorts_.numKeys() <= rows / 2) {
        return fillAgain(options, keys);
    }
    return okStatus();
}

Result<std::shared_ptr<const JoinTable>> JoinTable::make(const Options& options,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         std::vector<ArrayPtr> keys) {
    std::shared_ptr<JoinTable> table(new JoinTable);
    table->specs_ = specs;
    Options made = options;
    made.isFirstTaken = options.isFirstTaken || options.finds != Finds::kRow;
    RETURN_IF_ERROR(table->fill(made, std::move(keys)));
    return std::shared_ptr<const JoinTable>(std::move(table));
}

Result<std::vector<std::int64_t>> JoinTable::findByValue(const ArrayPtr& keys) const {
    std::vector<std::int64_t> found(static_cast<std::size_t>(keys->length()));
    withIntegers(*keys, [&](const auto& rows) {
        for (std::int64_t row = 0; row < rows.size(); ++row) {
            const std::uint64_t at = rows.of(row) - least_;
            const bool isIn = at <= span_ && rows.isKey(row);
            const std::uint64_t safe = isIn ? at : 0;
            const bool isKnown =
                isIn && (byValue_.empty() ? (isMember_[safe / 64] >> (safe % 64) & 1) != 0
                                          : byValue_[safe] != kNoRow);
            found[static_cast<std::size_t>(row)] = !isKnown ? -1
                                                   : byValue_.empty()
                                                       ? 0
                                                       : std::int64_t{byValue_[safe]};
        }
        return 0;
    });
    return found;
}

void JoinTable::lookUp(const arrow::StringArray& texts, const arrow::Int32Array* numbers,
                       std::vector<std::int64_t>& found) const {
    const auto rows = static_cast<std::int64_t>(found.size());
    if (kind_ == Kind::kShortTexts) {
        shorts_.find(ShortTextRows(form_, texts, numbers), rows, found.data());
        return;
    }
    const StoredKeys stored(textsOf(texts_));
    buckets_.find(TextRows(texts, numbers, &stored), rows, found.data());
}

Result<std::vector<std::int64_t>> JoinTable::findTexts(const ArrayPtr& keys) const {
    std::vector<std::int64_t> found(static_cast<std::size_t>(keys->length()));
    if (keys->type_id() != arrow::Type::DICTIONARY) {
        RETURN_IF_ERROR(eval::ValueReader::of(*keys).status());
        lookUp(textsOf(keys), nullptr, found);
        return found;
    }
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*keys);
    const auto& numbers = static_cast<const arrow::Int32Array&>(*coded.indices());
    const arrow::StringArray& texts = textsOf(coded.dictionary());
    if (texts.length() > keys->length()) {
        lookUp(texts, &numbers, found);
        return found;
    }
    ASSIGN_OR_RETURN(const std::vector<std::int64_t> byText, findTexts(coded.dictionary()));
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        found[i] = numbers.IsNull(row) ? -1 : byText[static_cast<std::size_t>(numbers.Value(row))];
    }
    return found;
}

Result<std::vector<std::int64_t>> JoinTable::findAll(const std::vector<ArrayPtr>& keys) const {
    if (kind_ == Kind::kByValue) {
        return findByValue(keys[0]);
    }
    if (kind_ == Kind::kTexts || kind_ == Kind::kShortTexts) {
        return findTexts(keys[0]);
    }
    std::vector<std::int64_t> found(static_cast<std::size_t>(keys[0]->length()));
    if (kind_ == Kind::kIntegers) {
        withIntegers(*keys[0], [&](const auto& rows) {
            buckets_.find(rows, rows.size(), found.data());
            return 0;
        });
        return found;
    }
    std::vector<ArrayPtr> columns;
    for (const ArrayPtr& key : keys) {
        ASSIGN_OR_RETURN(ArrayPtr column, withoutDictionary(key));
        columns.push_back(std::move(column));
    }
    const StoredKeys stored(arena_, arenaEnds_);
    ASSIGN_OR_RETURN(TupleRows asked, TupleRows::of(columns, &stored));
    buckets_.find(asked, columns[0]->length(), found.data());
    return found;
}

Result<std::vector<std::int64_t>> JoinTable::find(const std::vector<ArrayPtr>& left) const {
    std::vector<ArrayPtr> keys;
    for (std::size_t i = 0; i < left.size(); ++i) {
        ASSIGN_OR_RETURN(ArrayPtr key,
                         keyOf(left[i], specs_[i].leftType, types_[i], /*isTry=*/true));
        keys.push_back(std::move(key));
    }
    return findAll(keys);
}

Result<std::vector<std::int64_t>> JoinTable::findOwn(std::vector<ArrayPtr> keys) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSIGN_OR_RETURN(keys[i], keyOf(keys[i], specs_[i].rightType, types_[i], false));
    }
    return findAll(keys);
}

std::int64_t JoinTable::bytes() const {
    return static_cast<std::int64_t>(byValue_.size() * 4 + isMember_.size() * 8 + arena_.size() +
                                     arenaEnds_.size() * 8) +
           buckets_.bytes() + shorts_.bytes() +
           (texts_ == nullptr ? 0 : arrow::util::TotalBufferSize(*texts_));
}

}  // namespace millrace::recipe
