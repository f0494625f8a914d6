#include "backend/recipe/outputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>

#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/null_rows.h"
#include "backend/arrays/value_text.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/list_view.h"
#include "backend/recipe/own_time.h"
#include "backend/recipe/row_keys.h"
#include "backend/text/text.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

Result<expr::DataType> typeOf(const expr::Schema& schema, const std::string& column,
                              std::string_view kind) {
    const expr::Field* field = schema.find(column);
    if (field == nullptr) {
        return invalidArgument("features.", kind, ": no column '", column, "'",
                               nameHint(column, schema.names()));
    }
    return field->type;
}

Result<std::shared_ptr<arrow::DoubleArray>> doubles(const expr::Expr& expr, RowSet& rows,
                                                    const std::string& place) {
    ASSIGN_OR_RETURN(const ArrayPtr raw, evaluateRows(expr, rows, place));
    ASSIGN_OR_RETURN(const ArrayPtr cast,
                     eval::castValues(raw, expr->type, eval::kDoubleType, false));
    return std::static_pointer_cast<arrow::DoubleArray>(cast);
}

template <class T>
const T* ownValues(FeatureBatch& batch, std::vector<T> values) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    batch.decodedBytes += static_cast<std::int64_t>(owner->size() * sizeof(T));
    const T* data = owner->data();
    batch.owners.push_back(std::move(owner));
    return data;
}

// Allocates `count` floats, owned through `owners`.
Result<float*> ownFloats(FeatureBatch& batch, const SplitInput& split, std::int64_t count,
                         std::vector<std::shared_ptr<const void>>& owners) {
    arrow::MemoryPool* const pool = split.pool != nullptr ? split.pool : eval::evaluationPool();
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer,
                     arrays::fromArrow(arrow::AllocateBuffer(count * 4, pool), "features"));
    auto* const values = reinterpret_cast<float*>(buffer->mutable_data());
    batch.decodedBytes += count * 4;
    owners.push_back(std::move(buffer));
    return values;
}

/// A double outside float's range becomes infinite here, which is not an error.
template <class Array>
void castFloats(const arrow::Array& values, float fill, float* out) {
    const auto* const in = static_cast<const Array&>(values).raw_values();
    for (std::int64_t i = 0; i < values.length(); ++i) {
        out[i] = static_cast<float>(in[i]);
    }
    arrays::fillNulls(values, fill, out);
}

/// Takes labels that are all from 0 to 1, or NaN, which counts as missing. Returns false for
/// others.
bool takeLabels(const double* values, std::size_t rows, float* label, float* mask,
                std::int64_t& nans) {
    int isBeyond = 0, isNan = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const double value = values[i];
        isBeyond |= static_cast<int>(value < 0) | static_cast<int>(value > 1);
        isNan |= static_cast<int>(value != value);
        label[i] = value == value ? static_cast<float>(value) : 0;
        mask[i] = value == value ? 1 : 0;
    }
    if (isBeyond == 0 && isNan != 0) {
        nans = std::count(mask, mask + rows, 0.0F);
    }
    return isBeyond == 0;
}

/// All digits of a number, so that "1.0000001" does not read as 1.
std::string digitsOf(double value) {
    return arrays::valueText(arrow::DoubleArray(1, arrow::Buffer::FromVector<double>({value})), 0);
}

Status refusedWeight(const RowSet& rows, std::int64_t row, std::string_view place,
                     const std::string& weight) {
    return invalidArgument(rows.split().relativePath, ": row ", rows.rowNumber(row), ": ", place,
                           ": the weight is ", weight, "; it must be a number from 0 to ",
                           digitsOf(std::numeric_limits<float>::max()));
}

}  // namespace

Result<LabelMaker> LabelMaker::make(const std::map<std::string, spec::LabelSpec>& labels,
                                    const expr::Schema& schema) {
    LabelMaker maker;
    for (const auto& [name, label] : labels) {
        const std::string place = strCat("labels.", name);
        Head head{name, nullptr, nullptr, nullptr};
        if (label.expr.empty()) {
            return invalidArgument(place, ": has no expression");
        }
        ASSIGN_OR_RETURN(head.expr, eval::compileChecked(label.expr, schema, place));
        if (!label.weight.empty()) {
            ASSIGN_OR_RETURN(head.weight,
                             eval::compileChecked(label.weight, schema, place + ".weight"));
        }
        if (!label.where.empty()) {
            ASSIGN_OR_RETURN(head.where,
                             eval::compileCheckedPredicate(label.where, schema, place + ".where"));
        }
        maker.heads_.push_back(std::move(head));
    }
    return maker;
}

