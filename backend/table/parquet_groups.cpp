#include "backend/table/parquet_groups.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include <arrow/array.h>
#include <arrow/io/buffered.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/base64.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/size_statistics.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/parallel.h"
#include "backend/table/text_word.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;

constexpr char kMagic[] = {'P', 'A', 'R', '1'};
constexpr std::int64_t kRowsTried = 16'384;  ///< sample that decides whether a column is worth a
                                             ///< codec
constexpr double kWorthACodec = 0.94;        ///< largest ratio of compressed to uncompressed bytes

Result<parquet::Compression::type> codecOf(const std::string& name) {
    if (name == "zstd") {
        return parquet::Compression::ZSTD;
    }
    if (name == "lz4") {
        return parquet::Compression::LZ4;
    }
    if (name == "snappy") {
        return parquet::Compression::SNAPPY;
    }
    if (name == "none") {
        return parquet::Compression::UNCOMPRESSED;
    }
    return invalidArgument("codec '", name, "' is not zstd, lz4, snappy or none");
}

Result<std::shared_ptr<parquet::WriterProperties>> propertiesOf(
    const parquet::SchemaDescriptor& leaves, const WriterOptions& options,
    const LeafEncodings& ways) {
    ASSIGN_OR_RETURN(const auto codec, codecOf(options.codec));
    parquet::WriterProperties::Builder builder;
    builder.compression(codec)->enable_dictionary()->enable_statistics();
    builder.enable_write_page_index();
    builder.data_page_version(parquet::ParquetDataPageVersion::V1);
    builder.max_row_group_length(std::numeric_limits<std::int64_t>::max());
    if (codec == parquet::Compression::ZSTD) {
        builder.compression_level(1);
    }
    for (int leaf = 0; leaf < leaves.num_columns(); ++leaf) {
        const parquet::Type::type type = leaves.Column(leaf)->physical_type();
        const bool isFloat = type == parquet::Type::FLOAT || type == parquet::Type::DOUBLE;
        if (ways.packed.contains(leaf)) {
            builder.encoding(leaves.Column(leaf)->path(),
                             type == parquet::Type::BYTE_ARRAY
                                 ? parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY
                                 : parquet::Encoding::DELTA_BINARY_PACKED);
        }
        if (ways.varied.contains(leaf) || (isFloat && !options.hasFloatDictionary)) {
            builder.disable_dictionary(leaves.Column(leaf)->path());
        }
        if (ways.dense.contains(leaf)) {
            builder.compression(leaves.Column(leaf)->path(), parquet::Compression::UNCOMPRESSED)
                ->compression_level(leaves.Column(leaf)->path(),
                                    arrow::util::kUseDefaultCompressionLevel);
        }
    }
    return builder.build();
}

/// For values of fixed width or text: 64 bits that differ if the values differ.
std::uint64_t markOf(const arrow::Array& values, int bytes, std::int64_t row) {
    if (bytes == 0) {
        return hashOf(static_cast<const arrow::BinaryArray&>(values).GetView(row));
    }
    std::uint64_t value = 0;
    std::memcpy(&value, values.data()->buffers[1]->data() + (values.offset() + row) * bytes,
                static_cast<std::size_t>(bytes));
    return value;
}

// Counts distinct marks by open addressing; 0 marks a free slot and is counted apart.
class Marks {
 public:
    explicit Marks(std::int64_t most)
        : seen_(std::bit_ceil(static_cast<std::size_t>(most) * 2 + 2), 0) {}
    void add(std::uint64_t mark) {
        different_ += mark == 0 && !std::exchange(hasZero_, true) ? 1 : 0;
        std::size_t slot = (mark * 0x9e3779b97f4a7c15U >> 20) & (seen_.size() - 1);
        while (seen_[slot] != mark && seen_[slot] != 0) {
            slot = (slot + 1) & (seen_.size() - 1);
        }
        different_ += std::exchange(seen_[slot], mark) != mark ? 1 : 0;
    }
    std::int64_t different() const { return different_; }

 private:
    std::vector<std::uint64_t> seen_;
    std::int64_t different_ = 0;
    bool hasZero_ = false;
};

