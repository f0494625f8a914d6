#include "backend/recipe/join_table.h"

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include <arrow/array/array_primitive.h>
#include <arrow/scalar.h>

#include "backend/arrays/decimals.h"
#include "backend/core/philox.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/value_reader.h"
#include "backend/expr/expression.h"
#include "backend/recipe/row_keys.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr std::size_t kBlock = 32;  ///< keys whose buckets are fetched together
constexpr std::size_t kHugePage = std::size_t{1} << 21;

bool isIntegerLike(const expr::DataType& type) {
    return type.isInteger() || type.isTemporal() || type.isBool();
}

std::string_view viewOf(const CanonicalBytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()};
}

/// The canonical bytes of one row's key; false when a part is null.
bool keyBytes(const std::vector<eval::ValueReader>& readers, std::int64_t row,
              CanonicalBytes& bytes) {
    bytes.clear();
    for (const eval::ValueReader& reader : readers) {
        if (reader.isNull(row)) {
            return false;
        }
        reader.append(row, bytes);
    }
    return true;
}

Result<std::vector<eval::ValueReader>> readersOf(const std::vector<ArrayPtr>& columns) {
    std::vector<eval::ValueReader> readers;
    for (const ArrayPtr& column : columns) {
        ASSIGN_OR_RETURN(const eval::ValueReader reader, eval::ValueReader::of(*column));
        readers.push_back(reader);
    }
    return readers;
}

/// A key's column in the type of both sides. Decimals of two scales meet by their digits: doubles
/// would take two long numbers for one.
Result<ArrayPtr> keyOf(const ArrayPtr& column, const expr::DataType& from,
                       const expr::DataType& common, bool isTry) {
    if (common.kind == expr::TypeKind::kDecimal && column->type_id() == arrow::Type::DECIMAL128) {
        return arrays::decimalKeys(*column, arrow::default_memory_pool());
    }
    const bool isNull = common.kind == expr::TypeKind::kDecimal;
    return eval::castValues(column, from, isNull ? expr::DataType{expr::TypeKind::kString} : common,
                            isTry);
}

/// Calls `each(row, key)` for blocks of the rows that are not null, after `ahead(key)` of each.
template <class Ahead, class Each>
Status forKeys(const ArrayPtr& keys, Ahead ahead, Each each) {
    ASSIGN_OR_RETURN(const eval::ValueReader reader, eval::ValueReader::of(*keys));
    const bool isWide =
        keys->type_id() == arrow::Type::INT64 || keys->type_id() == arrow::Type::TIMESTAMP;
    const std::int64_t* wide =
        isWide ? static_cast<const arrow::Int64Array&>(*keys).raw_values() : nullptr;
    const bool hasNulls = keys->null_count() > 0;
    std::array<std::uint64_t, kBlock> values;
    std::array<std::int64_t, kBlock> rows;
    for (std::int64_t from = 0; from < keys->length();) {
        std::size_t n = 0;
        for (; from < keys->length() && n < kBlock; ++from) {
            if (hasNulls && reader.isNull(from)) {
                continue;
            }
            values[n] = static_cast<std::uint64_t>(isWide ? wide[from] : reader.integer(from));
            rows[n] = from;
            ahead(values[n++]);
        }
        for (std::size_t i = 0; i < n; ++i) {
            RETURN_IF_ERROR(each(rows[i], values[i]));
        }
    }
    return okStatus();
}

}  // namespace

void JoinTable::Free::operator()(Bucket* buckets) const {
    std::free(buckets);
}

/// Three of four places are taken, so that few keys spill into the next bucket.
std::size_t JoinTable::numBuckets(std::int64_t rows) {
    return static_cast<std::size_t>(rows) * 4 / (3 * kBucketKeys) + 2;
}

std::int64_t JoinTable::bucketBytes(std::int64_t rows) {
    return static_cast<std::int64_t>(numBuckets(rows) * sizeof(Bucket));
}

std::size_t JoinTable::bucketOf(std::uint64_t key) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>((static_cast<Wide>(mixed(key)) * numBuckets_) >> 64);
}

