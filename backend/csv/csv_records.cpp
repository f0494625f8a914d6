#include "backend/csv/csv_records.h"

#include <algorithm>

namespace millrace::csv {
namespace {

int codeAt(std::string_view text, std::size_t i) {
    return static_cast<unsigned char>(text[i]);
}

/// Moves `i` behind the line end that it stands at; false when it may go on behind the text.
bool passLineEnd(std::string_view text, std::size_t& i, bool isEnd) {
    if (i < text.size() && text[i] == '\r') {
        if (i + 1 == text.size() && !isEnd) {
            return false;
        }
        ++i;
        i += i < text.size() && text[i] == '\n' ? 1 : 0;
    } else if (i < text.size()) {
        ++i;
    }
    return true;
}

}  // namespace

CsvRecords::Found CsvRecords::cut(std::string_view text, std::size_t& at, bool isEnd) {
    const int delimiter = delimiter_, quote = quote_;
    fields_.clear();
    lines_ = 0;
    std::size_t i = at;
    if (i == text.size()) {
        return Found::kMore;
    }
    if (codeAt(text, i) == comment_) {
        return skipComment(text, at, isEnd);
    }
    for (;;) {
        CsvField field{i, i, false};
        if (i < text.size() && codeAt(text, i) == quote) {
            field.isQuoted = true;
            if (!skipQuoted(text, i, isEnd)) {
                return Found::kMore;
            }
        }
        while (i < text.size() && codeAt(text, i) != delimiter && text[i] != '\n' &&
               text[i] != '\r') {
            ++i;
        }
        if (i == text.size() && !isEnd) {
            return Found::kMore;
        }
        field.end = i;
        fields_.push_back(field);
        if (i < text.size() && codeAt(text, i) == delimiter) {
            ++i;
            continue;
        }
        if (!passLineEnd(text, i, isEnd)) {
            return Found::kMore;
        }
        break;
    }
    ++lines_;
    at = i;
    const bool isEmpty =
        fields_.size() == 1 && fields_[0].begin == fields_[0].end && !fields_[0].isQuoted;
    return isEmpty ? Found::kNothing : Found::kRecord;
}

CsvRecords::Found CsvRecords::skipComment(std::string_view text, std::size_t& at, bool isEnd) {
    std::size_t i = std::min(text.find_first_of("\r\n", at), text.size());
    if ((i == text.size() && !isEnd) || !passLineEnd(text, i, isEnd)) {
        return Found::kMore;
    }
    ++lines_;
    at = i;
    return Found::kNothing;
}

/// Moves `i` from the opening quote behind the closing one; false when there is none yet.
bool CsvRecords::skipQuoted(std::string_view text, std::size_t& i, bool isEnd) {
    const int quote = quote_;
    for (++i; i < text.size(); ++i) {
        lines_ += text[i] == '\n' ? 1 : 0;
        if (codeAt(text, i) != quote) {
            continue;
        }
        if (i + 1 == text.size() && !isEnd) {
            return false;
        }
        if (i + 1 < text.size() && codeAt(text, i + 1) == quote) {
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
