#include "backend/csv/csv_scan.h"

#include <gmock/gmock.h>

#include "tests/unit/dataset/data_files.h"

namespace millrace::csv {
namespace {

using expr::TypeKind;
using test::DataDirectory;
using ::testing::EndsWith;
using ::testing::HasSubstr;

Result<files::FileMetadata> scan(const std::string& text, files::ReadOptions options = {}) {
    DataDirectory dir;
    options.format = "csv";
    const std::string path = dir.text("t.csv", text);
    return scanCsv(*files::statFile(path, path), options);
}

TypeKind typeOf(const files::FileMetadata& facts, const std::string& column) {
    return facts.schema.find(column)->type.kind;
}

TEST(CsvScan, PinsTheNarrowestTypes) {
    const auto facts = scan(
        "i,d,b,s,t,day,n\n"
        "1,1.5,true,abc,2024-01-31 10:00:00,2024-01-31,\n"
        "-2,3,False,1,2024-02-01T00:00:00.5,2024-02-01,\n"
        ",,,,,,\n");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->rows, 3);
    EXPECT_EQ(typeOf(*facts, "i"), TypeKind::kInt64);
    EXPECT_EQ(typeOf(*facts, "d"), TypeKind::kDouble);
    EXPECT_EQ(typeOf(*facts, "b"), TypeKind::kBool);
    EXPECT_EQ(typeOf(*facts, "s"), TypeKind::kString);
    EXPECT_EQ(typeOf(*facts, "t"), TypeKind::kTimestamp);
    EXPECT_EQ(typeOf(*facts, "day"), TypeKind::kDate);
    EXPECT_EQ(typeOf(*facts, "n"), TypeKind::kNull);
}

TEST(CsvScan, ALateValueWidensTheTypeOfTheWholeFile) {
    std::string text = "x\n";
    for (int i = 0; i < 1000; ++i) {
        text += "7\n";
    }
    EXPECT_EQ(typeOf(*scan(text), "x"), TypeKind::kInt64);
    EXPECT_EQ(typeOf(*scan(text + "7.5\n"), "x"), TypeKind::kDouble);
    EXPECT_EQ(typeOf(*scan(text + "seven\n"), "x"), TypeKind::kString);
    EXPECT_EQ(typeOf(*scan(text + "99999999999999999999\n"), "x"), TypeKind::kString);
}

TEST(CsvScan, CutsAtRecordBordersOfTheAskedNumberOfRows) {
    files::ReadOptions options;
    options.csvSplitRows = 2;
    const auto facts = scan("a,b\r\n1,\"x\ny\"\r\n2,\"he said \"\"no\"\"\"\r\n3,z", options);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->rows, 3);
    ASSERT_EQ(facts->chunks.size(), 2);
    EXPECT_EQ(facts->chunks[0].rows, 2);
    EXPECT_EQ(facts->chunks[0].offset, 5);
    EXPECT_EQ(facts->chunks[0].firstLine, 2);
    EXPECT_EQ(facts->chunks[1].rows, 1);
    EXPECT_EQ(facts->chunks[1].firstLine, 5);
    EXPECT_EQ(facts->chunks[1].bytes, 3);
}

TEST(CsvScan, RecordsOverBlockBordersAreWhole) {
    std::string text = "a,b\n";
    std::int64_t rows = 0;
    while (text.size() < 3'500'000) {
        text += std::to_string(rows) + ",\"" +
                std::string(static_cast<std::size_t>(rows % 300), 'x') + "\n\"\"q\"\"\"\n";
        ++rows;
    }
    files::ReadOptions options;
    options.csvSplitRows = 1000;
    const auto facts = scan(text, options);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->rows, rows);
    EXPECT_EQ(typeOf(*facts, "a"), TypeKind::kInt64);
    std::int64_t bytes = 4;
    for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
        EXPECT_EQ(chunk.offset, bytes);
        bytes += chunk.bytes;
    }
    EXPECT_EQ(bytes, static_cast<std::int64_t>(text.size()));
}

TEST(CsvScan, ABrokenRowIsNamedByFileAndLine) {
    const std::string kWayOut =
        "; dataset.csv.on_bad_row: drop (--csv on_bad_row=drop) leaves such rows out";
    EXPECT_THAT(messageOf(scan("a,b\n1,2\n\"x\ny\",2\n3\n").status()),
                EndsWith("t.csv:5: 1 field, but the header has 2" + kWayOut));
    EXPECT_THAT(messageOf(scan("a;b\n1,2;3\n").status()),
                EndsWith("t.csv:2: 2 fields, but the header has 1; the header is one field, 'a;b'; "
                         "dataset.csv.delimiter: \";\" (--delimiter \";\") makes columns of it"));
    EXPECT_THAT(messageOf(scan("a,b\n1,2\n1,2,3\n").status()),
                EndsWith("t.csv:3: 3 fields, but the header has 2" + kWayOut));
}

TEST(CsvScan, ATitleAboveRowsOfOtherFieldsIsSkipped) {
    EXPECT_THAT(messageOf(scan("3,2,no,yes\n1,2,3,4,5,6\n1,2,3,4,6,7\n").status()),
                EndsWith("t.csv:2: 6 fields, but the header has 4; the first line looks like a "
                         "title: dataset.csv.skip_rows: 1 (--csv skip_rows=1) and "
                         "dataset.csv.header: false (--csv header=false) call the columns f0, f1, "
                         "..."));
    EXPECT_THAT(messageOf(scan("sales,2024\na,b,c,d,e\n1,2,3,4,6\n").status()),
                EndsWith("skip_rows: 1 (--csv skip_rows=1) takes the next line as the header"));
    EXPECT_THAT(messageOf(scan("a,b\n1,2,3\n1,2\n").status()), HasSubstr("on_bad_row"));
}

TEST(CsvScan, AnUnterminatedQuoteIsNamedByTheLineItOpensOn) {
    EXPECT_THAT(messageOf(scan("a,b\n1,2\n3,\"open\n4,5\n").status()),
                EndsWith("t.csv:3: a quote is opened here and never closed"));
}

TEST(CsvScan, BadHeadersAreRefused) {
    EXPECT_THAT(messageOf(scan(",\n1,2\n").status()), HasSubstr("no column has a name"));
    EXPECT_THAT(messageOf(scan("").status()), HasSubstr("the file is empty"));
}

TEST(CsvScan, EmptyLinesAndAByteOrderMarkAreSkipped) {
    const auto facts = scan(
        "\xef\xbb\xbf"
        "a,b\n\n1,2\n\n\n3,4\n\n");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->rows, 2);
    EXPECT_NE(facts->schema.find("a"), nullptr);
}

TEST(CsvScan, WithoutAHeaderColumnsAreNumbered) {
    files::ReadOptions options;
    options.csvHasHeader = false;
    options.csvDelimiter = '\t';
    const auto facts = scan("1\tx\n2\ty\n", options);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->rows, 2);
    EXPECT_EQ(typeOf(*facts, "f0"), TypeKind::kInt64);
    EXPECT_EQ(typeOf(*facts, "f1"), TypeKind::kString);
}

}  // namespace
}  // namespace millrace::csv