/// More than half of the values are distinct: a dictionary would be a second copy of them.
bool isVaried(const ColumnPieces& pieces, const arrow::DataType& type) {
    const bool isText = type.id() == arrow::Type::STRING || type.id() == arrow::Type::BINARY;
    if (!isText && !arrow::is_integer(type.id()) && !arrow::is_temporal(type.id())) {
        return false;
    }
    const int bytes = isText ? 0 : static_cast<const arrow::FixedWidthType&>(type).bit_width() / 8;
    Marks marks(pieces.rows());
    const std::int64_t half = pieces.rows() / 2;
    std::int64_t left = pieces.rows();
    for (const auto& array : pieces.arrays()) {
        for (std::int64_t row = 0; row < array->length(); ++row) {
            marks.add(array->IsNull(row) ? 0 : markOf(*array, bytes, row));
            --left;
            if (marks.different() > half || marks.different() + left <= half) {
                return marks.different() > half;  // whatever the remaining rows hold
            }
        }
    }
    return false;
}

ColumnPieces piecesOf(const std::vector<BatchPtr>& batches, int column) {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (const BatchPtr& batch : batches) {
        arrays.push_back(batch->column(column));
    }
    return ColumnPieces(std::move(arrays));
}

int leavesOf(const arrow::DataType& type) {
    if (type.num_fields() == 0) {
        return 1;
    }
    int leaves = 0;
    for (const auto& field : type.fields()) {
        leaves += leavesOf(*field->type());
    }
    return leaves;
}

/// Arrow's own schema, which Arrow-based readers look for in the footer.
Result<std::shared_ptr<const arrow::KeyValueMetadata>> footerTexts(const arrow::Schema& schema) {
    const auto texts = schema.metadata() != nullptr ? schema.metadata()->Copy()
                                                    : arrow::key_value_metadata({}, {});
    ASSIGN_OR_RETURN(const auto types, fromArrow(arrow::ipc::SerializeSchema(schema), "schema"));
    texts->Append("ARROW:schema", arrow::util::base64_encode(types->ToString()));
    return texts;
}

}  // namespace

Result<std::unique_ptr<TableEncoder>> ParquetEncoder::make(std::shared_ptr<arrow::Schema> schema,
                                                           const WriterOptions& options) {
    RETURN_IF_ERROR(codecOf(options.codec).status());
    std::unique_ptr<ParquetEncoder> encoder(new ParquetEncoder(std::move(schema), options));
    RETURN_IF_ERROR(encoder->findLeaves());
    return std::unique_ptr<TableEncoder>(std::move(encoder));
}

Status ParquetEncoder::findLeaves() {
    RETURN_IF_ERROR(fromArrow(parquet::arrow::ToParquetSchema(
                                  schema_.get(), *parquet::default_writer_properties(), &leaves_),
                              "parquet schema"));
    int leaf = 0;
    for (const auto& field : schema_->fields()) {
        firstLeaf_.push_back(leaf);
        leaf += leavesOf(*field->type());
    }
    return leaf == leaves_->num_columns()
               ? okStatus()
               : internalError("the table has ", leaves_->num_columns(), " leaves, not ", leaf);
}

ParquetEncoder::Trial ParquetEncoder::trialOf(const std::vector<BatchPtr>& group) {
    Trial trial;
    for (const BatchPtr& batch : group) {
        trial.ofGroup += batch->num_rows();
        if (trial.rows < kRowsTried) {
            trial.batches.push_back(batch->Slice(0, kRowsTried - trial.rows));
            trial.rows += trial.batches.back()->num_rows();
        }
    }
    return trial;
}

Status ParquetEncoder::prepare(const std::vector<BatchPtr>& first) {
    LeafEncodings ways;
    for (int c = 0; c < schema_->num_fields(); ++c) {
        if (!first.empty() && isVaried(piecesOf(first, c), *schema_->field(c)->type())) {
            ways.varied.insert(firstLeaf_[static_cast<std::size_t>(c)]);
        }
    }
    ASSIGN_OR_RETURN(properties_, propertiesOf(*leaves_, options_, ways));
    ASSIGN_OR_RETURN(const auto codec, codecOf(options_.codec));
    if (codec == parquet::Compression::UNCOMPRESSED || first.empty()) {
        return okStatus();
    }
    const Trial trial = trialOf(first);
    ASSIGN_OR_RETURN(std::vector<Sizes> sizes, sizesOf(trial));
    // Any reader that supports zstd supports DELTA_BINARY_PACKED; older ones may support neither.
    if (codec == parquet::Compression::ZSTD) {
        RETURN_IF_ERROR(packVaried(trial, sizes, ways));
    }
    for (std::size_t c = 0; c < sizes.size(); ++c) {
        // A column that hardly gets smaller takes as long to decompress as it saves in reading.
        const auto most = kWorthACodec * static_cast<double>(sizes[c].before);
        if (static_cast<double>(sizes[c].after) > most) {
            ways.dense.insert(firstLeaf_[c]);
        }
    }
    ASSIGN_OR_RETURN(properties_, propertiesOf(*leaves_, options_, ways));
    return okStatus();
}

