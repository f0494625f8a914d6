#include "backend/recipe/list_features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <arrow/array/array_primitive.h>

#include "backend/eval/evaluator.h"
#include "backend/recipe/join/as_of_table.h"
#include "backend/text/text.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

Result<expr::DataType> listType(const expr::Schema& schema, const std::string& place,
                                const std::string& column) {
    const expr::Field* field = schema.find(column);
    if (field == nullptr) {
        return invalidArgument(place, ": no column '", column, "'",
                               nameHint(column, schema.names()));
    }
    if (!field->type.isList) {
        return invalidArgument(place, ": column '", column, "' is ", field->type.name(),
                               "; needed is a list");
    }
    return field->type;
}

Status rowError(const RowSet& rows, std::int64_t row, const std::string& place,
                const std::string& what) {
    return invalidArgument(rows.split().relativePath, ": row ", rows.rowNumber(row), ": ", place,
                           ": ", what);
}

/// The selected elements of a feature's rows: offsets, and each element's position in its list.
struct Picked {
    std::shared_ptr<std::vector<std::int32_t>> offsets;
    std::vector<std::int64_t> at;  ///< by element: its index within its row's list
};

Status endRow(Picked& picked, const RowSet& rows, std::int64_t row, const std::string& place) {
    if (picked.at.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        return rowError(rows, row, place, "the split's lists hold more than 2^31 elements");
    }
    picked.offsets->push_back(static_cast<std::int32_t>(picked.at.size()));
    return okStatus();
}

/// Keeps only the last `last` of the elements from `first` on; 0: all.
void keepLast(Picked& picked, std::size_t first, std::int64_t last) {
    const std::size_t kept = picked.at.size() - first;
    if (last > 0 && kept > static_cast<std::size_t>(last)) {
        const auto from = picked.at.begin() + static_cast<std::ptrdiff_t>(first);
        picked.at.erase(from,
                        from + static_cast<std::ptrdiff_t>(kept - static_cast<std::size_t>(last)));
    }
}

/// Gathers `picked` from one of the aligned lists, in order.
Result<ArrayPtr> pickedElements(const eval::ListView& list, const Picked& picked) {
    std::vector<std::int64_t> positions(picked.at.size());
    for (std::size_t row = 0; row + 1 < picked.offsets->size(); ++row) {
        const auto end = static_cast<std::size_t>((*picked.offsets)[row + 1]);
        for (auto i = static_cast<std::size_t>((*picked.offsets)[row]); i < end; ++i) {
            positions[i] = list.begins[row] + picked.at[i];
        }
    }
    ASSIGN_OR_RETURN(const ArrayPtr indices, eval::indexArray(positions, false));
    return eval::takeRows(list.elements, indices);
}

/// Converts to float32: too large values become infinite, as in dense features.
Result<std::shared_ptr<std::vector<float>>> floatsOf(const ArrayPtr& values,
                                                     const expr::DataType& type, float ofNull) {
    ASSIGN_OR_RETURN(const ArrayPtr cast, eval::castValues(values, type, eval::kDoubleType, false));
    const auto& in = static_cast<const arrow::DoubleArray&>(*cast);
    auto out = std::make_shared<std::vector<float>>(static_cast<std::size_t>(in.length()));
    for (std::int64_t i = 0; i < in.length(); ++i) {
        (*out)[static_cast<std::size_t>(i)] =
            in.IsValid(i) ? static_cast<float>(in.Value(i)) : ofNull;
    }
    return out;
}

/// The times in `values`, with nulls as 0.
std::shared_ptr<std::vector<std::int64_t>> plainTimes(const arrow::Array& values) {
    const auto& in = static_cast<const arrow::Int64Array&>(values);
    auto out = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(in.length()));
    for (std::int64_t i = 0; i < in.length(); ++i) {
        (*out)[static_cast<std::size_t>(i)] = in.IsValid(i) ? in.Value(i) : 0;
    }
    return out;
}

template <class T>
const T* own(FeatureBatch& batch, std::shared_ptr<std::vector<T>> values) {
    batch.decodedBytes += static_cast<std::int64_t>(values->size() * sizeof(T));
    const T* data = values->data();
    batch.owners.push_back(std::move(values));
    return data;
}

const std::int64_t* ownIds(FeatureBatch& batch, const ArrayPtr& ids) {
    batch.decodedBytes += ids->length() * 8;
    batch.owners.push_back(ids);
    return static_cast<const arrow::Int64Array&>(*ids).raw_values();
}

