#include "backend/recipe/join_table.h"

#include <bit>

#include <arrow/scalar.h>

#include "backend/core/philox.h"
#include "backend/recipe/evaluator.h"
#include "backend/recipe/value_reader.h"
#include "backend/spec/expression.h"

namespace millrace::recipe {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finisher
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

bool isIntegerLike(const spec::DataType& type) {
    return type.isInteger() || type.isTemporal() || type.isBool();
}

std::string_view viewOf(const CanonicalBytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()};
}

/// The canonical bytes of one row's key; false when a part is null.
bool keyBytes(const std::vector<ValueReader>& readers, std::int64_t row, CanonicalBytes& bytes) {
    bytes.clear();
    for (const ValueReader& reader : readers) {
        if (reader.isNull(row)) {
            return false;
        }
        reader.append(row, bytes);
    }
    return true;
}

Result<std::vector<ValueReader>> readersOf(const std::vector<ArrayPtr>& columns) {
    std::vector<ValueReader> readers;
    for (const ArrayPtr& column : columns) {
        ASSIGN_OR_RETURN(const ValueReader reader, ValueReader::of(*column));
        readers.push_back(reader);
    }
    return readers;
}

}  // namespace

void JoinTable::makeSlots(std::int64_t rows) {
    const auto wanted = static_cast<std::uint64_t>(rows) * 2 + 8;
    slots_.assign(std::bit_ceil(wanted), Slot{});
    mask_ = slots_.size() - 1;
}

std::string_view JoinTable::bytesOf(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    const std::uint64_t begin = at == 0 ? 0 : arenaEnds_[at - 1];
    return std::string_view(arena_).substr(begin, arenaEnds_[at] - begin);
}

std::size_t JoinTable::slotOf(std::uint64_t key, std::string_view bytes) const {
    std::uint64_t at = mixed(key) & mask_;
    while (slots_[at].row >= 0 &&
           (slots_[at].key != key || (!isInteger_ && bytesOf(slots_[at].row) != bytes))) {
        at = (at + 1) & mask_;
    }
    return at;
}

Status JoinTable::duplicate(const std::string& name, const std::vector<ArrayPtr>& keys,
                            std::int64_t first, std::int64_t second) const {
    std::string shown;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto scalar = keys[i]->GetScalar(second);
        strAppend(&shown, i == 0 ? "" : ", ", specs_[i].right, " = ",
                  scalar.ok() ? (*scalar)->ToString() : "?");
    }
    return invalidArgument(name, ": the key ", shown, " occurs twice, in rows ", first + 1, " and ",
                           second + 1, "; on_duplicate: first takes the first");
}

Status JoinTable::insertIntegers(const std::string& name, const arrow::Array& keys,
                                 bool isFirstTaken) {
    ASSIGN_OR_RETURN(const ValueReader reader, ValueReader::of(keys));
    for (std::int64_t row = 0; row < keys.length(); ++row) {
        if (reader.isNull(row)) {
            continue;
        }
        const auto key = static_cast<std::uint64_t>(reader.integer(row));
        Slot& slot = slots_[slotOf(key, {})];
        if (slot.row < 0) {
            slot = {key, row};
        } else if (!isFirstTaken) {
            return duplicate(name, {keys.Slice(0)}, slot.row, row);
        }
    }
    return okStatus();
}

Status JoinTable::insertBytes(const std::string& name, const std::vector<ArrayPtr>& keys,
                              bool isFirstTaken) {
    ASSIGN_OR_RETURN(const std::vector<ValueReader> readers, readersOf(keys));
    CanonicalBytes bytes;
    for (std::int64_t row = 0; row < keys[0]->length(); ++row) {
        const bool isKey = keyBytes(readers, row, bytes);
        const std::string_view view = isKey ? viewOf(bytes) : std::string_view();
        arena_.append(view);
        arenaEnds_.push_back(arena_.size());
        if (!isKey) {
            continue;
        }
        const std::uint64_t hash = bytes.hash();
        Slot& slot = slots_[slotOf(hash, view)];
        if (slot.row < 0) {
            slot = {hash, row};
        } else if (!isFirstTaken) {
            return duplicate(name, keys, slot.row, row);
        }
    }
    return okStatus();
}

Result<std::shared_ptr<const JoinTable>> JoinTable::make(const std::string& name,
                                                         const std::vector<JoinKeySpec>& specs,
                                                         std::vector<ArrayPtr> keys,
                                                         bool isFirstTaken) {
    std::shared_ptr<JoinTable> table(new JoinTable);
    table->specs_ = specs;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        spec::DataType common;
        if (!spec::commonType(specs[i].leftType, specs[i].rightType, common) || common.isList) {
            return invalidArgument(name, ": ", specs[i].left, " is ", specs[i].leftType.name(),
                                   ", ", specs[i].right, " ", specs[i].rightType.name(),
                                   "; a key's columns must be of one kind");
        }
        if (common.kind == spec::TypeKind::kDecimal) {
            common = {spec::TypeKind::kDouble};
        }
        ASSIGN_OR_RETURN(keys[i], castValues(keys[i], specs[i].rightType, common, false));
        table->types_.push_back(common);
    }
    table->isInteger_ = specs.size() == 1 && isIntegerLike(table->types_[0]);
    table->makeSlots(keys[0]->length());
    if (table->isInteger_) {
        RETURN_IF_ERROR(table->insertIntegers(name, *keys[0], isFirstTaken));
    } else {
        RETURN_IF_ERROR(table->insertBytes(name, keys, isFirstTaken));
    }
    return std::shared_ptr<const JoinTable>(std::move(table));
}

Result<std::vector<std::int64_t>> JoinTable::find(const std::vector<ArrayPtr>& left) const {
    std::vector<ArrayPtr> keys;
    for (std::size_t i = 0; i < left.size(); ++i) {
        ASSIGN_OR_RETURN(ArrayPtr key,
                         castValues(left[i], specs_[i].leftType, types_[i], /*isTry=*/true));
        keys.push_back(std::move(key));
    }
    ASSIGN_OR_RETURN(const std::vector<ValueReader> readers, readersOf(keys));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(keys[0]->length()), -1);
    CanonicalBytes bytes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (isInteger_) {
            if (!readers[0].isNull(row)) {
                rows[i] =
                    slots_[slotOf(static_cast<std::uint64_t>(readers[0].integer(row)), {})].row;
            }
        } else if (keyBytes(readers, row, bytes)) {
            rows[i] = slots_[slotOf(bytes.hash(), viewOf(bytes))].row;
        }
    }
    return rows;
}

std::int64_t JoinTable::bytes() const {
    return static_cast<std::int64_t>(slots_.size() * sizeof(Slot) + arena_.size() +
                                     arenaEnds_.size() * sizeof(std::uint64_t));
}

}  // namespace millrace::recipe
