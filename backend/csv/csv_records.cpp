#include "backend/csv/csv_records.h"

#include <algorithm>
#include <bit>

namespace millrace::csv {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr std::size_t kStepBytes = 4096;  // text bytes per step of making bitmaps

}  // namespace

/// The remaining delimiters and line ends in 64 bytes of text.
struct CsvRecords::Marks {
    std::uint64_t word = 0;
    std::size_t at = 0;  ///< position of the first of the 64
};

/// Iterates over the marks of a text; makes the bitmaps on demand.
class CsvRecords::Walk {
 public:
    Walk(CsvRecords& records, std::string_view text, bool isEnd)
        : text_(text), isEnd_(isEnd), records_(records) {}

    Marks begin() {
        more();
        return {records_.ends_[0], 0};
    }
    std::size_t size() const { return text_.size(); }
    char operator[](std::size_t i) const { return text_[i]; }
    int code(std::size_t i) const { return static_cast<unsigned char>(text_[i]); }
    /// Whether more text may follow at `i`.
    bool isOpen(std::size_t i) const { return i == text_.size() && !isEnd_; }

    /// The next delimiter or line end, each once; size() if there are no more.
    std::size_t next(Marks& marks) {
        if (marks.word == 0) [[unlikely]] {
            marks = further(marks);
            if (marks.word == 0) {
                return text_.size();
            }
        }
        const std::size_t place = marks.at + static_cast<std::size_t>(std::countr_zero(marks.word));
        marks.word &= marks.word - 1;
        return place;
    }

    /// Position after the quote that closes the one at `i`; 0 if it is not closed yet.
    std::size_t closing(std::size_t i) {
        for (++i;; i += 2) {
            i = nextQuote(i);
            if (i == text_.size() || isOpen(i + 1)) {
                return 0;
            }
            if (i + 1 == text_.size() || code(i + 1) != records_.marks_.quote) {
                return i + 1;
            }
        }
    }

    /// Moves `end` past a line end, or the end of the text; returns false if more may follow.
    bool passLineEnd(Marks& marks, std::size_t& end) {
        if (isOpen(end)) {
            return false;
        }
        if (end < size() && text_[end++] == '\r') {
            if (isOpen(end)) {
                return false;
            }
            if (end < size() && text_[end] == '\n') {
                ++end;
                next(marks);
            }
        }
        return true;
    }

 private:
    /// The next 64 bytes with a mark; empty at the end of the text.
    [[gnu::noinline]] Marks further(Marks marks) {
        while (marks.word == 0 && marks.at + kWordBits < text_.size()) {
            marks.at += kWordBits;
            if (marks.at >= known_) {
                more();
            }
            marks.word = records_.ends_[marks.at / kWordBits];
        }
        return marks;
    }

    void more() {
        const std::size_t bytes = std::min(kStepBytes, text_.size() - known_);
        const std::size_t word = known_ / kWordBits, words = (bytes + kWordBits - 1) / kWordBits;
        if (records_.ends_.size() < word + words) {
            records_.ends_.resize(2 * word + kStepBytes / kWordBits);
            records_.quotes_.resize(records_.ends_.size());
        }
        records_.hasHighBytes_ |=
            findMarks(text_.data() + known_, bytes, records_.marks_,
                      {records_.ends_.data() + word, records_.quotes_.data() + word});
        known_ += bytes;
    }

    std::size_t nextQuote(std::size_t i) {
        while (i < text_.size()) {
            if (i >= known_) {
                more();
            }
            const std::uint64_t word = records_.quotes_[i / kWordBits] >> (i % kWordBits);
            if (word != 0) {
                return i + static_cast<std::size_t>(std::countr_zero(word));
            }
            i = (i / kWordBits + 1) * kWordBits;
        }
        return text_.size();
    }

    const std::string_view text_;
    const bool isEnd_;
    CsvRecords& records_;
    std::size_t known_ = 0;  ///< number of bytes with bits
};

/// Splits the record at `record.begin`; returns false if it is incomplete.
bool CsvRecords::cutOne(Walk& walk, Marks& left, CsvRecord& record) {
    const int delimiter = marks_.delimiter, quote = marks_.quote;
    Marks marks = left;
    std::size_t i = record.begin;
    if (walk.code(i) == comment_) {
        do {
            i = walk.next(marks);
        } while (i < walk.size() && walk[i] != '\n' && walk[i] != '\r');
    } else {
        for (;;) {
            const std::size_t begin = i;
            i = walk.next(marks);
            if (begin < walk.size() && walk.code(begin) == quote) {
                const std::size_t close = walk.closing(begin);
                if (close == 0) {
                    return false;
                }
                for (; i < close; i = walk.next(marks)) {
                    record.lines += walk[i] == '\n' ? 1 : 0;
                }
            }
            addField(begin, i);
            if (i == walk.size() || walk.code(i) != delimiter) {
                break;
            }
            ++i;
        }
    }
    if (!walk.passLineEnd(marks, i)) {
        return false;
    }
    ++record.lines;
    record.end = static_cast<std::uint32_t>(i);
    left = marks;
    return true;
}

void CsvRecords::cut(std::string_view text, bool isEnd, std::size_t bytes) {
    records_.clear();
    numFields_ = 0;
    bytes_ = 0;
    lines_ = 0;
    hasHighBytes_ = false;
    if (text.empty()) {
        return;
    }
    Walk walk(*this, text, isEnd);
    Marks marks = walk.begin();
    while (bytes_ < std::min(bytes, text.size())) {
        CsvRecord record;
        record.begin = static_cast<std::uint32_t>(bytes_);
        record.firstField = static_cast<std::uint32_t>(numFields_);
        record.line = lines_;
        if (!cutOne(walk, marks, record)) {
            numFields_ = record.firstField;
            return;
        }
        record.fields = static_cast<std::uint32_t>(numFields_) - record.firstField;
        bytes_ = record.end;
        lines_ += record.lines;
        const bool isEmpty = record.fields == 1 &&
                             fields_[record.firstField].begin == fields_[record.firstField].end;
        if (record.fields > 0 && !isEmpty) {
            records_.push_back(record);
        } else {
            numFields_ = record.firstField;
        }
    }
}

std::string_view CsvText::unquoted(std::string_view whole, std::string& memory) const {
    const auto quote = static_cast<char>(quote_);
    const std::size_t close = whole.find(quote, 1);
    if (close == whole.size() - 1) {
        return whole.substr(1, whole.size() - 2);
    }
    memory.clear();
    bool isInside = true;
    for (std::size_t i = 1; i < whole.size(); ++i) {
        if (!isInside || whole[i] != quote) {
            memory += whole[i];
        } else if (i + 1 < whole.size() && whole[i + 1] == quote) {
            memory += whole[i++];
        } else {
            isInside = false;
        }
    }
    return memory;
}

}  // namespace millrace::csv
