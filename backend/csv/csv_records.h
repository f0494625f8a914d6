#pragma once
// Cuts CSV text into records and fields, the same way in the first pass and when rows are read.
//
// A field that begins with the quote may hold delimiters, line ends and doubled quotes. Empty lines
// and comments are no records. Threads: one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/files/file_facts.h"

namespace millrace::csv {

/// Places in the text that was cut; a quoted field with its quotes.
struct CsvField {
    std::size_t begin = 0, end = 0;
    bool isQuoted = false;
};

class CsvRecords {
 public:
    enum class Found { kRecord, kNothing, kMore };

    explicit CsvRecords(const files::ReadOptions& options)
        : delimiter_(codeOf(options.csvDelimiter)),
          quote_(codeOf(options.csvQuote)),
          comment_(codeOf(options.csvComment)) {}

    /// Cuts what begins at `at` of `text`: a record, or a line that is none; `at` is then behind
    /// it. kMore: the text ends within it, and `isEnd` does not say that this is the end of the
    /// file.
    Found cut(std::string_view text, std::size_t& at, bool isEnd);

    const std::vector<CsvField>& fields() const { return fields_; }
    /// Line ends in what was cut last.
    std::int64_t lines() const { return lines_; }

    /// The value of a field of `text`: without quotes, doubled ones single. `memory` holds it where
    /// it is not a part of the text.
    std::string_view value(std::string_view text, const CsvField& field, std::string& memory) const;

 private:
    static int codeOf(char c) { return c == 0 ? kNone : static_cast<unsigned char>(c); }
    bool skipQuoted(std::string_view text, std::size_t& i, bool isEnd);
    Found skipComment(std::string_view text, std::size_t& at, bool isEnd);

    static constexpr int kNone = -1;  ///< what no byte is
    const int delimiter_, quote_, comment_;
    std::vector<CsvField> fields_;
    std::int64_t lines_ = 0;
};

}  // namespace millrace::csv
