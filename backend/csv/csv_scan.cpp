#include "backend/csv/csv_scan.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include <xxhash.h>

#include "backend/arrays/value_text.h"
#include "backend/core/hash.h"
#include "backend/core/text.h"
#include "backend/core/utf8.h"
#include "backend/csv/csv_input.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_types.h"
#include "backend/csv/csv_values.h"

namespace millrace::csv {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kRecordBytesMax = 256 << 20;
constexpr std::size_t kShownBytes = 60;  // of a value in facts

class Scanner {
 public:
    Scanner(const files::DataFile& file, const files::ReadOptions& options, CsvInput& input)
        : file_(file),
          options_(options),
          input_(input),
          records_(options),
          nulls_(options),
          hash_(XXH3_createState(), &XXH3_freeState) {
        XXH3_128bits_reset(hash_.get());
    }

    Result<files::FileFacts> scan() {
        RETURN_IF_ERROR(fill());
        RETURN_IF_ERROR(begin());
        bool isFirst = true;
        for (;;) {
            ASSIGN_OR_RETURN(const bool hasRecord, nextRecord());
            if (!hasRecord) {
                break;
            }
            RETURN_IF_ERROR(checkEncoding());
            if (isFirst) {
                RETURN_IF_ERROR(header());
            }
            if (!isFirst || !options_.csvHasHeader) {
                RETURN_IF_ERROR(row());
            }
            isFirst = false;
        }
        if (isFirst) {
            return dataLoss(file_.path, ": the file is empty; a CSV file needs a header line");
        }
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

    /// The content's, or with it what makes other values of the same content.
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

    /// Passes over a byte order mark and the lines that are not read.
    Status begin() {
        if (text().starts_with("\xff\xfe") || text().starts_with("\xfe\xff")) {
            return notUtf8(1, "it begins as UTF-16", "UTF-16");
        }
        if (text().starts_with("\xef\xbb\xbf")) {
            at_ = 3;
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

    /// Drops what lies before `at_` and reads on; sets isEnd_ at the end of the file.
    Status fill() {
        std::memmove(buffer_.data(), buffer_.data() + at_, size_ - at_);
        base_ += static_cast<std::int64_t>(at_);
        size_ -= at_;
        at_ = 0;
        if (size_ > kRecordBytesMax) {
            return invalidArgument(file_.path, ":", line_, ": this record is longer than ",
                                   formatBytes(kRecordBytesMax), "; is a quote unterminated?");
        }
        buffer_.resize(std::max(buffer_.size(), size_ + std::max(kBlockBytes, size_)));
        ASSIGN_OR_RETURN(const std::int64_t n,
                         input_.readSome(base_ + static_cast<std::int64_t>(size_),
                                         static_cast<std::int64_t>(buffer_.size() - size_),
                                         buffer_.data() + size_));
        XXH3_128bits_update(hash_.get(), buffer_.data() + size_, static_cast<std::size_t>(n));
        size_ += static_cast<std::size_t>(n);
        isEnd_ = n == 0;
        return okStatus();
    }

    /// Cuts the next record; false at the end of the file.
    Result<bool> nextRecord() {
        for (;;) {
            recordAt_ = at_;
            recordLine_ = line_;
            const CsvRecords::Found found = records_.cut(text(), at_, isEnd_);
            if (found != CsvRecords::Found::kMore) {
                line_ += records_.lines();
            }
            if (found == CsvRecords::Found::kRecord) {
                return true;
            }
            if (found == CsvRecords::Found::kNothing) {
                continue;
            }
            if (isEnd_) {
                if (at_ < size_) {
                    return invalidArgument(file_.path, ":", recordLine_,
                                           ": a quote is opened here and never closed");
                }
                return false;
            }
            RETURN_IF_ERROR(fill());
        }
    }

    Status checkEncoding() const {
        const std::string_view record = text().substr(recordAt_, at_ - recordAt_);
        const std::size_t valid = utf8Prefix(record);
        if (valid == record.size()) {
            return okStatus();
        }
        char byte[8];
        std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(record[valid]));
        return notUtf8(recordLine_, strCat("byte ", byte), "WINDOWS-1252");
    }

    Status notUtf8(std::int64_t line, std::string_view what, std::string_view encoding) const {
        return invalidArgument(file_.path, ":", line, ": not UTF-8 (", what,
                               "); convert it, from the encoding that it has: iconv -f ", encoding,
                               " -t UTF-8 '", file_.path, "' > utf8.csv");
    }

    std::string_view valueOf(std::size_t column) {
        return records_.value(text(), records_.fields()[column], memory_);
    }

    Status header() {
        std::set<std::string> names;
        for (std::size_t i = 0; i < records_.fields().size(); ++i) {
            std::string name = strCat("f", i);
            if (options_.csvHasHeader) {
                name = valueOf(i);
            }
            if (name.empty()) {
                return invalidArgument(file_.path, ":", recordLine_, ": column ", i + 1,
                                       " has no name in the header");
            }
            if (!names.insert(name).second) {
                return invalidArgument(file_.path, ":", recordLine_, ": two columns are called '",
                                       name, "'");
            }
            facts_.schema.fields.push_back({name, {}});
        }
        for (const expr::Field& field : facts_.schema.fields) {
            kinds_.push_back(csvKindGiven(options_, field.name));
        }
        facts_.csv.resize(records_.fields().size());
        return okStatus();
    }

    Status row() {
        if (records_.fields().size() != facts_.csv.size() || options_.csvDropsBadRows) {
            const std::string wrong = whatIsWrong();
            if (!wrong.empty() && !options_.csvDropsBadRows) {
                return invalidArgument(file_.path, ":", recordLine_, ": ", wrong);
            }
            if (!wrong.empty()) {
                leaveOut(wrong);
                return okStatus();
            }
        }
        if (facts_.chunks.empty() || facts_.chunks.back().rows == options_.csvSplitRows) {
            files::ChunkFacts chunk;
            chunk.offset = base_ + static_cast<std::int64_t>(recordAt_);
            chunk.firstLine = recordLine_;
            chunk.decodedBytes.assign(facts_.csv.size(), 0);
            facts_.chunks.push_back(std::move(chunk));
        }
        files::ChunkFacts& chunk = facts_.chunks.back();
        for (std::size_t i = 0; i < facts_.csv.size(); ++i) {
            const CsvField& field = records_.fields()[i];
            chunk.decodedBytes[i] += static_cast<std::int64_t>(field.end - field.begin) + 1;
            if (field.begin != field.end) {
                count(valueOf(i), facts_.csv[i]);
            }
        }
        ++chunk.rows;
        chunk.bytes = base_ + static_cast<std::int64_t>(at_) - chunk.offset;
        ++facts_.rows;
        return okStatus();
    }

    /// A bad record of several lines comes before others of one line: with a stray quote it may
    /// have taken good rows with it.
    void leaveOut(const std::string& wrong) {
        const std::int64_t lines = records_.lines();
        const bool isFirst = facts_.badRows++ == 0;
        if (lines > 1 && !hasLongBad_) {
            hasLongBad_ = true;
            facts_.firstBad = {files::CsvForm::kText, recordLine_,
                               strCat(wrong, "; ", lines,
                                      " lines are this one record, as a quote in it goes on over "
                                      "line ends")};
        } else if (isFirst) {
            facts_.firstBad = {files::CsvForm::kText, recordLine_, wrong};
        }
    }

    /// Empty when the record is a row. Values are looked at only where bad ones are left out.
    std::string whatIsWrong() {
        const std::size_t fields = records_.fields().size();
        if (fields != facts_.csv.size()) {
            return strCat(fields, fields == 1 ? " field, but the " : " fields, but the ",
                          options_.csvHasHeader ? "header" : "first line", " has ",
                          facts_.csv.size());
        }
        for (std::size_t i = 0; i < fields; ++i) {
            const std::string_view value =
                kinds_[i] != expr::TypeKind::kString ? valueOf(i) : std::string_view();
            if (!nulls_.isNull(value) && !csvFits(kinds_[i], value, options_.csvHasDecimalComma)) {
                return csvMisfit(facts_.schema.fields[i].name, value, {kinds_[i]});
            }
        }
        return "";
    }

    void count(std::string_view value, files::CsvColumn& column) const {
        if (nulls_.isNull(value)) {
            if (!value.empty()) {
                mark(files::CsvForm::kWord, value, column);
            }
            return;
        }
        const CsvLook look = lookOf(value, options_.csvHasDecimalComma);
        mark(look.form, value, column);
        if (look.isNegative) {
            mark(files::CsvForm::kNegative, value, column);
        }
        if (look.isInexact) {
            mark(files::CsvForm::kInexact, value, column);
        }
    }

    void mark(files::CsvForm form, std::string_view value, files::CsvColumn& column) const {
        if (column.counts[static_cast<std::size_t>(form)]++ == 0) {
            column.firsts.push_back({form, recordLine_, arrays::shownText(value, kShownBytes)});
        }
    }

    const files::DataFile& file_;
    const files::ReadOptions& options_;
    CsvInput& input_;
    CsvRecords records_;
    const CsvNulls nulls_;
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
    std::string buffer_, memory_;
    std::size_t at_ = 0, size_ = 0, recordAt_ = 0;
    std::int64_t base_ = 0;  ///< offset of buffer_[0] in the text
    bool isEnd_ = false;
    std::int64_t line_ = 1, recordLine_ = 1;
    bool hasLongBad_ = false;
    std::vector<expr::TypeKind> kinds_;  ///< by column: the type that is given, or kString
    files::FileFacts facts_;
};

}  // namespace

Result<files::FileFacts> scanCsv(const files::DataFile& file, const files::ReadOptions& options) {
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(CsvInput input, CsvInput::open(file.path, source, nullptr));
    ASSIGN_OR_RETURN(files::FileFacts facts, Scanner(file, options, input).scan());
    facts.etag = source.etag();
    return facts;
}

}  // namespace millrace::csv
