#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "backend/core/hash.h"
#include "backend/csv/csv_blocks.h"
#include "backend/csv/csv_forms.h"
#include "backend/csv/csv_input.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_target.h"
#include "backend/csv/csv_types.h"
#include "backend/files/packed_content.h"
#include "backend/text/text.h"

namespace millrace::csv {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kRecordBytesMax = 256 << 20;

class Scanner {
 public:
    Scanner(const files::DataFile& file, const files::ReadOptions& options, CsvInput& input,
            int threads)
        : file_(file),
          options_(options),
          input_(input),
          threads_(threads),
          hash_(XXH3_createState(), &XXH3_freeState) {
        XXH3_128bits_reset(hash_.get());
    }

    Result<files::FileMetadata> scan() {
        RETURN_IF_ERROR(fill());
        RETURN_IF_ERROR(begin());
        const Status cutting = cutAll();
        // Errors of rows already split take precedence over the error that stopped the splitting.
        while (blocks_ && rowsStatus_.ok()) {
            CsvBlocks::BlockPtr block = blocks_->take();
            if (block == nullptr) {
                break;
            }
            addBlock(std::move(block));
        }
        RETURN_IF_ERROR(rowsStatus_);
        RETURN_IF_ERROR(cutting);
        if (!blocks_) {
            return dataLoss(file_.path, ": the file is empty; a CSV file needs a header line");
        }
        blocks_.reset();
        const XXH128_hash_t h = XXH3_128bits_digest(hash_.get());
        facts_.contentHash = hashAsRead(Sum128{h.low64, h.high64}.hex());
        facts_.isCompressed = input_.isCompressed();
        for (std::size_t i = 0; i < facts_.csv.size(); ++i) {
            facts_.schema.fields[i].type.kind = csvKind(facts_.csv[i]);
        }
        return std::move(facts_);
    }

 private:
    std::string_view text() const { return {buffer_.data(), size_}; }

    /// The hash of the content; includes the options that change the values read from it.
    std::string hashAsRead(std::string content) const {
        std::string reading = options_.csvReading();
        if (reading.empty()) {
            return content;
        }
        for (const expr::Field& field : facts_.schema.fields) {
            const auto type = options_.csvTypes.find(field.name);
            const bool isNamed = options_.csvDropsBadRows && type != options_.csvTypes.end();
            strAppend(&reading, isNamed ? strCat("\n", field.name, "\n", type->second) : "");
        }
        return hashHex(strCat(content, "\n", reading));
    }

    /// Skips a byte order mark and the lines before the header.
    Status begin() {
        if (text().starts_with("\xff\xfe") || text().starts_with("\xfe\xff")) {
            return CsvSniffer(file_.path, options_, facts_.schema)
                .notUtf8(1, "it begins as UTF-16", "UTF-16");
        }
        if (text().starts_with("\xef\xbb\xbf")) {
            at_ = 3;
        }
        const std::string_view start = text().substr(at_, files::kContentBytes);
        if (files::isJson(start)) {
            return invalidArgument(file_.path, ": it is ", files::jsonContent(start));
        }
        for (std::int64_t i = 0; i < options_.csvSkipRows && !(isEnd_ && at_ == size_); ++i) {
            RETURN_IF_ERROR(skipLine());
        }
        return okStatus();
    }

    Status skipLine() {
        for (;;) {
            const std::size_t end = text().find_first_of("\r\n", at_);
            const bool isWhole = end != std::string_view::npos && end + 1 < size_;
            if (isWhole || isEnd_) {
                const bool isPair = isWhole && text().substr(end, 2) == "\r\n";
                at_ = isWhole ? end + (isPair ? 2 : 1) : size_;
                ++line_;
                return okStatus();
            }
            RETURN_IF_ERROR(fill());
        }
    }

    /// Drops the bytes before `at_` and reads more; sets isEnd_ at the end of the file.
    Status fill() {
        size_ -= at_;
        if (size_ > 0) {
            std::memmove(buffer_.data(), buffer_.data() + at_, size_);
        }
        base_ += static_cast<std::int64_t>(at_);
        at_ = 0;
        if (size_ > kRecordBytesMax) {
            return invalidArgument(file_.path, ":", line_, ": this record is longer than ",
                                   formatBytes(kRecordBytesMax), "; is a quote unterminated?");
        }
        const std::size_t room = size_ + std::max(kReadBytes, size_);
        buffer_.resize(std::max(buffer_.size(), room + kPaddingBytes));
        ASSIGN_OR_RETURN(
            const std::int64_t n,
            input_.readSome(base_ + static_cast<std::int64_t>(size_),
                            static_cast<std::int64_t>(room - size_), buffer_.data() + size_));
        XXH3_128bits_update(hash_.get(), buffer_.data() + size_, static_cast<std::size_t>(n));
        size_ += static_cast<std::size_t>(n);
        isEnd_ = n == 0;
        return okStatus();
    }

