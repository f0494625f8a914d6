// Cutting and reading compared with plain code: bitmaps, records, numbers and times, the first
// pass.
#include <bit>
#include <charconv>
#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include "backend/csv/csv_bits.h"
#include "backend/csv/csv_fast.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_scan.h"
#include "backend/csv/csv_values.h"
#include "tests/unit/csv/plain_csv.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::csv {
namespace {

using test::DataDirectory;
using test::plainFile;
using test::PlainFile;
using test::PlainRecord;
using test::plainValue;
using test::RandomCsv;

/// A random text from a small alphabet with many delimiters, quotes and line ends.
std::string randomText(std::mt19937& random, std::size_t size) {
    std::string text(size, ' ');
    for (char& c : text) {
        c = "ab1.,,;\"\"'\n\n\r#\xc3\xa9"[random() % 16];
    }
    return text;
}

TEST(CsvBits, VariantsAreEqual) {
    if (!canFindMarks(BitsVariant::kAvx2)) {
        GTEST_SKIP() << "this machine has no AVX2";
    }
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        const std::string text = randomText(random, random() % 300);
        const CsvMarks marks{round % 5 == 0 ? -1 : ',', round % 3 == 0 ? -1 : '"'};
        std::vector<std::uint64_t> ends(5), quotes(5), plainEnds(5), plainQuotes(5);
        EXPECT_EQ(findMarks(BitsVariant::kAvx2, text.data(), text.size(), marks,
                            {ends.data(), quotes.data()}),
                  findMarks(BitsVariant::kPlain, text.data(), text.size(), marks,
                            {plainEnds.data(), plainQuotes.data()}));
        ASSERT_EQ(ends, plainEnds);
        ASSERT_EQ(quotes, plainQuotes);
        for (std::size_t i = 0; i < 320; ++i) {
            const char c = i < text.size() ? text[i] : ' ';
            EXPECT_EQ((ends[i / 64] >> (i % 64)) & 1,
                      c == '\n' || c == '\r' || c == marks.delimiter ? 1 : 0);
            EXPECT_EQ((quotes[i / 64] >> (i % 64)) & 1, c == marks.quote ? 1 : 0);
        }
    }
}

/// Cuts the text in pieces: each time `piece` more bytes are known.
PlainFile cutInPieces(const std::string& text, const files::ReadOptions& options,
                      std::size_t piece) {
    PlainFile file;
    CsvRecords records(options);
    std::size_t at = 0;
    std::int64_t line = 1;
    for (std::size_t known = 0;; known = std::min(known + piece, text.size())) {
        const bool isEnd = known == text.size();
        do {
            const std::string_view rest = std::string_view(text).substr(at, known - at);
            records.cut(rest, isEnd, piece % 3 == 0 ? 1 : rest.size());
            for (const CsvRecord& one : records.records()) {
                PlainRecord& record = file.records.emplace_back();
                record = {{}, line + one.line, one.lines, at + one.begin, at + one.end};
                for (std::size_t f = 0; f < one.fields; ++f) {
                    const CsvField& field = records.fields()[one.firstField + f];
                    record.fields.emplace_back(rest.substr(field.begin, field.end - field.begin));
                }
            }
            at += records.bytes();
            line += records.lines();
        } while (records.bytes() > 0);
        if (isEnd) {
            file.isOpen = at < text.size();
            return file;
        }
    }
}

