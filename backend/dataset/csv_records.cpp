#include "backend/dataset/csv_records.h"

namespace millrace::dataset {

CsvRecords::Found CsvRecords::cut(std::string_view text, std::size_t& at, bool isEnd) {
    fields_.clear();
    lines_ = 0;
    std::size_t i = at;
    if (i == text.size()) {
        return Found::kMore;
    }
    const bool isComment = options_.csvComment != 0 && text[i] == options_.csvComment;
    for (;;) {
        CsvField field{i, i, false};
        if (!isComment && i < text.size() && options_.csvQuote != 0 &&
            text[i] == options_.csvQuote) {
            field.isQuoted = true;
            if (!skipQuoted(text, i, isEnd)) {
                return Found::kMore;
            }
        }
        while (i < text.size() && (text[i] != options_.csvDelimiter || isComment) &&
               text[i] != '\n' && text[i] != '\r') {
            ++i;
        }
        if (i == text.size() && !isEnd) {
            return Found::kMore;
        }
        field.end = i;
        fields_.push_back(field);
        if (i < text.size() && text[i] == options_.csvDelimiter) {
            ++i;
            continue;
        }
        if (i < text.size() && text[i] == '\r') {
            if (i + 1 == text.size() && !isEnd) {
                return Found::kMore;
            }
            ++i;
            i += i < text.size() && text[i] == '\n' ? 1 : 0;
        } else if (i < text.size()) {
            ++i;
        }
        break;
    }
    ++lines_;
    at = i;
    const bool isEmpty =
        fields_.size() == 1 && fields_[0].begin == fields_[0].end && !fields_[0].isQuoted;
    return isEmpty || isComment ? Found::kNothing : Found::kRecord;
}

/// Moves `i` from the opening quote behind the closing one; false when there is none yet.
bool CsvRecords::skipQuoted(std::string_view text, std::size_t& i, bool isEnd) {
    for (++i; i < text.size(); ++i) {
        lines_ += text[i] == '\n' ? 1 : 0;
        if (text[i] != options_.csvQuote) {
            continue;
        }
        if (i + 1 == text.size() && !isEnd) {
            return false;
        }
        if (i + 1 < text.size() && text[i + 1] == options_.csvQuote) {
            ++i;
            continue;
        }
        ++i;
        return true;
    }
    return false;
}

std::string_view CsvRecords::value(std::string_view text, const CsvField& field,
                                   std::string& memory) const {
    const std::string_view whole = text.substr(field.begin, field.end - field.begin);
    if (!field.isQuoted) {
        return whole;
    }
    const std::size_t close = whole.find(options_.csvQuote, 1);
    if (close == whole.size() - 1) {
        return whole.substr(1, whole.size() - 2);
    }
    memory.clear();
    bool isInside = true;
    for (std::size_t i = 1; i < whole.size(); ++i) {
        if (!isInside || whole[i] != options_.csvQuote) {
            memory += whole[i];
        } else if (i + 1 < whole.size() && whole[i + 1] == options_.csvQuote) {
            memory += whole[i++];
        } else {
            isInside = false;
        }
    }
    return memory;
}

}  // namespace millrace::dataset