    /// Splits the file to its end and submits the blocks.
    Status cutAll() {
        CsvBlocks::BlockPtr block;
        while (rowsStatus_.ok()) {
            if (block == nullptr) {
                block = newBlock();
            }
            block->records.cut(text().substr(at_), isEnd_, size_);
            if (block->records.bytes() > 0) {
                RETURN_IF_ERROR(submit(std::move(block)));
                RETURN_IF_ERROR(isEnd_ ? okStatus() : fill());
                continue;
            }
            if (isEnd_ && at_ < size_) {
                return invalidArgument(file_.path, ":", line_,
                                       ": a quote is opened here and never closed");
            }
            if (isEnd_) {
                break;
            }
            RETURN_IF_ERROR(fill());
        }
        return okStatus();
    }

    CsvBlocks::BlockPtr newBlock() {
        return spare_ != nullptr ? std::move(spare_) : std::make_unique<CsvBlock>(options_);
    }

    /// Moves the buffer to the block; copies the bytes after its text to another buffer.
    Status submit(CsvBlocks::BlockPtr block) {
        const std::size_t end = at_ + block->records.bytes();
        block->buffer.resize(std::max(block->buffer.size(), size_ - end + kPaddingBytes));
        std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(end),
                  buffer_.begin() + static_cast<std::ptrdiff_t>(size_), block->buffer.begin());
        std::swap(buffer_, block->buffer);
        block->text = std::string_view(block->buffer.data() + at_, end - at_);
        block->offset = base_ + static_cast<std::int64_t>(at_);
        block->line = line_;
        block->firstRow = 0;
        base_ += static_cast<std::int64_t>(end);
        size_ -= end;
        at_ = 0;
        line_ += block->records.lines();
        if (!blocks_ && !block->records.records().empty()) {
            RETURN_IF_ERROR(header(*block));
        }
        if (!blocks_) {
            return okStatus();
        }
        blocks_->submit(std::move(block));
        while (rowsStatus_.ok() && blocks_->isFull()) {
            addBlock(blocks_->take());
        }
        return okStatus();
    }

    /// Reads the header from the first record.
    Status header(CsvBlock& block) {
        const CsvRecord& record = block.records.records()[0];
        RETURN_IF_ERROR(
            CsvSniffer(file_.path, options_, facts_.schema).checkEncoding(block, record));
        const CsvText values(block.text.data(), block.records.quote());
        const std::int64_t line = block.line + record.line;
        std::string memory;
        std::set<std::string> names;
        for (std::size_t i = 0; i < record.fields; ++i) {
            std::string name = strCat("f", i);
            if (options_.csvHasHeader) {
                name = values.value(block.records.fields()[record.firstField + i], memory);
            }
            // A field without a name keeps its place as an unreadable column.
            if (name.empty()) {
                facts_.schema.refused.push_back(
                    {"", strCat("has no name in the header (column ", i + 1,
                                "); write a name there to read it")});
            } else if (!names.insert(name).second) {
                facts_.schema.refused.push_back(
                    {std::exchange(name, ""),
                     strCat("appears twice in the header, and only the first is read (column ",
                            i + 1, " is not); give it another name")});
            }
            facts_.schema.fields.push_back({name, {}});
        }
        if (names.empty()) {
            return invalidArgument(file_.path, ":", line, ": no column has a name in the header; ",
                                   options_.csvKey, ".header: false calls them f0, f1, ...");
        }
        if (options_.csvHasHeader && hasRowNames(block)) {
            const std::string own = names.contains(kRowNames) ? "" : kRowNames;
            facts_.schema.fields.insert(facts_.schema.fields.begin(), {own, {}});
        }
        facts_.csv.resize(facts_.schema.fields.size());
        block.firstRow = options_.csvHasHeader ? 1 : 0;
        sniffer_.emplace(file_.path, options_, facts_.schema);
        blocks_.emplace(*sniffer_, threads_);
        return okStatus();
    }

