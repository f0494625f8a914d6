#include "backend/dataset/stored_types.h"

#include <algorithm>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>
#include <parquet/metadata.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/column_tree.h"
#include "backend/core/parallel.h"
#include "backend/dataset/arrow_stream.h"
#include "backend/dataset/footers.h"
#include "backend/files/file_source.h"
#include "backend/objects/object_store.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::dataset {
namespace {

using arrow::Type;

/// Number of threads that parse footers; number of schemas held at once.
constexpr int kThreads = 4;
constexpr std::size_t kFilesAtOnce = 512;
constexpr std::size_t kDateBytes = 10;  ///< length of "2024-01-31"

/// Whether files may have a more precise type than this pinned type.
bool saysMore(const expr::DataType& type) {
    using K = expr::TypeKind;
    return !type.isList &&
           (type.kind == K::kDecimal || type.kind == K::kTimestamp || type.kind == K::kString);
}

Result<std::shared_ptr<arrow::Schema>> schemaOf(const Dataset& dataset, std::size_t number) {
    ASSIGN_OR_RETURN(const files::DataFile file, dataset.checkedFile(number));
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    if (dataset.options().format == "parquet") {
        ASSIGN_OR_RETURN(const auto facts, dataset.facts(number));
        ASSIGN_OR_RETURN(const pages::ParquetFooter footer,
                         dataset.footers().whole(file, source, facts->contentHash));
        std::map<std::string, std::string> refused;
        return arrowSchemaOf(*footer.metadata, file.path, refused);
    }
    ASSIGN_OR_RETURN(const bool isStream, isArrowStream(file, source));
    if (isStream) {
        ASSIGN_OR_RETURN(const auto reader,
                         arrays::fromArrow(
                             arrow::ipc::RecordBatchStreamReader::Open(source.input()), file.path));
        return reader->schema();
    }
    ASSIGN_OR_RETURN(
        const auto reader,
        arrays::fromArrow(arrow::ipc::RecordBatchFileReader::Open(source.input()), file.path));
    return reader->schema();
}

/// Strips encodings: dictionaries, run-end encoding, extension types.
TypePtr plain(TypePtr type) {
    for (;;) {
        if (type->id() == Type::DICTIONARY) {
            type = static_cast<const arrow::DictionaryType&>(*type).value_type();
        } else if (type->id() == Type::RUN_END_ENCODED) {
            type = static_cast<const arrow::RunEndEncodedType&>(*type).value_type();
        } else if (type->id() == Type::EXTENSION) {
            type = static_cast<const arrow::ExtensionType&>(*type).storage_type();
        } else {
            return type;
        }
    }
}

TypePtr decimalOf(std::int32_t whole, std::int32_t scale) {
    const std::int32_t digits = std::max(1, whole + scale);
    return digits <= arrow::Decimal128Type::kMaxPrecision ? arrow::decimal128(digits, scale)
                                                          : arrow::decimal256(digits, scale);
}

/// One file's more precise type for a column of this kind; null if the pinned type is enough.
TypePtr storedType(const arrow::DataType& type, expr::TypeKind kind) {
    if (const auto* decimal = dynamic_cast<const arrow::DecimalType*>(&type)) {
        return kind == expr::TypeKind::kDecimal
                   ? decimalOf(decimal->precision() - decimal->scale(), decimal->scale())
                   : nullptr;
    }
    if (type.id() == Type::TIMESTAMP && kind == expr::TypeKind::kTimestamp) {
        const std::string& zone = static_cast<const arrow::TimestampType&>(type).timezone();
        return zone.empty() ? nullptr : arrow::timestamp(arrow::TimeUnit::MICRO, zone);
    }
    const bool isBinary = type.id() == Type::BINARY || type.id() == Type::LARGE_BINARY ||
                          type.id() == Type::BINARY_VIEW || type.id() == Type::FIXED_SIZE_BINARY;
    return isBinary && kind == expr::TypeKind::kString ? arrow::binary() : nullptr;
}

/// A type for the values of both; null means the pinned type.
TypePtr united(const TypePtr& a, const TypePtr& b) {
    if (a == nullptr || b == nullptr) {
        return nullptr;
    }
    const auto* first = dynamic_cast<const arrow::DecimalType*>(a.get());
    const auto* second = dynamic_cast<const arrow::DecimalType*>(b.get());
    if (first != nullptr && second != nullptr) {
        return decimalOf(
            std::max(first->precision() - first->scale(), second->precision() - second->scale()),
            std::max(first->scale(), second->scale()));
    }
    if (a->id() == Type::TIMESTAMP && b->id() == Type::TIMESTAMP && !a->Equals(*b)) {
        return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    }
    return a;
}

/// Combines the files' types, one file after another.
class StoredTypes {
 public:
    explicit StoredTypes(std::vector<expr::Field> columns) : columns_(std::move(columns)) {}