template <class IsEqual>
std::uint32_t JoinTable::find(std::uint64_t key, IsEqual isEqual) const {
    for (std::size_t at = bucketOf(key);; at = at + 1 == numBuckets_ ? 0 : at + 1) {
        const Bucket& bucket = buckets_.get()[at];
        for (std::uint32_t i = 0; i < bucket.count; ++i) {
            if (bucket.keys[i] == key && isEqual(bucket.rows[i])) {
                return bucket.rows[i];
            }
        }
        if (bucket.count < kBucketKeys) {
            return kNoRow;
        }
    }
}

template <class IsEqual>
std::uint32_t JoinTable::insert(std::uint64_t key, std::uint32_t row, IsEqual isEqual) {
    for (std::size_t at = bucketOf(key);; at = at + 1 == numBuckets_ ? 0 : at + 1) {
        Bucket& bucket = buckets_.get()[at];
        for (std::uint32_t i = 0; i < bucket.count; ++i) {
            if (bucket.keys[i] == key && isEqual(bucket.rows[i])) {
                return bucket.rows[i];
            }
        }
        if (bucket.count < kBucketKeys) {
            bucket.keys[bucket.count] = key;
            bucket.rows[bucket.count++] = row;
            return kNoRow;
        }
    }
}

std::string_view JoinTable::bytesOf(std::uint32_t row) const {
    const std::uint64_t begin = row == 0 ? 0 : arenaEnds_[row - 1];
    return std::string_view(arena_).substr(begin, arenaEnds_[row] - begin);
}

Status JoinTable::duplicate(const Options& options, const std::vector<ArrayPtr>& keys,
                            std::int64_t first, std::int64_t second) const {
    std::string shown;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto scalar = keys[i]->GetScalar(second);
        strAppend(&shown, i == 0 ? "" : ", ", specs_[i].right, " = ",
                  scalar.ok() ? (*scalar)->ToString() : "?");
    }
    return invalidArgument(options.name, ": the key ", shown, " occurs twice, in rows ", first + 1,
                           " and ", second + 1, "; on_duplicate: first takes the first");
}

Status JoinTable::insertIntegers(const Options& options, const ArrayPtr& keys) {
    return forKeys(
        keys, [this](std::uint64_t key) { prefetch(key); },
        [&](std::int64_t row, std::uint64_t key) {
            const std::uint32_t known =
                insert(key, static_cast<std::uint32_t>(row), [](std::uint32_t) { return true; });
            return known == kNoRow || options.isFirstTaken ? okStatus()
                                                           : duplicate(options, {keys}, known, row);
        });
}

Status JoinTable::insertBytes(const Options& options, const std::vector<ArrayPtr>& keys) {
    ASSIGN_OR_RETURN(const std::vector<eval::ValueReader> readers, readersOf(keys));
    CanonicalBytes bytes;
    arenaEnds_.reserve(static_cast<std::size_t>(keys[0]->length()));
    std::size_t total = 0;
    for (std::int64_t row = 0; row < keys[0]->length(); ++row) {
        total += keyBytes(readers, row, bytes) ? bytes.bytes().size() : 0;
    }
    if (options.budget != nullptr) {
        const auto all = reservation_.bytes() + static_cast<std::int64_t>(total);
        reservation_.release();
        ASSIGN_OR_RETURN(reservation_, options.budget->reserve(all, options.name));
    }
    arena_.reserve(total);
    for (std::int64_t row = 0; row < keys[0]->length(); ++row) {
        const bool isKey = keyBytes(readers, row, bytes);
        const std::string_view view = isKey ? viewOf(bytes) : std::string_view();
        arena_.append(view);
        arenaEnds_.push_back(arena_.size());
        if (!isKey) {
            continue;
        }
        const std::uint32_t known =
            insert(bytes.hash(), static_cast<std::uint32_t>(row),
                   [&](std::uint32_t other) { return bytesOf(other) == view; });
        if (known != kNoRow && !options.isFirstTaken) {
            return duplicate(options, keys, known, row);
        }
    }
    return okStatus();
}