TEST(CsvRecords, AreThoseOfPlainCodeInAnyPieces) {
    std::mt19937 random(2);
    for (unsigned round = 0; round < 3000; ++round) {
        RandomCsv csv(round);
        const std::string text = round % 3 == 0 ? csv.file(1 + round % 9, round % 40)
                                                : randomText(random, random() % 500);
        const PlainFile plain = plainFile(text, csv.options);
        const PlainFile cut = cutInPieces(text, csv.options, 1 + random() % 400);
        EXPECT_EQ(cut.isOpen, plain.isOpen);
        ASSERT_EQ(cut.records.size(), plain.records.size()) << text;
        for (std::size_t r = 0; r < cut.records.size(); ++r) {
            const PlainRecord &mine = cut.records[r], &other = plain.records[r];
            ASSERT_EQ(mine.fields, other.fields);
            ASSERT_EQ(mine.line, other.line);
            ASSERT_EQ(mine.lines, other.lines);
            ASSERT_EQ(mine.begin, other.begin);
            ASSERT_EQ(mine.end, other.end);
            CsvRecords none(csv.options);
            const CsvText values(text.data() + mine.begin, none.quote());
            std::string memory;
            std::size_t at = 0;
            for (const std::string& field : mine.fields) {
                const CsvField place{static_cast<std::uint32_t>(at),
                                     static_cast<std::uint32_t>(at + field.size())};
                EXPECT_EQ(values.value(place, memory), plainValue(field, csv.options.csvQuote));
                at += field.size() + 1;
            }
        }
    }
}

/// Text that the fast code accepts has the form that csv_values.h describes.
void checkFast(const std::string& value) {
    const std::string padded = value + std::string(32, '1');
    const char* const text = padded.data();
    std::int64_t whole = 0, micros = 0, otherWhole = 0;
    std::int32_t days = 0, otherDays = 0;
    double number = 0, otherNumber = 0;
    if (fast::whole(text, value.size(), whole)) {
        ASSERT_TRUE(csvInteger(value, otherWhole)) << value;
        ASSERT_EQ(whole, otherWhole) << value;
    }
    if (fast::number(text, value.size(), number)) {
        ASSERT_TRUE(csvNumber(value, otherNumber)) << value;
        ASSERT_EQ(std::bit_cast<std::uint64_t>(number), std::bit_cast<std::uint64_t>(otherNumber))
            << value;
        ASSERT_EQ(number, std::strtod(value.c_str(), nullptr)) << value;
    }
    if (fast::isFraction(text, value.size())) {
        ASSERT_EQ(lookOf(value).form, files::CsvForm::kDouble) << value;
    }
    if (fast::date(text, value.size(), days)) {
        ASSERT_TRUE(csvDate(value, otherDays)) << value;
        ASSERT_EQ(days, otherDays) << value;
    }
    if (fast::time(text, value.size(), micros)) {
        ASSERT_TRUE(csvTime(value, otherWhole)) << value;
        ASSERT_EQ(micros, otherWhole) << value;
    }
}

TEST(CsvFast, WhatIsTakenHasTheSameBits) {
    std::mt19937_64 random(3);
    RandomCsv csv(3);
    csv.options.csvHasDecimalComma = false;
    for (int round = 0; round < 300'000; ++round) {
        std::string value = csv.value(static_cast<std::size_t>(round % 5));
        if (round % 4 == 0 && !value.empty()) {
            value[random() % value.size()] = "0123456789-.:TZ e"[random() % 17];
        }
        if (!value.empty()) {
            checkFast(value);
        }
    }
}

TEST(CsvFast, NumbersAsProgramsWriteThem) {
    std::mt19937_64 random(4);
    int taken = 0;
    for (int round = 0; round < 300'000; ++round) {
        const double number =
            std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 40) - 60);
        char text[64];
        const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
        const std::string value(text, end.ptr);
        double read = 0;
        taken += fast::number((value + std::string(16, '0')).data(), value.size(), read) ? 1 : 0;
        checkFast(value);
    }
    EXPECT_GT(taken, 200'000);
}

/// At half way between two doubles and next to it, the further digits decide.
TEST(CsvFast, TiesGoToEven) {
    for (const char* value :
         {"9007199254740993.0", "9007199254740995.0", "4503599627370496.5", "4503599627370497.5",
          "4503599627370497.501", "4503599627370496.499", "1125899906842624.125",
          "1125899906842624.375", "0.5000000000000000555", "9999999999999999999",
          "999999999999999999.9", "0.9999999999999999999", "18014398509481985.1"}) {
        checkFast(value);
        checkFast(std::string("-") + value);
    }
}