/// Selects the elements of a row that are before the row's time.
class TimeCut {
 public:
    static Result<TimeCut> make(RowSet& rows, const std::string& before,
                                const expr::DataType& beforeType, const eval::ListView& time,
                                const expr::DataType& timeType) {
        TimeCut cut;
        ASSIGN_OR_RETURN(const ArrayPtr limits, rows.column(before));
        ASSIGN_OR_RETURN(cut.limits_, timesAsInt64(limits, beforeType));
        ASSIGN_OR_RETURN(cut.times_, timesAsInt64(time.elements, timeType));
        return cut;
    }
    bool isBefore(std::int64_t row, std::int64_t element) const {
        const auto& limits = static_cast<const arrow::Int64Array&>(*limits_);
        const auto& times = static_cast<const arrow::Int64Array&>(*times_);
        return limits.IsValid(row) && times.IsValid(element) &&
               times.Value(element) < limits.Value(row);
    }

 private:
    ArrayPtr limits_, times_;
};

}  // namespace

Result<ListFeatures> ListFeatures::make(const spec::FeaturesSpec& features, EncoderMaker& encoders,
                                        const expr::Schema& schema) {
    ListFeatures made;
    RETURN_IF_ERROR(made.addWeighted(features, encoders, schema));
    RETURN_IF_ERROR(made.addSequences(features, encoders, schema));
    return made;
}

Status ListFeatures::addWeighted(const spec::FeaturesSpec& features, EncoderMaker& encoders,
                                 const expr::Schema& schema) {
    for (const spec::WeightedFeature& feature : features.weighted) {
        const std::string place = strCat("features.weighted.", feature.name);
        ASSIGN_OR_RETURN(const expr::DataType ids, listType(schema, place, feature.ids));
        ASSIGN_OR_RETURN(const expr::DataType weights, listType(schema, place, feature.weights));
        if (!weights.element().isNumber()) {
            return invalidArgument(place, ": column '", feature.weights, "' is ", weights.name(),
                                   "; weights are a list of numbers");
        }
        ASSIGN_OR_RETURN(IdEncoder encoder, encoders.make(feature.name, feature.ids, ids));
        weighted_.push_back(
            {feature.name, feature.ids, feature.weights, weights.element(), std::move(encoder)});
        columns_.insert(columns_.end(), {feature.ids, feature.weights});
    }
    return okStatus();
}

Status ListFeatures::addSequences(const spec::FeaturesSpec& features, EncoderMaker& encoders,
                                  const expr::Schema& schema) {
    for (const auto& [name, given] : features.sequences) {
        const std::string place = strCat("features.sequences.", name);
        Sequence sequence{name, given.time, given.before, {}, {}, given.last, {}};
        for (const std::string& column : given.columns) {
            ASSIGN_OR_RETURN(const expr::DataType type, listType(schema, place, column));
            Element element{column, type.element(), spec::sequenceValue(given, column, type), {}};
            if (element.value == spec::SequenceValue::kId) {
                ASSIGN_OR_RETURN(element.encoder, encoders.make(column, column, type));
            }
            sequence.elements.push_back(std::move(element));
            columns_.push_back(column);
        }
        if (!given.before.empty()) {
            ASSIGN_OR_RETURN(const expr::DataType type, listType(schema, place, given.time));
            const expr::Field* before = schema.find(given.before);
            if (before == nullptr) {
                return invalidArgument(place, ": no column '", given.before, "'",
                                       nameHint(given.before, schema.names()));
            }
            sequence.timeType = type.element();
            sequence.beforeType = before->type;
            columns_.insert(columns_.end(), {given.time, given.before});
        }
        sequences_.push_back(std::move(sequence));
    }
    return okStatus();
}

Status ListFeatures::run(RowSet& rows, FeatureBatch& batch) const {
    for (const Weighted& feature : weighted_) {
        RETURN_IF_ERROR(weighted(feature, rows, batch));
    }
    for (const Sequence& feature : sequences_) {
        RETURN_IF_ERROR(sequence(feature, rows, batch));
    }
    return okStatus();
}