/// Packs integers if packed differences take at most the bytes of the plain ones compressed:
/// packing takes a fraction of the codec's time. Stores texts after their lengths if that
/// compresses no worse: the codec gets less input. `sizes` is updated to the chosen encoding.
Status ParquetEncoder::packVaried(const Trial& trial, std::vector<Sizes>& sizes,
                                  LeafEncodings& ways) {
    for (const int leaf : ways.varied) {
        const parquet::Type::type type = leaves_->Column(leaf)->physical_type();
        if (type == parquet::Type::INT32 || type == parquet::Type::INT64 ||
            type == parquet::Type::BYTE_ARRAY) {
            ways.packed.insert(leaf);
        }
    }
    ASSIGN_OR_RETURN(properties_, propertiesOf(*leaves_, options_, ways));
    for (std::size_t c = 0; c < sizes.size(); ++c) {
        if (ways.packed.contains(firstLeaf_[c])) {
            ASSIGN_OR_RETURN(const Sizes packed, sizeOf(trial, static_cast<int>(c)));
            const bool isText =
                leaves_->Column(firstLeaf_[c])->physical_type() == parquet::Type::BYTE_ARRAY;
            if ((isText ? packed.after : packed.before) <= sizes[c].after) {
                sizes[c] = packed;
            } else {
                ways.packed.erase(firstLeaf_[c]);
            }
        }
    }
    return okStatus();
}

/// 0 for columns that Arrow encodes. Pages grow with the rows, a small dictionary does not.
Result<ParquetEncoder::Sizes> ParquetEncoder::sizeOf(const Trial& trial, int column) const {
    const int leaf = firstLeaf_[static_cast<std::size_t>(column)];
    if (!isPlainColumn(*schema_->field(column)->type(), *leaves_->Column(leaf))) {
        return Sizes{};
    }
    ASSIGN_OR_RETURN(const std::vector<EncodedChunk> chunks, encodeColumn(trial.batches, column));
    const EncodedChunk& chunk = chunks.front();
    if (chunk.values == 0) {
        return Sizes{};
    }
    const auto ofGroup = [&](std::int64_t dictionary, std::int64_t all) {
        return dictionary + (all - dictionary) * trial.ofGroup / trial.rows;
    };
    return Sizes{ofGroup(chunk.plainDictionaryBytes, chunk.plainBytes),
                 ofGroup(chunk.dataOffset, chunk.bytes->size())};
}

Result<std::vector<ParquetEncoder::Sizes>> ParquetEncoder::sizesOf(const Trial& trial) const {
    std::vector<Sizes> sizes;
    for (int c = 0; c < schema_->num_fields(); ++c) {
        ASSIGN_OR_RETURN(sizes.emplace_back(), sizeOf(trial, c));
    }
    return sizes;
}

Result<std::vector<EncodedChunk>> ParquetEncoder::encodeColumn(const std::vector<BatchPtr>& batches,
                                                               int column) const {
    const ColumnPieces pieces = piecesOf(batches, column);
    const auto& field = schema_->field(column);
    const parquet::ColumnDescriptor& leaf =
        *leaves_->Column(firstLeaf_[static_cast<std::size_t>(column)]);
    if (!isPlainColumn(*field->type(), leaf)) {
        return encodeByArrow(pieces, field, properties_);
    }
    std::vector<EncodedChunk> chunks(1);
    ASSIGN_OR_RETURN(chunks.front(), encodeChunk(pieces, leaf, properties_));
    return chunks;
}

Result<EncodedPart> ParquetEncoder::encode(const std::vector<BatchPtr>& batches,
                                           std::size_t column) const {
    ASSIGN_OR_RETURN(std::vector<EncodedChunk> chunks,
                     encodeColumn(batches, static_cast<int>(column)));
    return EncodedPart{nullptr, std::make_shared<std::vector<EncodedChunk>>(std::move(chunks))};
}

Result<std::unique_ptr<TableFile>> ParquetEncoder::open(const std::string& path) const {
    ASSIGN_OR_RETURN(auto out, fromArrow(arrow::io::FileOutputStream::Open(path), path));
    auto file = std::make_unique<ParquetFile>(path, std::move(out), *this);
    RETURN_IF_ERROR(file->begin());
    return std::unique_ptr<TableFile>(std::move(file));
}