/// The facts of a file, computed by plain code.
void checkFacts(const std::string& text, const RandomCsv& csv, int threads) {
    DataDirectory dir;
    const std::string path = dir.text("t.csv", text);
    const auto facts = scanCsv(*files::statFile(path, path), csv.options, threads);
    const PlainFile plain = plainFile(text, csv.options);
    const char quote = csv.options.csvQuote;
    const std::size_t width = plain.records.at(0).fields.size();
    const CsvNulls nulls(csv.options);
    std::vector<files::CsvColumn> columns(width);
    ASSERT_TRUE(facts.ok()) << facts.status();
    ASSERT_EQ(facts->rows, static_cast<std::int64_t>(plain.records.size()) - 1);
    std::vector<std::int64_t> bytes(width);
    for (std::size_t r = 1; r < plain.records.size(); ++r) {
        const PlainRecord& record = plain.records[r];
        const auto splitRows = static_cast<std::size_t>(csv.options.csvSplitRows);
        const files::ColumnChunkMetadata& chunk = facts->chunks.at((r - 1) / splitRows);
        if ((r - 1) % splitRows == 0) {
            ASSERT_EQ(chunk.offset, static_cast<std::int64_t>(record.begin));
            ASSERT_EQ(chunk.firstLine, record.line);
            bytes.assign(width, 0);
        }
        for (std::size_t c = 0; c < width; ++c) {
            bytes[c] += static_cast<std::int64_t>(record.fields[c].size()) + 1;
            const std::string value = plainValue(record.fields[c], quote);
            const bool isNull = nulls.isNull(value);
            const CsvValueForm look = isNull ? CsvValueForm{files::CsvForm::kWord}
                                             : lookOf(value, csv.options.csvHasDecimalComma);
            const std::pair<files::CsvForm, bool> forms[] = {
                {look.form, !value.empty()},
                {files::CsvForm::kNegative, look.isNegative},
                {files::CsvForm::kInexact, look.isInexact},
                {files::CsvForm::kZeros,
                 look.form == files::CsvForm::kInt && value.size() > 2 && value[0] == '0'}};
            for (const auto& [form, isSeen] : forms) {
                if (isSeen && columns[c].counts[static_cast<std::size_t>(form)]++ == 0) {
                    columns[c].firsts.push_back({form, record.line, ""});
                }
            }
        }
        const bool isLast = r + 1 == plain.records.size() || r % splitRows == 0;
        if (isLast) {
            ASSERT_EQ(chunk.decodedBytes, bytes);
            ASSERT_EQ(chunk.offset + chunk.bytes, static_cast<std::int64_t>(record.end));
        }
    }
    for (std::size_t c = 0; c < width; ++c) {
        ASSERT_EQ(facts->csv[c].counts, columns[c].counts) << c;
        ASSERT_EQ(facts->csv[c].firsts.size(), columns[c].firsts.size());
        for (std::size_t i = 0; i < columns[c].firsts.size(); ++i) {
            ASSERT_EQ(facts->csv[c].firsts[i].form, columns[c].firsts[i].form);
            ASSERT_EQ(facts->csv[c].firsts[i].line, columns[c].firsts[i].line);
        }
    }
}

TEST(CsvScan, FactsAreThoseOfPlainCode) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        RandomCsv csv(seed);
        // Some files have several blocks.
        const std::string text = csv.file(1 + seed % 12, seed % 100 == 7 ? 12'000 : 1 + seed);
        checkFacts(text, csv, 1 + static_cast<int>(seed % 4));
        ASSERT_FALSE(HasFatalFailure()) << seed;
    }
}

TEST(CsvScan, TheFirstWrongRecordIsToldForAnyNumberOfThreads) {
    std::string text = "a,b\n";
    for (int row = 0; row < 200'000; ++row) {
        text += row == 90'000 ? "1\n" : row > 100'000 ? "\xff,1\n" : "1,2\n";
    }
    DataDirectory dir;
    const std::string path = dir.text("t.csv", text + "\"open");
    for (int threads = 1; threads < 5; ++threads) {
        files::ReadOptions options;
        options.format = "csv";
        const auto facts = scanCsv(*files::statFile(path, path), options, threads);
        EXPECT_THAT(messageOf(facts.status()),
                    ::testing::HasSubstr("t.csv:90002: 1 field, but the header has 2"));
    }
}

}  // namespace
}  // namespace millrace::csv
