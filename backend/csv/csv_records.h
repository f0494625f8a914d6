#pragma once
// Splits CSV text into records and fields; the first pass and the reading of rows share it.
//
// A field that begins with the quote may contain delimiters, line ends and doubled quotes. Empty
// lines and comments are skipped. Marks are found 64 bytes at a time (csv_bits.h); memory is reused
// between calls. Threads: one.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/csv/csv_bits.h"
#include "backend/files/file_metadata.h"

namespace millrace::csv {

/// The name of a column for which the header has no field: the first one of rows that have a field
/// more than the header.
inline constexpr const char* kRowNames = "row_names";

/// Positions in the text that was split; a quoted field includes its quotes.
struct CsvField {
    std::uint32_t begin = 0, end = 0;
};

/// A record: its bytes with the line end, its fields in CsvRecords::fields(), and its lines.
struct CsvRecord {
    std::uint32_t begin = 0, end = 0;
    std::uint32_t firstField = 0, fields = 0;
    std::uint32_t line = 0;   ///< line ends before it in the text that was split
    std::uint32_t lines = 0;  ///< line ends inside it
};

/// Access to the fields of a text.
class CsvText {
 public:
    CsvText(const char* text, int quote) : text_(text), quote_(quote) {}

    const char* at(const CsvField& field) const { return text_ + field.begin; }
    bool isQuoted(const CsvField& field) const {
        return field.begin != field.end && static_cast<unsigned char>(*at(field)) == quote_;
    }
    /// The value without quotes, and with doubled quotes single. Uses `memory` if it differs from
    /// the text.
    std::string_view value(const CsvField& field, std::string& memory) const {
        return isQuoted(field) ? unquoted({at(field), field.end - field.begin}, memory)
                               : std::string_view(at(field), field.end - field.begin);
    }

 private:
    std::string_view unquoted(std::string_view whole, std::string& memory) const;

    const char* text_;
    int quote_;  ///< -1: none
};

class CsvRecords {
 public:
    explicit CsvRecords(const files::ReadOptions& options)
        : marks_{codeOf(options.csvDelimiter), codeOf(options.csvQuote)},
          comment_(codeOf(options.csvComment)) {}

    /// Splits whole records from the start of `text` (less than 4 GiB), and skips other lines,
    /// until `bytes` bytes are consumed or the text ends. `isEnd`: the file ends there, too;
    /// otherwise a record that may continue after the text is left. Consumes nothing if a record is
    /// incomplete or a quote is not closed.
    void cut(std::string_view text, bool isEnd, std::size_t bytes);

    std::span<const CsvRecord> records() const { return records_; }
    std::span<const CsvField> fields() const { return {fields_.data(), numFields_}; }
    /// Bytes and line ends consumed by the last cut().
    std::size_t bytes() const { return bytes_; }
    std::int64_t lines() const { return lines_; }
    /// Whether a byte of the consumed text may be outside ASCII.
    bool hasHighBytes() const { return hasHighBytes_; }
    int quote() const { return marks_.quote; }

 private:
    struct Marks;
    class Walk;

    static int codeOf(char c) { return c == 0 ? -1 : static_cast<unsigned char>(c); }
    bool cutOne(Walk& walk, Marks& left, CsvRecord& record);
    void addField(std::size_t begin, std::size_t end) {
        if (numFields_ == roomForFields_) [[unlikely]] {
            roomForFields_ = 2 * numFields_ + kFieldsLeast;
            fields_.resize(roomForFields_);
        }
        fields_[numFields_++] = {static_cast<std::uint32_t>(begin),
                                 static_cast<std::uint32_t>(end)};
    }

    static constexpr std::size_t kFieldsLeast = 256;
    const CsvMarks marks_;
    const int comment_;
    std::vector<CsvField> fields_;  ///< the first numFields_ are used
    std::size_t numFields_ = 0, roomForFields_ = 0;
    std::vector<CsvRecord> records_;
    std::vector<std::uint64_t> ends_, quotes_;  ///< bitmaps of the text
    std::size_t bytes_ = 0;
    std::uint32_t lines_ = 0;
    bool hasHighBytes_ = false;
};

}  // namespace millrace::csv