Status LabelMaker::weigh(const Head& head, RowSet& rows, LabelColumn& column) {
    const std::vector<double>& ofRows = rows.weights();
    if (head.weight != nullptr) {
        const std::string place = strCat("labels.", head.name, ".weight");
        ASSIGN_OR_RETURN(const auto values, doubles(head.weight, rows, place));
        for (std::int64_t i = 0; i < rows.rows(); ++i) {
            const double weight = values->IsNull(i) ? -1 : values->Value(i);
            const auto at = static_cast<std::size_t>(i);
            if (column.mask[at] == 0) {
                column.weight[at] = 0;
                continue;
            }
            const double product = ofRows.empty() ? weight : weight * ofRows[at];
            column.weight[at] = static_cast<float>(product);
            if (!(weight >= 0) || !std::isfinite(column.weight[at])) {
                return refusedWeight(
                    rows, i, place,
                    strCat(values->IsNull(i) ? "null" : digitsOf(values->Value(i)),
                           weight >= 0 && product != weight
                               ? strCat(", times the row's own weight of ", digitsOf(ofRows[at]))
                               : ""));
            }
        }
        return okStatus();
    }
    int isBeyond = 0;
    for (std::size_t i = 0; i < ofRows.size(); ++i) {
        column.weight[i] = static_cast<float>(ofRows[i]);
        isBeyond |= static_cast<int>(!(column.weight[i] <= std::numeric_limits<float>::max()));
    }
    for (std::size_t i = 0; isBeyond != 0 && i < ofRows.size(); ++i) {
        if (!std::isfinite(column.weight[i])) {
            return refusedWeight(rows, static_cast<std::int64_t>(i), "the recipe's weights",
                                 digitsOf(ofRows[i]));
        }
    }
    return okStatus();
}

Status LabelMaker::run(RowSet& rows, bool isWeighted, FeatureBatch& batch) const {
    const auto count = static_cast<std::size_t>(rows.rows());
    for (const Head& head : heads_) {
        LabelColumn column{head.name, std::vector<float>(count, 0), std::vector<float>(count, 1),
                           std::vector<float>(count, 0)};
        ASSIGN_OR_RETURN(const auto labels, doubles(head.expr, rows, strCat("labels.", head.name)));
        ArrayPtr where;
        if (head.where != nullptr) {
            ASSIGN_OR_RETURN(
                where, evaluateRows(head.where, rows, strCat("labels.", head.name, ".where")));
        }
        const auto* flags = static_cast<const arrow::BooleanArray*>(where.get());
        const bool isTaken = flags == nullptr && labels->null_count() == 0 &&
                             takeLabels(labels->raw_values(), count, column.label.data(),
                                        column.mask.data(), column.gaps.nans);
        for (std::int64_t i = 0; !isTaken && i < rows.rows(); ++i) {
            if (flags != nullptr && (flags->IsNull(i) || !flags->Value(i))) {
                continue;
            }
            const double label = labels->IsNull(i) ? std::nan("") : labels->Value(i);
            if (std::isnan(label)) {
                ++(labels->IsNull(i) ? column.gaps.nulls : column.gaps.nans);
                continue;
            }
            if (label < 0 || label > 1) {
                return invalidArgument(rows.split().relativePath, ": row ", rows.rowNumber(i),
                                       ": labels.", head.name, ": the label is ", digitsOf(label),
                                       "; it must be a number from 0 to 1 (a condition such as `",
                                       expr::expressionText(head.expr), " > 0` makes one)");
            }
            column.label[static_cast<std::size_t>(i)] = static_cast<float>(label);
            column.mask[static_cast<std::size_t>(i)] = 1;
        }
        if (isWeighted) {
            RETURN_IF_ERROR(weigh(head, rows, column));
        }
        batch.heads.push_back(std::move(column));
    }
    return okStatus();
}

