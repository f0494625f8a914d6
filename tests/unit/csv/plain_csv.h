#pragma once
// CSV read one character at a time, as the reference for the reader; and random files.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "backend/files/file_metadata.h"

namespace millrace::test {

struct PlainRecord {
    std::vector<std::string> fields;  ///< as in the file, with quotes
    std::int64_t line = 0, lines = 0;
    std::size_t begin = 0, end = 0;
};

struct PlainFile {
    std::vector<PlainRecord> records;
    bool isOpen = false;  ///< a quote is never closed
};

/// `at`: where the first record may begin, on line 1.
inline PlainFile plainFile(std::string_view text, const files::ReadOptions& options) {
    PlainFile file;
    std::size_t i = 0;
    std::int64_t line = 1;
    const auto isAt = [&](char c) { return c != 0 && i < text.size() && text[i] == c; };
    const auto isLineEnd = [&] { return i == text.size() || text[i] == '\n' || text[i] == '\r'; };
    while (i < text.size()) {
        PlainRecord record;
        record.line = line;
        record.begin = i;
        const bool isComment = isAt(options.csvComment);
        while (isComment && !isLineEnd()) {
            ++i;
        }
        while (!isComment) {
            std::string field;
            if (isAt(options.csvQuote)) {
                field += text[i++];
                for (;;) {
                    if (i == text.size()) {
                        file.isOpen = true;
                        return file;
                    }
                    record.lines += text[i] == '\n' ? 1 : 0;
                    field += text[i];
                    if (text[i++] != options.csvQuote) {
                        continue;
                    }
                    if (!isAt(options.csvQuote)) {
                        break;
                    }
                    field += text[i++];
                }
            }
            while (!isLineEnd() && text[i] != options.csvDelimiter) {
                field += text[i++];
            }
            record.fields.push_back(field);
            if (i == text.size() || text[i] != options.csvDelimiter) {
                break;
            }
            ++i;
        }
        const bool isPair = text.substr(i, 2) == "\r\n";
        i = std::min(text.size(), i + (isPair ? 2 : 1));
        ++record.lines;
        line += record.lines;
        record.end = i;
        const bool isNone =
            record.fields.empty() || (record.fields.size() == 1 && record.fields[0].empty());
        if (!isNone) {
            file.records.push_back(std::move(record));
        }
    }
    return file;
}

inline std::string plainValue(const std::string& field, char quote) {
    if (quote == 0 || field.empty() || field[0] != quote) {
        return field;
    }
    std::string value;
    std::size_t i = 1;
    for (; field[i] != quote || (i + 1 < field.size() && field[i + 1] == quote); ++i) {
        value += field[i];
        i += field[i] == quote ? 1 : 0;
    }
    return value + field.substr(i + 1);
}

/// A dialect and random files in it.
class RandomCsv {
 public:
    explicit RandomCsv(unsigned seed) : random_(seed) {
        options.format = "csv";
        options.csvDelimiter = ",;\t|"[below(4)];
        options.csvQuote = "\"\"'\0"[below(4)];
        options.csvComment = below(4) == 0 ? '#' : '\0';
        options.csvHasDecimalComma = below(4) == 0;
        options.csvSplitRows = 1 + static_cast<std::int64_t>(below(40));
        if (below(4) == 0) {
            options.csvNullValues = {"-", "7", "NA", "none at all"};
        }
    }

    std::size_t below(std::size_t n) { return random_() % n; }

    /// A header c0, c1, ... and rows; most values of a column have one kind.
    std::string file(std::size_t columns, std::size_t rows) {
        std::string text;
        for (std::size_t c = 0; c < columns; ++c) {
            text += (c == 0 ? "" : std::string(1, options.csvDelimiter)) + "c" + std::to_string(c);
        }
        text += lineEnd();
        for (std::size_t r = 0; r < rows; ++r) {
            if (below(20) == 0) {
                text += lineEnd();
            }
            if (options.csvComment != 0 && below(10) == 0) {
                text += "#\"a, comment" + lineEnd();
            }
            for (std::size_t c = 0; c < columns; ++c) {
                text += (c == 0 ? "" : std::string(1, options.csvDelimiter)) +
                        written(value(below(20) == 0 ? below(7) : c % 7));
            }
            text += r + 1 < rows || below(2) == 0 ? lineEnd() : "";
        }
        return text;
    }

    /// 0: whole number, 1: fraction, 2: date, 3: time, 4: bool, 5 and 6: text.
    std::string value(std::size_t kind) {
        if (below(12) == 0) {
            const char* const odd[] = {"",
                                       "NA",
                                       "null",
                                       "-",
                                       "7",
                                       "-0",
                                       "1e5",
                                       "inf",
                                       "1e400",
                                       "0x10",
                                       "-.5",
                                       "5.",
                                       "++1",
                                       " 12 ",
                                       "nan",
                                       "18446744073709551615",
                                       "-9223372036854775808",
                                       "9007199254740993",
                                       "2024-02-30",
                                       "2024-1-1"};
            return odd[below(std::size(odd))];
        }
        const std::string point = options.csvHasDecimalComma ? "," : ".";
        switch (kind) {
            case 0:
                return (below(3) == 0 ? "-" : "") + digits(1 + below(below(8) == 0 ? 20 : 9));
            case 1:
                return (below(3) == 0 ? "-" : "") + digits(1 + below(4)) + point +
                       digits(1 + below(17));
            case 2:
                return day();
            case 3:
                return time();
            case 4:
                return below(2) == 0 ? "true" : "false";
            default:
                return word();
        }
    }

    files::ReadOptions options;

 private:
    std::string digits(std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            text += static_cast<char>('0' + below(10));
        }
        return text;
    }
    std::string two(std::size_t below) {
        const std::size_t number = random_() % below;
        return {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
    }
    std::string day() { return digits(4) + "-" + two(13) + "-" + two(32); }
    std::string time() {
        const char* const zones[] = {"", "", "Z", "+02", "-0330", "+05:45", "?"};
        std::string text = day() + (below(2) == 0 ? " " : "T") + two(25) + ":" + two(61);
        if (below(4) != 0) {
            text += ":" + two(61);
            text += below(3) == 0 ? "." + digits(1 + below(10)) : "";
        }
        return text + zones[below(std::size(zones))];
    }
    std::string word() {
        std::string text;
        for (std::size_t i = below(below(10) == 0 ? 200 : 20); i > 0; --i) {
            text += "abcXYZ 0123,;|\t\"'#\r\nit"[below(23)];
        }
        return text + (below(5) == 0 ? "\u00e9" : "");
    }
    /// Quoted if needed, and sometimes if not; without quotes, characters that need them are left
    /// out.
    std::string written(const std::string& value) {
        const std::string marks = std::string("\r\n#") + options.csvDelimiter +
                                  (options.csvQuote == 0 ? '\r' : options.csvQuote);
        std::string text;
        if (options.csvQuote == 0) {
            for (const char c : value) {
                text += marks.find(c) == std::string::npos ? std::string(1, c) : "";
            }
            return text;
        }
        if (value.find_first_of(marks) == std::string::npos && below(8) != 0) {
            return value;
        }
        for (const char c : value) {
            text += std::string(c == options.csvQuote ? 2 : 1, c);
        }
        return options.csvQuote + text + options.csvQuote + (below(30) == 0 ? "x\"y" : "");
    }
    std::string lineEnd() {
        const char* const ends[] = {"\n", "\n", "\r\n", "\r"};
        return ends[below(std::size(ends))];
    }

    std::mt19937 random_;
};

}  // namespace millrace::test
