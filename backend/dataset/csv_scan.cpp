#include "backend/dataset/csv_scan.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <set>

#include <xxhash.h>

#include "backend/core/hash.h"
#include "backend/dataset/file_source.h"

namespace millrace::dataset {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kRecordBytesMax = 256 << 20;

bool areDigits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isDate(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-' || !areDigits(text.substr(0, 4)) ||
        !areDigits(text.substr(5, 2)) || !areDigits(text.substr(8, 2))) {
        return false;
    }
    const int month = (text[5] - '0') * 10 + text[6] - '0';
    const int day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/// YYYY-MM-DD[T ]HH:MM:SS[.f{1,6}]
bool isTimestamp(std::string_view text) {
    if (text.size() < 19 || !isDate(text.substr(0, 10)) || (text[10] != ' ' && text[10] != 'T') ||
        text[13] != ':' || text[16] != ':' || !areDigits(text.substr(11, 2)) ||
        !areDigits(text.substr(14, 2)) || !areDigits(text.substr(17, 2)) || text[11] > '2' ||
        text[14] > '5' || text[17] > '5') {
        return false;
    }
    if (text[11] == '2' && text[12] > '3') {
        return false;
    }
    return text.size() == 19 ||
           (text.size() > 20 && text.size() <= 26 && text[19] == '.' && areDigits(text.substr(20)));
}

bool isDouble(std::string_view text) {
    const std::string_view digits = text[0] == '-' ? text.substr(1) : text;
    if (digits.empty() || ((digits[0] < '0' || digits[0] > '9') && digits[0] != '.')) {
        return false;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

bool isInt64(std::string_view text) {
    const std::string_view digits = text[0] == '-' ? text.substr(1) : text;
    if (!areDigits(digits)) {
        return false;
    }
    if (digits.size() <= 18) {
        return true;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

struct FieldText {
    std::size_t begin = 0, end = 0;  ///< in the buffer; a quoted one with its quotes
    bool isQuoted = false;
};

class Scanner {
 public:
    Scanner(const DataFile& file, const ReadOptions& options, const FileSource& source)
        : file_(file),
          options_(options),
          source_(source),
          hash_(XXH3_createState(), &XXH3_freeState) {
        XXH3_128bits_reset(hash_.get());
    }

    Result<FileFacts> scan() {
        RETURN_IF_ERROR(fill());
        if (size_ >= 3 && std::memcmp(buffer_.data(), "\xef\xbb\xbf", 3) == 0) {
            at_ = 3;
        }
        bool isFirst = true;
        for (;;) {
            ASSIGN_OR_RETURN(const bool hasRecord, nextRecord());
            if (!hasRecord) {
                break;
            }
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
        return finish();
    }

 private:
    /// Drops what lies before `at_` and reads on; sets isEnd_ at the end of the file.
    Status fill() {
        std::memmove(buffer_.data(), buffer_.data() + at_, size_ - at_);
        base_ += static_cast<std::int64_t>(at_);
        size_ -= at_;
        at_ = 0;
        if (size_ > kRecordBytesMax) {
            return invalidArgument(file_.path, ":", recordLine_, ": this record is longer than ",
                                   kRecordBytesMax >> 20, " MiB; is a quote unterminated?");
        }
        buffer_.resize(std::max(buffer_.size(), size_ + std::max(kBlockBytes, size_)));
        ASSIGN_OR_RETURN(const std::int64_t n,
                         source_.readSome(base_ + static_cast<std::int64_t>(size_),
                                          static_cast<std::int64_t>(buffer_.size() - size_),
                                          buffer_.data() + size_));
        XXH3_128bits_update(hash_.get(), buffer_.data() + size_, static_cast<std::size_t>(n));
        size_ += static_cast<std::size_t>(n);
        isEnd_ = n == 0;
        return okStatus();
    }

    /// Cuts the next record that is not an empty line into fields_; false at the end.
    Result<bool> nextRecord() {
        for (;;) {
            const std::int64_t line = line_;
            recordLine_ = line;
            const int found = cutRecord();
            if (found > 0) {
                return true;
            }
            if (found < 0) {
                continue;  // an empty line
            }
            line_ = line;
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

    /// 1: a record in fields_, 0: the buffer ends before the record does, -1: an empty line.
    int cutRecord() {
        fields_.clear();
        const char* text = buffer_.data();
        std::size_t i = at_;
        if (i == size_) {
            return 0;
        }
        for (;;) {
            FieldText field{i, i, false};
            if (i < size_ && text[i] == '"') {
                field.isQuoted = true;
                if (!skipQuoted(i)) {
                    return 0;
                }
            }
            while (i < size_ && text[i] != options_.csvDelimiter && text[i] != '\n' &&
                   text[i] != '\r') {
                ++i;
            }
            if (i == size_ && !isEnd_) {
                return 0;
            }
            field.end = i;
            fields_.push_back(field);
            if (i < size_ && text[i] == options_.csvDelimiter) {
                ++i;
                continue;
            }
            if (i < size_ && text[i] == '\r') {
                if (i + 1 == size_ && !isEnd_) {
                    return 0;
                }
                ++i;
                i += i < size_ && text[i] == '\n' ? 1 : 0;
            } else if (i < size_) {
                ++i;
            }
            return closeRecord(i);
        }
    }

    int closeRecord(std::size_t end) {
        ++line_;
        recordBegin_ = base_ + static_cast<std::int64_t>(at_);
        recordEnd_ = base_ + static_cast<std::int64_t>(end);
        at_ = end;
        const bool isEmpty =
            fields_.size() == 1 && fields_[0].begin == fields_[0].end && !fields_[0].isQuoted;
        return isEmpty ? -1 : 1;
    }

    /// Moves `i` from the opening quote behind the closing one; false when there is none yet.
    bool skipQuoted(std::size_t& i) {
        const char* text = buffer_.data();
        for (++i; i < size_; ++i) {
            if (text[i] == '\n') {
                ++line_;
            }
            if (text[i] != '"') {
                continue;
            }
            if (i + 1 == size_ && !isEnd_) {
                return false;
            }
            if (i + 1 < size_ && text[i + 1] == '"') {
                ++i;
                continue;
            }
            ++i;
            return true;
        }
        return false;
    }

    std::string_view textOf(const FieldText& field) const {
        return {buffer_.data() + field.begin, field.end - field.begin};
    }

    Status header() {
        std::set<std::string> names;
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            std::string name = strCat("f", i);
            if (options_.csvHasHeader) {
                name = unquoted(fields_[i]);
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
        types_.assign(fields_.size(), spec::TypeKind::kNull);
        return okStatus();
    }

    std::string unquoted(const FieldText& field) const {
        std::string_view text = textOf(field);
        if (!field.isQuoted) {
            return std::string(text);
        }
        std::string out;
        for (std::size_t i = 1; i + 1 < text.size(); ++i) {
            out += text[i];
            i += text[i] == '"' && i + 2 < text.size() && text[i + 1] == '"' ? 1 : 0;
        }
        return out;
    }

    Status row() {
        if (fields_.size() != types_.size()) {
            return invalidArgument(file_.path, ":", recordLine_, ": ", fields_.size(),
                                   fields_.size() == 1 ? " field, but the " : " fields, but the ",
                                   options_.csvHasHeader ? "header" : "first line", " has ",
                                   types_.size());
        }
        if (facts_.chunks.empty() || facts_.chunks.back().rows == options_.csvSplitRows) {
            ChunkFacts chunk;
            chunk.offset = recordBegin_;
            chunk.firstLine = recordLine_;
            chunk.decodedBytes.assign(types_.size(), 0);
            facts_.chunks.push_back(std::move(chunk));
        }
        ChunkFacts& chunk = facts_.chunks.back();
        for (std::size_t i = 0; i < types_.size(); ++i) {
            const std::string_view text = textOf(fields_[i]);
            chunk.decodedBytes[i] += static_cast<std::int64_t>(text.size()) + 1;
            if (types_[i] == spec::TypeKind::kString) {
                continue;
            }
            if (fields_[i].isQuoted) {
                const std::string value = unquoted(fields_[i]);
                types_[i] = value.empty() ? spec::TypeKind::kString
                                          : uniteCsvTypes(types_[i], csvTypeOf(value));
            } else if (!text.empty()) {
                types_[i] = uniteCsvTypes(types_[i], csvTypeOf(text));
            }
        }
        ++chunk.rows;
        chunk.bytes = recordEnd_ - chunk.offset;
        ++facts_.rows;
        return okStatus();
    }

    Result<FileFacts> finish() {
        for (std::size_t i = 0; i < types_.size(); ++i) {
            facts_.schema.fields[i].type.kind = types_[i];
        }
        const XXH128_hash_t h = XXH3_128bits_digest(hash_.get());
        facts_.contentHash = Sum128{h.low64, h.high64}.hex();
        return std::move(facts_);
    }

    const DataFile& file_;
    const ReadOptions& options_;
    const FileSource& source_;
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
    std::string buffer_;
    std::size_t at_ = 0, size_ = 0;
    std::int64_t base_ = 0;  ///< file offset of buffer_[0]
    bool isEnd_ = false;
    std::int64_t line_ = 1, recordLine_ = 1, recordBegin_ = 0, recordEnd_ = 0;
    std::vector<FieldText> fields_;
    std::vector<spec::TypeKind> types_;
    FileFacts facts_;
};

}  // namespace

spec::TypeKind uniteCsvTypes(spec::TypeKind a, spec::TypeKind b) {
    using K = spec::TypeKind;
    const auto both = [a, b](K x, K y) { return (a == x && b == y) || (a == y && b == x); };
    if (a == b || b == K::kNull) {
        return a;
    }
    if (a == K::kNull) {
        return b;
    }
    if (both(K::kInt64, K::kDouble)) {
        return K::kDouble;
    }
    if (both(K::kDate, K::kTimestamp)) {
        return K::kTimestamp;
    }
    return K::kString;
}

spec::TypeKind csvTypeOf(std::string_view text) {
    using K = spec::TypeKind;
    if (text.empty()) {
        return K::kNull;
    }
    if (isInt64(text)) {
        return K::kInt64;
    }
    if (isDouble(text)) {
        return K::kDouble;
    }
    if (text == "true" || text == "false" || text == "True" || text == "False" || text == "TRUE" ||
        text == "FALSE") {
        return K::kBool;
    }
    if (isDate(text)) {
        return K::kDate;
    }
    return isTimestamp(text) ? K::kTimestamp : K::kString;
}

Result<FileFacts> scanCsv(const DataFile& file, const ReadOptions& options) {
    ASSIGN_OR_RETURN(const FileSource source, FileSource::open(file));
    return Scanner(file, options, source).scan();
}

}  // namespace millrace::dataset