Result<FeatureMaker> FeatureMaker::make(const spec::RunSpec& spec,
                                        const std::vector<spec::Step>& steps,
                                        const expr::Schema& schema, const TableSource& tables) {
    FeatureMaker maker;
    const spec::FeaturesSpec& features = spec.features;
    EncoderMaker encoders(spec, steps, tables);
    for (const spec::DenseFeature& dense : features.dense) {
        ASSIGN_OR_RETURN(const expr::DataType type, typeOf(schema, dense.column, "dense"));
        if (!type.isNumber() && !type.isBool()) {
            return invalidArgument("features.dense: column '", dense.column, "' is ", type.name(),
                                   "; dense features are numbers or bools");
        }
        maker.dense_.push_back({dense.column, type, static_cast<float>(dense.fill)});
        maker.columns_.push_back(dense.column);
    }
    for (const std::string& name : features.ids) {
        ASSIGN_OR_RETURN(const expr::DataType type, typeOf(schema, name, "ids"));
        if (type.isList) {
            return invalidArgument("features.ids: column '", name,
                                   "' is a list; name it under features.lists");
        }
        ASSIGN_OR_RETURN(IdEncoder encoder, encoders.make(name, name, type));
        maker.ids_.push_back({name, std::move(encoder)});
        maker.columns_.push_back(name);
    }
    for (const std::string& name : features.lists) {
        ASSIGN_OR_RETURN(const expr::DataType type, typeOf(schema, name, "lists"));
        if (!type.isList) {
            return invalidArgument("features.lists: column '", name,
                                   "' is not a list; name it under features.ids");
        }
        ASSIGN_OR_RETURN(IdEncoder encoder, encoders.make(name, name, type));
        maker.lists_.push_back({name, std::move(encoder)});
        maker.columns_.push_back(name);
    }
    for (const std::string& name : features.vectors) {
        ASSIGN_OR_RETURN(const expr::DataType type, typeOf(schema, name, "vectors"));
        const auto size = features.vectorSizes.find(name);
        const std::int64_t width =
            size == features.vectorSizes.end() ? type.listSize : size->second;
        if (!type.isList || width <= 0 || type.kind == expr::TypeKind::kString) {
            return invalidArgument("features.vectors: column '", name, "' is ", type.name(),
                                   "; a vector is a fixed-size list of numbers");
        }
        maker.vectors_.push_back({name, type, static_cast<std::int32_t>(width)});
        maker.columns_.push_back(name);
    }
    for (const std::string& name : features.carry) {
        RETURN_IF_ERROR(typeOf(schema, name, "carry").status());
        maker.carry_.push_back(name);
        maker.columns_.push_back(name);
    }
    ASSIGN_OR_RETURN(maker.listFeatures_, ListFeatures::make(features, encoders, schema));
    maker.columns_.insert(maker.columns_.end(), maker.listFeatures_.columns().begin(),
                          maker.listFeatures_.columns().end());
    maker.vocabularies_ = encoders.vocabularies();
    maker.tables_ = encoders.tables();
    return maker;
}

void FeatureMaker::addKeys(const spec::FeaturesSpec& features, const expr::Schema& schema) {
    const auto keep = [&](const std::string& column, std::string& kept) {
        if (!column.empty() && schema.find(column) != nullptr) {
            kept = column;
            columns_.push_back(column);
        }
    };
    keep(features.request, request_);
    keep(features.user, user_);
}

void FeatureMaker::setFile(const expr::ColumnIndex& file) {
    std::unordered_set<std::string> found;
    std::erase_if(columns_, [&](const std::string& name) {
        return file.find(name) == nullptr || !found.insert(name).second;
    });
}

Status FeatureMaker::keys(RowSet& rows, FeatureBatch& batch) const {
    const std::uint64_t firstRow = rows.split().firstRow + (std::uint64_t{batch.file} << 40);
    FeatureTimes times(batch, rows.split());
    const auto make = [&](const std::string& name, std::vector<std::uint64_t>& keys) -> Status {
        if (name.empty()) {
            return okStatus();
        }
        const FeatureTimer timer(times, name);
        ASSIGN_OR_RETURN(const ArrayPtr values, rows.column(name));
        ASSIGN_OR_RETURN(keys, rowKeys(values, firstRow));
        batch.decodedBytes += 8 * rows.rows();
        return okStatus();
    };
    RETURN_IF_ERROR(make(request_, batch.requestKeys));
    return make(user_, batch.userKeys);
}