Status JoinTable::reserve(const Options& options, std::int64_t rows) {
    if (rows >= static_cast<std::int64_t>(kNoRow)) {
        return invalidArgument(options.name, ": ", rows,
                               " rows are too many; a side table has at "
                               "most 2^32 - 2");
    }
    numBuckets_ = numBuckets(rows);
    if (options.budget != nullptr) {
        const std::int64_t ends = isInteger_ ? 0 : rows * 8;
        ASSIGN_OR_RETURN(reservation_,
                         options.budget->reserve(bucketBytes(rows) + ends, options.name));
    }
    const std::size_t bytes = numBuckets_ * sizeof(Bucket);
    // Looked up at random places: huge pages save half of the time.
    const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : sizeof(Bucket);
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    auto* memory = static_cast<Bucket*>(std::aligned_alloc(alignment, rounded));
    if (memory == nullptr) {
        return resourceExhausted(options.name, ": no memory for ", bytes, " bytes");
    }
    buckets_.reset(memory);
    if (alignment == kHugePage) {
        ::madvise(memory, rounded, MADV_HUGEPAGE);
    }
    std::memset(static_cast<void*>(memory), 0, bytes);
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
        types_.push_back(common);
    }
    isInteger_ = specs_.size() == 1 && isIntegerLike(types_[0]);
    return okStatus();
}

Result<std::shared_ptr<const JoinTable>> JoinTable::make(const Options& options,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         std::vector<ArrayPtr> keys) {
    std::shared_ptr<JoinTable> table(new JoinTable);
    table->specs_ = specs;
    RETURN_IF_ERROR(table->bringToCommonTypes(options, keys));
    RETURN_IF_ERROR(table->reserve(options, keys[0]->length()));
    RETURN_IF_ERROR(table->isInteger_ ? table->insertIntegers(options, keys[0])
                                      : table->insertBytes(options, keys));
    return std::shared_ptr<const JoinTable>(std::move(table));
}

Result<std::vector<std::int64_t>> JoinTable::findIntegers(const ArrayPtr& keys) const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(keys->length()), -1);
    RETURN_IF_ERROR(forKeys(
        keys, [this](std::uint64_t key) { prefetch(key); },
        [&](std::int64_t row, std::uint64_t key) {
            const std::uint32_t found = find(key, [](std::uint32_t) { return true; });
            rows[static_cast<std::size_t>(row)] = found == kNoRow ? -1 : std::int64_t{found};
            return okStatus();
        }));
    return rows;
}

Result<std::vector<std::int64_t>> JoinTable::findBytes(const std::vector<ArrayPtr>& keys) const {
    ASSIGN_OR_RETURN(const std::vector<eval::ValueReader> readers, readersOf(keys));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(keys[0]->length()), -1);
    CanonicalBytes bytes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!keyBytes(readers, static_cast<std::int64_t>(i), bytes)) {
            continue;
        }
        const std::string_view view = viewOf(bytes);
        const std::uint32_t found =
            find(bytes.hash(), [&](std::uint32_t other) { return bytesOf(other) == view; });
        rows[i] = found == kNoRow ? -1 : std::int64_t{found};
    }
    return rows;
}

Result<std::vector<std::int64_t>> JoinTable::find(const std::vector<ArrayPtr>& left) const {
    std::vector<ArrayPtr> keys;
    for (std::size_t i = 0; i < left.size(); ++i) {
        ASSIGN_OR_RETURN(ArrayPtr key,
                         keyOf(left[i], specs_[i].leftType, types_[i], /*isTry=*/true));
        keys.push_back(std::move(key));
    }
    return isInteger_ ? findIntegers(keys[0]) : findBytes(keys);
}

Result<std::vector<std::int64_t>> JoinTable::findOwn(std::vector<ArrayPtr> keys) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSIGN_OR_RETURN(keys[i], keyOf(keys[i], specs_[i].rightType, types_[i], false));
    }
    return isInteger_ ? findIntegers(keys[0]) : findBytes(keys);
}

std::int64_t JoinTable::bytes() const {
    return static_cast<std::int64_t>(numBuckets_ * sizeof(Bucket) + arena_.size() +
                                     arenaEnds_.size() * sizeof(std::uint64_t));
}

}  // namespace millrace::recipe