Status ListFeatures::weighted(const Weighted& feature, RowSet& rows, FeatureBatch& batch) const {
    const std::string place = strCat("features.weighted.", feature.name);
    ASSIGN_OR_RETURN(const ArrayPtr rawIds, rows.column(feature.ids));
    ASSIGN_OR_RETURN(const ArrayPtr rawWeights, rows.column(feature.weights));
    const eval::ListView ids = eval::viewLists(*rawIds), weights = eval::viewLists(*rawWeights);
    Picked picked{std::make_shared<std::vector<std::int32_t>>(1, 0), {}};
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        const auto at = static_cast<std::size_t>(row);
        if (ids.count(at) != weights.count(at)) {
            return rowError(rows, row, place,
                            strCat(ids.count(at), " ids in '", feature.ids, "', but ",
                                   weights.count(at), " weights in '", feature.weights,
                                   "'; the lists of a row must be of one length"));
        }
        for (std::int64_t k = 0; k < ids.count(at); ++k) {
            picked.at.push_back(k);
        }
        RETURN_IF_ERROR(endRow(picked, rows, row, place));
    }
    ASSIGN_OR_RETURN(const ArrayPtr idElements, pickedElements(ids, picked));
    ASSIGN_OR_RETURN(const ArrayPtr encoded, feature.encoder.encode(idElements, batch));
    ASSIGN_OR_RETURN(const ArrayPtr weightElements, pickedElements(weights, picked));
    ASSIGN_OR_RETURN(auto values, floatsOf(weightElements, feature.weightType, std::nanf("")));
    for (std::size_t i = 0; i < values->size(); ++i) {
        if (!std::isfinite((*values)[i])) {
            const auto next = std::upper_bound(picked.offsets->begin(), picked.offsets->end(),
                                               static_cast<std::int32_t>(i));
            return rowError(
                rows, next - picked.offsets->begin() - 1, place,
                strCat("a weight in '", feature.weights, "' is ",
                       weightElements->IsNull(static_cast<std::int64_t>(i)) ? std::string("null")
                                                                            : strCat((*values)[i]),
                       "; it must be a finite number"));
        }
    }
    const float* ownWeights = own(batch, std::move(values));
    batch.weighted.push_back(
        {feature.name, ownIds(batch, encoded), ownWeights, own(batch, std::move(picked.offsets))});
    return okStatus();
}

Status ListFeatures::checkAligned(const Sequence& feature, const std::vector<eval::ListView>& lists,
                                  const eval::ListView* time, const RowSet& rows,
                                  std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    const std::int64_t count = lists[0].count(at);
    for (std::size_t c = 1; c <= lists.size(); ++c) {
        const bool isTime = c == lists.size();
        if (isTime && time == nullptr) {
            break;
        }
        const std::int64_t other = isTime ? time->count(at) : lists[c].count(at);
        if (other != count) {
            return rowError(
                rows, row, strCat("features.sequences.", feature.name),
                strCat(count, " elements in '", feature.elements[0].column, "', but ", other,
                       " in '", isTime ? feature.time : feature.elements[c].column,
                       "'; the lists of a row must be of one length"));
        }
    }
    return okStatus();
}

Status ListFeatures::sequence(const Sequence& feature, RowSet& rows, FeatureBatch& batch) const {
    const std::string place = strCat("features.sequences.", feature.name);
    std::vector<eval::ListView> lists;
    for (const Element& element : feature.elements) {
        ASSIGN_OR_RETURN(const ArrayPtr values, rows.column(element.column));
        lists.push_back(eval::viewLists(*values));
    }
    std::optional<TimeCut> cut;
    eval::ListView time;
    if (!feature.before.empty()) {
        ASSIGN_OR_RETURN(const ArrayPtr values, rows.column(feature.time));
        time = eval::viewLists(*values);
        ASSIGN_OR_RETURN(
            cut, TimeCut::make(rows, feature.before, feature.beforeType, time, feature.timeType));
    }
    Picked picked{std::make_shared<std::vector<std::int32_t>>(1, 0), {}};
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        RETURN_IF_ERROR(checkAligned(feature, lists, cut ? &time : nullptr, rows, row));
        const auto at = static_cast<std::size_t>(row);
        const std::size_t first = picked.at.size();
        for (std::int64_t k = 0; k < lists[0].count(at); ++k) {
            if (!cut || cut->isBefore(row, time.begins[at] + k)) {
                picked.at.push_back(k);
            }
        }
        keepLast(picked, first, feature.last);
        RETURN_IF_ERROR(endRow(picked, rows, row, place));
    }
    const std::int32_t* offsets = own(batch, picked.offsets);
    for (std::size_t c = 0; c < lists.size(); ++c) {
        const Element& element = feature.elements[c];
        ASSIGN_OR_RETURN(const ArrayPtr values, pickedElements(lists[c], picked));
        SequenceColumn column{feature.name, element.column, element.value, nullptr, offsets};
        if (element.value == spec::SequenceValue::kId) {
            ASSIGN_OR_RETURN(const ArrayPtr ids, element.encoder.encode(values, batch));
            column.values = ownIds(batch, ids);
        } else if (element.value == spec::SequenceValue::kTime) {
            ASSIGN_OR_RETURN(const ArrayPtr times, timesAsInt64(values, element.type));
            column.values = own(batch, plainTimes(*times));
        } else {
            ASSIGN_OR_RETURN(auto floats, floatsOf(values, element.type, 0));
            column.values = own(batch, std::move(floats));
        }
        batch.sequences.push_back(std::move(column));
    }
    return okStatus();
}

}  // namespace millrace::recipe