Status FeatureMaker::run(RowSet& rows, FeatureBatch& batch) const {
    batch.vocabularies.resize(vocabularies_.size());
    RETURN_IF_ERROR(rows.prefetchKnown(columns_, /*mayRepeat=*/true));
    RETURN_IF_ERROR(dense(rows, batch));
    RETURN_IF_ERROR(ids(rows, batch));
    RETURN_IF_ERROR(lists(rows, batch));
    RETURN_IF_ERROR(vectors(rows, batch));
    RETURN_IF_ERROR(listFeatures_.run(rows, batch));
    FeatureTimes times(batch, rows.split());
    for (const std::string& name : carry_) {
        const FeatureTimer timer(times, name);
        ASSIGN_OR_RETURN(ArrayPtr array, rows.storedColumn(name));
        batch.carry.push_back({name, std::move(array)});
    }
    return keys(rows, batch);
}

// Converts each distinct stored number once, and looks rows up.
Result<bool> FeatureMaker::storedDense(const Dense& feature, RowSet& rows, FeatureBatch& batch) {
    ASSIGN_OR_RETURN(const StoredValues stored, rows.storedValues(feature.name));
    if (!stored.isWorth()) {
        return false;
    }
    std::vector<float> entries(static_cast<std::size_t>(stored.values->length()));
    RETURN_IF_ERROR(floatsOf(feature, stored.values, entries.data()));
    ASSIGN_OR_RETURN(float* const values,
                     ownFloats(batch, rows.split(), rows.rows(), batch.rowOwners));
    const auto* const codes = static_cast<const arrow::Int32Array&>(*stored.indices).raw_values();
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        values[i] = entries[static_cast<std::size_t>(codes[i])];
    }
    batch.dense.push_back({feature.name, values});
    return true;
}

Status FeatureMaker::floatsOf(const Dense& feature, const ArrayPtr& values, float* out) {
    switch (values->type_id()) {
        case arrow::Type::INT32:
            castFloats<arrow::Int32Array>(*values, feature.fill, out);
            return okStatus();
        case arrow::Type::INT64:
            castFloats<arrow::Int64Array>(*values, feature.fill, out);
            return okStatus();
        case arrow::Type::DOUBLE:
            castFloats<arrow::DoubleArray>(*values, feature.fill, out);
            return okStatus();
        default:
            break;
    }
    ASSIGN_OR_RETURN(const ArrayPtr cast,
                     eval::castValues(values, feature.type, {expr::TypeKind::kFloat}, false));
    castFloats<arrow::FloatArray>(*cast, feature.fill, out);
    return okStatus();
}

Status FeatureMaker::dense(RowSet& rows, FeatureBatch& batch) const {
    FeatureTimes times(batch, rows.split());
    for (const Dense& feature : dense_) {
        const FeatureTimer timer(times, feature.name);
        ASSIGN_OR_RETURN(const bool isMade, storedDense(feature, rows, batch));
        if (isMade) {
            continue;
        }
        ASSIGN_OR_RETURN(ArrayPtr raw, rows.column(feature.name));
        if (feature.type.kind == expr::TypeKind::kFloat) {
            const bool isZeroed = feature.fill == 0 && rows.isAsRead(feature.name);
            if (raw->null_count() == 0 || isZeroed) {
                batch.dense.push_back(
                    {feature.name, static_cast<const arrow::FloatArray&>(*raw).raw_values()});
                batch.decodedBytes += raw->length() * 4;
                batch.rowOwners.push_back(std::move(raw));
                continue;
            }
        }
        ASSIGN_OR_RETURN(float* const values,
                         ownFloats(batch, rows.split(), rows.rows(), batch.rowOwners));
        RETURN_IF_ERROR(floatsOf(feature, raw, values));
        batch.dense.push_back({feature.name, values});
    }
    return okStatus();
}

Status FeatureMaker::ids(RowSet& rows, FeatureBatch& batch) const {
    FeatureTimes times(batch, rows.split());
    for (const Encoded& feature : ids_) {
        const FeatureTimer timer(times, feature.name);
        ASSIGN_OR_RETURN(const ArrayPtr raw, rows.storedColumn(feature.name));
        ASSIGN_OR_RETURN(const ArrayPtr encoded,
                         feature.encoder.encode(raw, batch, rows.split().pool));
        batch.ids.push_back(
            {feature.name, static_cast<const arrow::Int64Array&>(*encoded).raw_values()});
        batch.decodedBytes += encoded->length() * 8;
        batch.rowOwners.push_back(encoded);
    }
    return okStatus();
}

