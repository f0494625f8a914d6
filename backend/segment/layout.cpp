#include "backend/segment/layout.h"

#include <utility>

#include "backend/frame/carry_mask.h"
#include "backend/spec/bind.h"
#include "backend/spec/column_origins.h"
#include "backend/text/text.h"

namespace millrace::segment {

namespace {

using expr::TypeKind;
using frame::ColumnSpec;
using frame::DType;
using frame::Role;

constexpr std::pair<TypeKind, DType> kCarriedTypes[] = {
    {TypeKind::kBool, DType::kUint8},     {TypeKind::kUint8, DType::kUint8},
    {TypeKind::kInt8, DType::kInt8},      {TypeKind::kInt16, DType::kInt16},
    {TypeKind::kUint16, DType::kUint16},  {TypeKind::kInt32, DType::kInt32},
    {TypeKind::kDate, DType::kInt32},     {TypeKind::kUint32, DType::kUint32},
    {TypeKind::kInt64, DType::kInt64},    {TypeKind::kTimestamp, DType::kInt64},
    {TypeKind::kUint64, DType::kUint64},  {TypeKind::kFloat, DType::kFloat32},
    {TypeKind::kDouble, DType::kFloat64}, {TypeKind::kDecimal, DType::kFloat64},
    {TypeKind::kString, DType::kString}};

Result<DType> carriedType(const expr::Field& field) {
    for (const auto& [kind, type] : kCarriedTypes) {
        if (kind == field.type.kind) {
            return type;
        }
    }
    return invalidArgument("features.carry: column '", field.name, "' of type ", field.type.name(),
                           " cannot be carried");
}

Result<ColumnSpec> carryColumn(const expr::Field& field) {
    ASSIGN_OR_RETURN(const DType type, carriedType(field));
    if (!field.type.isList) {
        return type == DType::kString ? ColumnSpec::list(Role::kCarry, type, field.name)
                                      : ColumnSpec::fixed(Role::kCarry, type, field.name);
    }
    const bool isPlain = type != DType::kString && field.type.kind != TypeKind::kBool &&
                         field.type.kind != TypeKind::kDecimal;
    if (!isPlain) {
        return invalidArgument("features.carry: column '", field.name, "' of type ",
                               field.type.name(),
                               " cannot be carried: a list of numbers, dates or times can");
    }
    return ColumnSpec::list(Role::kCarry, type, field.name);
}

bool isStoredDecimal(const expr::Field& field, const spec::ColumnOrigins& origins) {
    return !field.type.isList && field.type.kind == TypeKind::kDecimal &&
           !origins.of(field.name).empty();
}

Result<const expr::Field*> findColumn(const expr::Schema& columns, const std::string& name,
                                      std::string_view key) {
    const expr::Field* field = columns.find(name);
    if (field == nullptr) {
        return invalidArgument("features.", key, ": there is no column '", name, "'",
                               nameHint(name, columns.names()));
    }
    return field;
}

Status addSequences(const spec::FeaturesSpec& features, const expr::Schema& columns,
                    std::vector<ColumnSpec>& out) {
    std::uint16_t group = 0;
    for (const auto& [name, sequence] : features.sequences) {
        ++group;
        for (const std::string& column : sequence.columns) {
            ASSIGN_OR_RETURN(const expr::Field* field, findColumn(columns, column, "sequences"));
            const bool isFloat =
                spec::sequenceValue(sequence, column, field->type) == spec::SequenceValue::kFloat;
            out.push_back(ColumnSpec::list(Role::kSequence,
                                           isFloat ? DType::kFloat32 : DType::kInt64,
                                           strCat(name, ".", column)));
            out.back().group = group;
        }
    }
    return okStatus();
}

}  // namespace

Result<frame::FrameLayout> layoutOf(const spec::RunSpec& spec, const expr::Schema& columns,
                                    const LayoutOptions& options) {
    std::vector<ColumnSpec> out;
    const spec::FeaturesSpec& features = spec.features;
    if (!features.dense.empty()) {
        out.push_back(ColumnSpec::fixed(Role::kDense, DType::kFloat32, "dense",
                                        static_cast<std::uint32_t>(features.dense.size())));
    }
    for (const std::string& name : features.vectors) {
        ASSIGN_OR_RETURN(const expr::Field* field, findColumn(columns, name, "vectors"));
        const auto size = features.vectorSizes.find(name);
        const std::int64_t width =
            size == features.vectorSizes.end() ? field->type.listSize : size->second;
        if (width <= 0) {
            return invalidArgument("features.vectors: column '", name, "' of type ",
                                   field->type.name(), " must be a fixed-size list of floats");
        }
        out.push_back(ColumnSpec::fixed(Role::kVector, DType::kFloat32, name,
                                        static_cast<std::uint32_t>(width)));
    }
    for (const std::string& name : features.ids) {
        out.push_back(ColumnSpec::fixed(Role::kId, DType::kInt64, name));
    }
    for (const std::string& name : features.lists) {
        out.push_back(ColumnSpec::list(Role::kList, DType::kInt64, name));
    }
    for (const spec::WeightedFeature& weighted : features.weighted) {
        out.push_back(ColumnSpec::list(Role::kWeighted, DType::kInt64, weighted.name));
    }
    RETURN_IF_ERROR(addSequences(features, columns, out));
    for (const std::string& head : spec.heads()) {
        out.push_back(ColumnSpec::fixed(Role::kLabel, DType::kFloat32, head));
        out.push_back(ColumnSpec::fixed(Role::kWeight, DType::kFloat32, head));
        out.push_back(ColumnSpec::fixed(Role::kMask, DType::kUint8, head));
    }
    const spec::ColumnOrigins origins(spec.recipe);
    for (const std::string& name : features.carry) {
        ASSIGN_OR_RETURN(const expr::Field* field, findColumn(columns, name, "carry"));
        ASSIGN_OR_RETURN(ColumnSpec column, carryColumn(*field));
        if (options.use == FrameUse::kTable && isStoredDecimal(*field, origins)) {
            column = ColumnSpec::list(Role::kCarry, DType::kString, name);
        }
        out.push_back(std::move(column));
        if (options.use == FrameUse::kTable) {
            out.push_back(frame::carryMask(name));
            if (field->type.isList) {
                out.push_back(frame::elementMask(name));
            }
        }
    }
    for (ColumnSpec& column : out) {
        column.dedup = column.encoding == frame::Encoding::kLists &&
                       options.deduplicated.contains(column.name);
    }
    return frame::FrameLayout::make(std::move(out), spec::streamHash(spec));
}

}  // namespace millrace::segment