ParquetFile::ParquetFile(std::string path, std::shared_ptr<arrow::io::FileOutputStream> file,
                         const ParquetEncoder& encoder)
    : path_(std::move(path)),
      file_(std::move(file)),
      encoder_(encoder),
      facts_(parquet::FileMetaDataBuilder::Make(&encoder.leaves(), encoder.properties())),
      index_(parquet::PageIndexBuilder::Make(&encoder.leaves())) {}

ParquetFile::~ParquetFile() = default;

Status ParquetFile::begin() {
    return writeStatus(file_->Write(kMagic, sizeof kMagic), path_);
}

Status ParquetFile::append(const EncodedGroup& group) {
    try {
        return appendChunks(group);
    } catch (const parquet::ParquetException& e) {
        return internalError(path_, ": ", e.what());
    }
}

Status ParquetFile::appendChunks(const EncodedGroup& group) {
    parquet::RowGroupMetaDataBuilder* const rowGroup = facts_->AppendRowGroup();
    index_->AppendRowGroup();
    rowGroup->set_num_rows(group.rows);
    std::int64_t plainBytes = 0;
    int leaf = 0;
    for (const EncodedPart& part : group.parts) {
        for (const EncodedChunk& chunk : *part.chunks) {
            RETURN_IF_ERROR(appendChunk(chunk, *rowGroup, leaf++));
            plainBytes += chunk.plainBytes;
        }
    }
    const bool hasNumber = groups_ <= std::numeric_limits<std::int16_t>::max();
    rowGroup->Finish(plainBytes, static_cast<std::int16_t>(hasNumber ? groups_ : -1));
    ++groups_;
    return okStatus();
}

Status ParquetFile::appendChunk(const EncodedChunk& chunk,
                                parquet::RowGroupMetaDataBuilder& rowGroup, int leaf) {
    ASSIGN_OR_RETURN(const std::int64_t at, bytesWritten());
    RETURN_IF_ERROR(writeStatus(file_->Write(chunk.bytes), path_));
    parquet::ColumnChunkMetaDataBuilder* const facts = rowGroup.NextColumnChunk();
    if (chunk.statistics.is_set()) {
        facts->SetStatistics(chunk.statistics);
    }
    facts->Finish(chunk.values, chunk.hasDictionary ? at + chunk.dictionaryOffset : -1, -1,
                  at + chunk.dataOffset, chunk.bytes->size(), chunk.plainBytes, chunk.hasDictionary,
                  chunk.isMixed, chunk.dictionaryPages, chunk.dataPages);
    parquet::ColumnIndexBuilder* const values = index_->GetColumnIndexBuilder(leaf);
    parquet::OffsetIndexBuilder* const places = index_->GetOffsetIndexBuilder(leaf);
    for (const ChunkPage& page : chunk.pages) {
        values->AddPage(page.statistics, {});
        places->AddPage(page.offset, page.bytes, page.firstRow);
    }
    values->Finish();
    places->Finish(at);
    return okStatus();
}

Status ParquetFile::close() {
    try {
        RETURN_IF_ERROR(finish());
    } catch (const parquet::ParquetException& e) {
        return writeStatus(arrow::Status::IOError(e.what()), path_);
    }
    return writeStatus(file_->Close(), path_);
}

// The index has many pieces of a few bytes, and each asks for the file position: buffers them, so
// that neither writes nor queries reach the file one by one.
Status ParquetFile::finish() {
    constexpr std::int64_t kBuffer = std::int64_t{256} << 10;
    ASSIGN_OR_RETURN(const auto out, fromArrow(arrow::io::BufferedOutputStream::Create(
                                                   kBuffer, arrow::default_memory_pool(), file_),
                                               path_));
    index_->Finish();
    const auto written = index_->WriteTo(out.get());
    facts_->SetIndexLocations(parquet::IndexKind::kColumnIndex, written.column_index_locations);
    facts_->SetIndexLocations(parquet::IndexKind::kOffsetIndex, written.offset_index_locations);
    ASSIGN_OR_RETURN(const auto texts, footerTexts(encoder_.schema()));
    parquet::WriteFileMetaData(*facts_->Finish(texts), out.get());
    return writeStatus(out->Detach().status(), path_);
}

Result<std::int64_t> ParquetFile::bytesWritten() const {
    return fromArrow(file_->Tell(), path_);
}

}  // namespace millrace::table