Status FeatureMaker::lists(RowSet& rows, FeatureBatch& batch) const {
    FeatureTimes times(batch, rows.split());
    for (const Encoded& feature : lists_) {
        const FeatureTimer timer(times, feature.name);
        ASSIGN_OR_RETURN(ArrayPtr raw, rows.storedColumn(feature.name));
        ListColumn column{feature.name, nullptr, nullptr, nullptr};
        std::optional<std::span<const std::int32_t>> items;
        if (raw->type_id() == arrow::Type::DICTIONARY) {
            // Encodes each list once, however many rows share it.
            const auto& stored = static_cast<const arrow::DictionaryArray&>(*raw);
            column.items = static_cast<const arrow::Int32Array&>(*stored.indices()).raw_values();
            items.emplace(column.items, static_cast<std::size_t>(stored.length()));
            batch.decodedBytes += 4 * stored.length();
            batch.owners.push_back(stored.indices());
            raw = stored.dictionary();
        }
        ASSIGN_OR_RETURN(const ArrayPtr encoded,
                         feature.encoder.encode(raw, batch, rows.split().pool, items));
        if (encoded->type_id() == arrow::Type::LIST && encoded->null_count() == 0) {
            const auto& list = static_cast<const arrow::ListArray&>(*encoded);
            column.values = static_cast<const arrow::Int64Array&>(*list.values()).raw_values();
            column.offsets = list.raw_value_offsets();
            batch.decodedBytes +=
                8 * (column.offsets[list.length()] - column.offsets[0]) + 4 * list.length();
            batch.owners.push_back(encoded);
            batch.lists.push_back(column);
            continue;
        }
        // A null list is empty, whatever its offsets.
        std::vector<std::int32_t> offsets{0};
        std::vector<std::int64_t> values;
        const eval::ListView lists = eval::viewLists(*encoded);
        const auto* from = static_cast<const arrow::Int64Array&>(*lists.elements).raw_values();
        for (std::size_t i = 0; i < lists.begins.size(); ++i) {
            const auto* const begin = from + lists.begins[i];
            values.insert(values.end(), begin, begin + lists.count(i));
            offsets.push_back(static_cast<std::int32_t>(values.size()));
        }
        column.values = ownValues(batch, std::move(values));
        column.offsets = ownValues(batch, std::move(offsets));
        batch.lists.push_back(column);
    }
    return okStatus();
}

Status FeatureMaker::vectors(RowSet& rows, FeatureBatch& batch) const {
    FeatureTimes times(batch, rows.split());
    for (const Vector& feature : vectors_) {
        const FeatureTimer timer(times, feature.name);
        ASSIGN_OR_RETURN(const ArrayPtr raw, rows.column(feature.name));
        const eval::ListView lists = eval::viewLists(*raw);
        ASSIGN_OR_RETURN(const ArrayPtr cast,
                         eval::castValues(lists.elements, feature.type.element(),
                                          {expr::TypeKind::kFloat}, false));
        const auto& from = static_cast<const arrow::FloatArray&>(*cast);
        const auto width = static_cast<std::size_t>(feature.width);
        std::vector<float> values(static_cast<std::size_t>(rows.rows()) * width, 0);
        for (std::size_t i = 0; i < lists.begins.size(); ++i) {
            if (!lists.isNull(i) && lists.counts[i] != feature.width) {
                return invalidArgument(rows.split().relativePath, ": row ",
                                       rows.rowNumber(static_cast<std::int64_t>(i)),
                                       ": features.vectors: column '", feature.name, "' has ",
                                       lists.counts[i], " values, not ", feature.width,
                                       " (its size)");
            }
            for (std::int64_t k = 0; k < lists.count(i); ++k) {
                const std::int64_t at = lists.begins[i] + k;
                values[i * width + static_cast<std::size_t>(k)] =
                    from.IsValid(at) ? from.Value(at) : 0;
            }
        }
        batch.vectors.push_back({feature.name, feature.width, ownValues(batch, std::move(values))});
    }
    return okStatus();
}

}  // namespace millrace::recipe
