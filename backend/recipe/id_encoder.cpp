#include "backend/recipe/id_encoder.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

#include "backend/dataset/arrow_bridge.h"
#include "backend/recipe/evaluator.h"
#include "backend/recipe/row_set.h"
#include "backend/recipe/steps.h"
#include "backend/recipe/value_reader.h"

namespace millrace::recipe {
namespace {

/// The same lists with other elements (one for each element of `list.values()`).
ArrayPtr withElements(const ArrayPtr& lists, const ArrayPtr& elements) {
    if (lists->type_id() == arrow::Type::FIXED_SIZE_LIST) {
        const auto& list = static_cast<const arrow::FixedSizeListArray&>(*lists);
        return std::make_shared<arrow::FixedSizeListArray>(
            arrow::fixed_size_list(elements->type(), list.list_type()->list_size()), list.length(),
            elements, list.null_bitmap(), list.null_count(), list.offset());
    }
    const auto& list = static_cast<const arrow::ListArray&>(*lists);
    return std::make_shared<arrow::ListArray>(arrow::list(elements->type()), list.length(),
                                              list.value_offsets(), elements, list.null_bitmap(),
                                              list.null_count(), list.offset());
}

ArrayPtr elementsOf(const ArrayPtr& lists) {
    return lists->type_id() == arrow::Type::FIXED_SIZE_LIST
               ? static_cast<const arrow::FixedSizeListArray&>(*lists).values()
               : static_cast<const arrow::ListArray&>(*lists).values();
}

bool isList(const ArrayPtr& values) {
    return values->type_id() == arrow::Type::LIST ||
           values->type_id() == arrow::Type::FIXED_SIZE_LIST;
}

}  // namespace

Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed) {
    if (isList(values)) {
        ASSIGN_OR_RETURN(const ArrayPtr elements, hashIds(elementsOf(values), buckets, seed));
        return withElements(values, elements);
    }
    return hashScalarIds(values, buckets, seed);
}

Result<IdEncoder> IdEncoder::make(const spec::RunSpec& spec, const std::vector<spec::Step>& steps,
                                  const std::string& feature, const spec::DataType& type,
                                  const TableSource& tables) {
    IdEncoder encoder;
    if (spec::isMadeId(steps, feature)) {
        return encoder;
    }
    for (const auto& [name, embedding] : spec.embeddings) {
        const auto& features = embedding.features;
        if (std::find(features.begin(), features.end(), feature) == features.end()) {
            continue;
        }
        encoder.rows_ = embedding.rows;
        if (embedding.vocabulary.has_value()) {
            const std::string& path = embedding.vocabulary->table;
            const std::string& column = embedding.vocabulary->column;
            ASSIGN_OR_RETURN(const spec::Schema schema, tables.schema(path));
            const spec::Field* field = schema.find(column);
            if (field == nullptr) {
                return invalidArgument("embeddings.", name, ".vocabulary: table ", path,
                                       " has no column '", column, "'");
            }
            ASSIGN_OR_RETURN(auto table, tables.load(path, {column}));
            TableInput input(table);
            ASSIGN_OR_RETURN(ArrayPtr keys, input.column(column));
            ASSIGN_OR_RETURN(encoder.vocabulary_,
                             JoinTable::make(strCat("embeddings.", name, ": table ", path),
                                             {{feature, column, type.element(), field->type}},
                                             {std::move(keys)}, /*isFirstTaken=*/false));
            return encoder;
        }
        if (encoder.rows_ > 0) {
            return encoder;
        }
    }
    return invalidArgument("features: '", feature, "' has no number of ids; give embeddings.",
                           feature, ".rows, or make it with hash or bucketize");
}

Result<ArrayPtr> IdEncoder::encodeElements(const ArrayPtr& values) const {
    if (vocabulary_ != nullptr) {
        ASSIGN_OR_RETURN(std::vector<std::int64_t> rows, vocabulary_->find({values}));
        for (std::int64_t& row : rows) {
            ++row;  // unknown is -1 + 1
        }
        return indexArray(rows, false);
    }
    if (rows_ > 0) {
        return hashIds(values, rows_, 0);
    }
    if (values->type_id() == arrow::Type::INT64 && values->null_count() == 0) {
        return values;
    }
    ASSIGN_OR_RETURN(const ValueReader reader, ValueReader::of(*values));
    std::vector<std::int64_t> ids(static_cast<std::size_t>(values->length()), 0);
    for (std::int64_t i = 0; i < values->length(); ++i) {
        ids[static_cast<std::size_t>(i)] = reader.isNull(i) ? 0 : reader.integer(i);
    }
    return indexArray(ids, false);
}

Result<ArrayPtr> IdEncoder::encode(const ArrayPtr& values) const {
    if (!isList(values)) {
        return encodeElements(values);
    }
    ASSIGN_OR_RETURN(const ArrayPtr elements, encodeElements(elementsOf(values)));
    return withElements(values, elements);
}

std::int64_t IdEncoder::tableBytes() const {
    return vocabulary_ == nullptr ? 0 : vocabulary_->bytes();
}

}  // namespace millrace::recipe