    /// Whether every row of the first block has one field more than the header: R writes names of
    /// rows like this. A last field that is empty everywhere is a delimiter at the lines' ends, and
    /// a header of one field may be a title, or cut by another delimiter: those stay errors.
    static bool hasRowNames(const CsvBlock& block) {
        const auto records = block.records.records();
        const std::size_t fields = records[0].fields;
        bool hasLast = false;
        for (const CsvRecord& record : records.subspan(1)) {
            if (record.fields != fields + 1) {
                return false;
            }
            const CsvField& last = block.records.fields()[record.firstField + fields];
            hasLast |= last.begin != last.end;
        }
        return fields > 1 && hasLast;
    }

    /// Adds the results of the file's next block.
    void addBlock(CsvBlocks::BlockPtr block) {
        if (!block->error.ok()) {
            rowsStatus_ = block->error;
            return;
        }
        const auto records = block->records.records();
        auto bad = block->bad.begin();
        for (std::size_t r = block->firstRow; r < records.size(); ++r) {
            if (bad != block->bad.end() && bad->record == r) {
                leaveOut(*block, *bad++);
            } else {
                addRow(*block, records[r]);
            }
        }
        for (std::size_t c = 0; c < facts_.csv.size(); ++c) {
            addColumn(block->columns[c], facts_.csv[c]);
        }
        spare_ = std::move(block);
    }

    void addRow(const CsvBlock& block, const CsvRecord& record) {
        if (facts_.chunks.empty() || facts_.chunks.back().rows == options_.csvSplitRows) {
            files::ColumnChunkMetadata chunk;
            chunk.offset = block.offset + record.begin;
            chunk.firstLine = block.line + record.line;
            chunk.decodedBytes.assign(facts_.csv.size(), 0);
            facts_.chunks.push_back(std::move(chunk));
        }
        files::ColumnChunkMetadata& chunk = facts_.chunks.back();
        const CsvField* const fields = block.records.fields().data() + record.firstField;
        for (std::size_t i = 0; i < facts_.csv.size(); ++i) {
            chunk.decodedBytes[i] += std::int64_t{fields[i].end} - fields[i].begin + 1;
        }
        ++chunk.rows;
        chunk.bytes = block.offset + record.end - chunk.offset;
        ++facts_.rows;
    }

    static void addColumn(const files::CsvColumn& seen, files::CsvColumn& column) {
        for (const files::CsvPlace& place : seen.firsts) {
            if (column.count(place.form) == 0) {
                column.firsts.push_back(place);
            }
        }
        for (const std::string& text : seen.texts) {
            column.addText(text);
        }
        for (std::size_t i = 0; i < files::kCsvForms; ++i) {
            column.counts[i] += seen.counts[i];
        }
    }

    /// Prefers to report a bad record of several lines: with a stray quote it may have swallowed
    /// good rows.
    void leaveOut(const CsvBlock& block, const CsvBadRecord& bad) {
        const CsvRecord& record = block.records.records()[bad.record];
        const std::int64_t line = block.line + record.line;
        ++facts_.badRows;
        if (record.lines > 1 && !hasLongBad_) {
            hasLongBad_ = true;
            facts_.bad.insert(facts_.bad.begin(),
                              {"",
                               1,
                               {files::CsvForm::kText, line,
                                strCat(bad.wrong.text, "; ", record.lines,
                                       " lines are this one record, as a quote in it goes on over "
                                       "line ends")}});
        } else {
            files::CsvBadRows::add({record.lines > 1 ? "" : bad.wrong.reason,
                                    1,
                                    {files::CsvForm::kText, line, bad.wrong.text}},
                                   facts_.bad);
        }
    }

    const files::DataFile& file_;
    const files::ReadOptions& options_;
    CsvInput& input_;
    const int threads_;
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
    std::vector<char> buffer_;
    std::size_t at_ = 0, size_ = 0;
    std::int64_t base_ = 0;  ///< offset of buffer_[0] in the text
    bool isEnd_ = false;
    std::int64_t line_ = 1;
    bool hasLongBad_ = false;
    files::FileMetadata facts_;
    Status rowsStatus_;
    CsvBlocks::BlockPtr spare_;
    std::optional<CsvSniffer> sniffer_;  ///< set once the header was read
    std::optional<CsvBlocks> blocks_;
};

}  // namespace

Result<files::FileMetadata> scanCsv(const files::DataFile& file, const files::ReadOptions& options,
                                    int threads) {
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(CsvInput input, CsvInput::open(file.path, source, nullptr));
    ASSIGN_OR_RETURN(files::FileMetadata facts, Scanner(file, options, input, threads).scan());
    facts.etag = source.etag();
    return facts;
}

}  // namespace millrace::csv
