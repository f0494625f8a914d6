#include "backend/recipe/counted_values.h"

#include <memory>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/hash.h"

namespace millrace::recipe {
namespace {

using arrays::fromArrow;

void appendNumber(std::uint64_t number, std::string& out) {
    for (int i = 0; i < 64; i += 8) {
        out.push_back(static_cast<char>(number >> i));
    }
}

}  // namespace

expr::DataType CountedValues::type() const {
    expr::DataType type;
    type.kind = values->type_id() == arrow::Type::STRING   ? expr::TypeKind::kString
                : values->type_id() == arrow::Type::UINT64 ? expr::TypeKind::kUint64
                                                           : expr::TypeKind::kInt64;
    type.nullable = false;
    return type;
}

std::string CountedValues::hash() const {
    std::string text = type().name() + "\n";
    for (std::int64_t i = 0; i < values->length(); ++i) {
        if (values->type_id() == arrow::Type::STRING) {
            const auto value = static_cast<const arrow::StringArray&>(*values).GetView(i);
            appendNumber(value.size(), text);
            text += value;
        } else {
            appendNumber(static_cast<const arrow::UInt64Array&>(*values).raw_values()[i], text);
        }
    }
    return hashHex(text);
}

std::int64_t CountedValues::bytes() const {
    constexpr std::int64_t kNumber = 8;
    const std::int64_t texts =
        values->type_id() == arrow::Type::STRING
            ? static_cast<const arrow::StringArray&>(*values).total_values_length()
            : 0;
    return texts + kNumber * values->length();
}

Result<std::string> CountedValues::toFile() const {
    // Arrow's utf8 has to be UTF-8, which the values of a binary column need not be.
    const bool areBytes = values->type_id() == arrow::Type::STRING &&
                          !static_cast<const arrow::StringArray&>(*values).ValidateUTF8().ok();
    eval::ArrayPtr stored = values;
    if (areBytes) {
        ASSIGN_OR_RETURN(stored, fromArrow(values->View(arrow::binary()), "counted values"));
    }
    const auto schema = arrow::schema({arrow::field("value", stored->type(), false),
                                       arrow::field("count", arrow::int64(), false)});
    const auto batch = arrow::RecordBatch::Make(schema, stored->length(), {stored, counts});
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.use_threads = false;
    ASSIGN_OR_RETURN(
        std::unique_ptr<arrow::util::Codec> codec,
        fromArrow(arrow::util::Codec::Create(arrow::Compression::ZSTD), "counted values"));
    options.codec = std::move(codec);
    ASSIGN_OR_RETURN(const auto out, fromArrow(arrow::io::BufferOutputStream::Create(), "memory"));
    ASSIGN_OR_RETURN(const auto writer,
                     fromArrow(arrow::ipc::MakeFileWriter(out, schema, options), "memory"));
    RETURN_IF_ERROR(fromArrow(writer->WriteRecordBatch(*batch), "memory"));
    RETURN_IF_ERROR(fromArrow(writer->Close(), "memory"));
    ASSIGN_OR_RETURN(const auto bytes, fromArrow(out->Finish(), "memory"));
    return bytes->ToString();
}

Result<CountedValues> CountedValues::ofFile(std::string_view file, std::string_view hash,
                                            const std::string& name) {
    const auto damaged = [&name](const std::string& why) {
        return dataLoss(name, ": the counted values are damaged: ", why);
    };
    // Copies the bytes: arrays may be views of them.
    const auto input =
        std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::string(file)));
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.use_threads = false;
    const auto reader = arrow::ipc::RecordBatchFileReader::Open(input, options);
    if (!reader.ok()) {
        return damaged(reader.status().message());
    }
    const auto batch = (*reader)->num_record_batches() == 1
                           ? (*reader)->ReadRecordBatch(0)
                           : arrow::Status::Invalid("they are not in one piece");
    if (!batch.ok()) {
        return damaged(batch.status().message());
    }
    const auto type =
        (*batch)->num_columns() == 2 ? (*batch)->column(0)->type_id() : arrow::Type::NA;
    const bool isKnown = type == arrow::Type::STRING || type == arrow::Type::BINARY ||
                         type == arrow::Type::INT64 || type == arrow::Type::UINT64;
    if (!isKnown || (*batch)->column(1)->type_id() != arrow::Type::INT64 ||
        !(*batch)->ValidateFull().ok()) {
        return damaged("they are not values and counts");
    }
    CountedValues found{(*batch)->column(0), (*batch)->column(1)};
    if (type == arrow::Type::BINARY) {
        ASSIGN_OR_RETURN(found.values, fromArrow(found.values->View(arrow::utf8()), name));
    }
    if (found.values->null_count() != 0 || found.hash() != hash) {
        return damaged("their hash is another one");
    }
    return found;
}

}  // namespace millrace::recipe