    void add(const arrow::Schema& schema) {
        for (const expr::Field& column : columns_) {
            const TypePtr found = arrays::findType(schema, column.name);
            if (found == nullptr) {
                continue;  // missing in this file: nulls fit any type
            }
            const TypePtr type = storedType(*plain(found), column.type.kind);
            const auto [known, isNew] = types_.emplace(column.name, type);
            known->second = isNew ? type : united(known->second, type);
        }
    }
    TypePtr of(const expr::Field& field) const {
        const auto known = types_.find(field.name);
        if (known != types_.end() && known->second != nullptr) {
            return known->second;
        }
        return field.type.kind == expr::TypeKind::kDecimal && !field.type.isList
                   ? arrow::decimal128(38, 9)
                   : arrays::toArrowType(field.type);
    }

 private:
    std::vector<expr::Field> columns_;
    std::map<std::string, TypePtr> types_;
};

/// Whether the times of a CSV column have a zone: checks the first value of each file.
Result<bool> hasZone(const Dataset& dataset, const std::string& column) {
    bool isZoned = false;
    for (std::size_t i = 0; i < dataset.files().size(); ++i) {
        ASSIGN_OR_RETURN(const std::shared_ptr<const files::FileMetadata> facts, dataset.facts(i));
        const auto& fields = facts->schema.fields;
        const auto at = std::ranges::find(fields, column, &expr::Field::name);
        const files::CsvPlace* const first =
            at == fields.end() ? nullptr
                               : facts->csv[static_cast<std::size_t>(at - fields.begin())].first(
                                     files::CsvForm::kTime);
        if (first == nullptr) {
            continue;
        }
        isZoned = first->value.find_first_of("+-Zz", kDateBytes) != std::string::npos;
        if (!isZoned) {
            return false;
        }
    }
    return isZoned;
}

/// CSV adds only whether times have a zone; they are read as UTC.
Status addZones(const Dataset& dataset, std::map<std::string, TypePtr>& types) {
    for (auto& [name, type] : types) {
        if (type->id() == Type::TIMESTAMP && dataset.partition(name) == nullptr) {
            ASSIGN_OR_RETURN(const bool isZoned, hasZone(dataset, name));
            type = isZoned ? arrow::timestamp(arrow::TimeUnit::MICRO, "UTC") : type;
        }
    }
    return okStatus();
}

}  // namespace

Result<std::map<std::string, TypePtr>> storedTypes(const Dataset& dataset,
                                                   const std::vector<std::string>& columns) {
    std::vector<expr::Field> wanted, asked;
    for (const std::string& name : columns) {
        const expr::Field* field = dataset.schema().find(name);
        if (field == nullptr) {
            return internalError("the dataset has no column '", name, "'");
        }
        wanted.push_back(*field);
        if (saysMore(field->type) && dataset.partition(name) == nullptr) {
            asked.push_back(*field);
        }
    }
    const bool hasTypes = dataset.options().format != "csv" && !asked.empty();
    StoredTypes types(std::move(asked));
    const std::size_t numFiles = hasTypes ? dataset.files().size() : 0;
    const bool isRemote = numFiles > 0 && objects::isObjectUri(dataset.files().front().path);
    std::vector<std::shared_ptr<arrow::Schema>> schemas;
    for (std::size_t first = 0; first < numFiles; first += kFilesAtOnce) {
        schemas.resize(std::min(kFilesAtOnce, numFiles - first));
        RETURN_IF_ERROR(parallelFor(schemas.size(), isRemote ? kRemoteThreads : kThreads, "schemas",
                                    [&](std::size_t i) -> Status {
                                        ASSIGN_OR_RETURN(schemas[i], schemaOf(dataset, first + i));
                                        return okStatus();
                                    }));
        for (const auto& schema : schemas) {
            types.add(*schema);
        }
    }
    std::map<std::string, TypePtr> out;
    for (const expr::Field& field : wanted) {
        out[field.name] = types.of(field);
    }
    if (dataset.options().format == "csv") {
        RETURN_IF_ERROR(addZones(dataset, out));
    }
    return out;
}

Result<std::shared_ptr<arrow::Array>> asStored(const std::shared_ptr<arrow::Array>& array,
                                               const TypePtr& type, std::string_view place) {
    if (array->type()->Equals(*type)) {
        return array;
    }
    if (dynamic_cast<const arrow::DecimalType*>(type.get()) == nullptr) {
        return arrays::fromArrow(array->View(type), place);  // the same bytes as another type
    }
    arrow::compute::ExecContext context(arrow::default_memory_pool());
    context.set_use_threads(false);
    ASSIGN_OR_RETURN(
        const arrow::Datum cast,
        arrays::fromArrow(
            arrow::compute::Cast(array, arrow::compute::CastOptions::Safe(type), &context), place));
    return cast.make_array();
}

}  // namespace millrace::dataset
