// CSV as people write it: the types of columns, errors with file and line, nulls.
#include <algorithm>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/io/compressed.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/side_table.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/csv_datasets.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::csv;
using test::DataDirectory;
using test::ints;
using test::openAt;
using test::reals;
using test::texts;
using test::typeOf;
using test::valuesOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ArrayPtr = std::shared_ptr<arrow::Array>;

std::string numbers(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += std::to_string(i) + "\n";
    }
    return text;
}

std::string compressed(const std::string& text, arrow::Compression::type kind) {
    const auto codec = *arrow::util::Codec::Create(kind);
    std::string out(text.size() + 1000, '\0');
    const auto n = codec->Compress(
        static_cast<std::int64_t>(text.size()), reinterpret_cast<const std::uint8_t*>(text.data()),
        static_cast<std::int64_t>(out.size()), reinterpret_cast<std::uint8_t*>(out.data()));
    out.resize(static_cast<std::size_t>(*n));
    return out;
}

TEST(Csv, WordsForNothingAreNullButInTexts) {
    DataDirectory dir;
    dir.text("a.csv",
             "i,d,t,s\n1,0.5,2024-01-01,NA\nNA,NaN,null,x\nNone,N/A,NULL,\n\"\",\"\",,\"\"\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "i"), "int64");
    EXPECT_EQ(typeOf(dataset, "d"), "double");
    EXPECT_EQ(typeOf(dataset, "t"), "date");
    EXPECT_TRUE(valuesOf(dataset, "i")->Equals(ints({1, -1, -1, -1}, -1)));
    EXPECT_TRUE(valuesOf(dataset, "s")->Equals(texts({"NA", "x", "\x01", ""})));
    EXPECT_THAT(
        (*dataset)->notes(),
        ElementsAre(AllOf(HasSubstr("a.csv:2: column 's' is text, and 'NA' is a value of it"),
                          HasSubstr("dataset.csv.null_values: ['NA']"))));
}

TEST(Csv, AColumnThatIsEmptyInOneFileIsOfTheOthersType) {
    DataDirectory dir;
    dir.text("a.csv", "k,a\n1,\n");
    dir.text("b.csv", "k,a\n2,x\n");
    dir.text("c.csv", "k,a\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "a"), "string");
    EXPECT_TRUE(valuesOf(dataset, "a")->IsNull(0));
    EXPECT_TRUE(valuesOf(dataset, "a", 1)->Equals(texts({"x"})));
}

TEST(Csv, LargeWholeNumbersAreNeverRounded) {
    DataDirectory dir;
    dir.text("a.csv", "k,id\n1,18446744073709551615\n2,18446744073709551614\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "id"), "uint64");
    EXPECT_EQ((*valuesOf(openAt(dir, csv()), "id")->GetScalar(0))->ToString(),
              "18446744073709551615");
    dir.text("a.csv", "k,id\n1,99999999999999999999\n2,99999999999999999998\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "id"), "string");
    dir.text("a.csv", "k,id\n1,9007199254740993\n2,0.5\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "id"), "string");
    dir.text("a.csv", "k,id\n1,7\n2,9007199254740993\n");
    dir.text("b.csv", "k,id\n1,1.5\n");
    EXPECT_TRUE(valuesOf(openAt(dir, csv()), "id")->Equals(texts({"7", "9007199254740993"})));
    EXPECT_TRUE(valuesOf(openAt(dir, csv()), "id", 1)->Equals(texts({"1.5"})));
    files::ReadOptions asDouble = csv();
    asDouble.csvTypes = {{"id", "double"}};
    const auto widened = openAt(dir, asDouble);
    ASSERT_TRUE(widened.ok()) << widened.status();
    SplitReader reader(*widened);
    EXPECT_THAT(messageOf(reader.readColumns({0, 0, 0, 2}, {"id"}).status()),
                HasSubstr("a.csv:3: column 'id': '9007199254740993' is not of type double"));
    dir.text("a.csv", "k,id\n1,-5\n");
    dir.text("b.csv", "k,id\n1,9007199254740992\n2,0.5\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "id"), "double");
}

TEST(Csv, ARangeOfASplitIsRead) {
    DataDirectory dir;
    dir.text("a.csv", "x\n" + numbers(100));
    files::ReadOptions options = csv();
    options.csvSplitRows = 40;
    SplitReader reader(*openAt(dir, options));
    const auto read = reader.readColumns({0, 1, 45, 3}, {"x"});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->at(0)->Equals(ints({45, 46, 47})));
    EXPECT_FALSE(reader.readColumns({0, 1, 39, 3}, {"x"}).ok());
    EXPECT_FALSE(reader.readColumns({0, 1, 78, 3}, {"x"}).ok());
}

TEST(Csv, TimesHaveZonesAndFractions) {
    DataDirectory dir;
    dir.text("a.csv",
             "t\n2024-01-01T00:00:00Z\n2024-01-01 02:30:00.5+02:30\n2023-12-31T19:00-0500\n"
             "2024-01-01\n2024-01-01T00:00:00.123456789Z\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "t"), "timestamp");
    const ArrayPtr values = valuesOf(dataset, "t");
    const auto& times = static_cast<const arrow::TimestampArray&>(*values);
    const std::int64_t midnight = 1'704'067'200'000'000;
    EXPECT_EQ(times.Value(0), midnight);
    EXPECT_EQ(times.Value(1), midnight + 500'000);
    EXPECT_EQ(times.Value(2), midnight);
    EXPECT_EQ(times.Value(3), midnight);
    EXPECT_EQ(times.Value(4), midnight + 123'456);
    dir.text("a.csv", "t\n2024-02-30\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "t"), "string");
}

TEST(Csv, CompressedFilesAreToldByTheirBytes) {
    DataDirectory dir;
    std::string text = "x,y\n";
    for (int i = 0; i < 10'000; ++i) {
        text += std::to_string(i) + ",t\n";
    }
    files::ReadOptions options = csv();
    options.csvSplitRows = 1'000;
    for (const auto kind : {arrow::Compression::GZIP, arrow::Compression::ZSTD}) {
        const std::string packed = compressed(text, kind);
        for (const std::string name : {"a.csv", "a.csv.gz"}) {
            test::write(dir.at(name), packed);
            const auto dataset = openAt(dir, options, name);
            ASSERT_TRUE(dataset.ok()) << dataset.status();
            ASSERT_EQ((*(*dataset)->facts(0))->rows, 10'000);
            SplitReader reader(*dataset);
            for (const std::int64_t chunk : {7, 2, 3, 9, 0}) {
                const auto read = reader.readColumns({0, chunk, chunk * 1'000, 1'000}, {"x"});
                ASSERT_TRUE(read.ok()) << read.status();
                EXPECT_EQ(static_cast<const arrow::Int64Array&>(*read->at(0)).Value(5),
                          chunk * 1000 + 5);
            }
        }
        test::write(dir.at("a.csv"), packed.substr(0, packed.size() / 2));
        EXPECT_THAT(messageOf(openAt(dir, options, "a.csv").status()),
                    HasSubstr("a.csv: damaged or truncated"));
    }
    test::write(dir.at("a.csv"), "PK\x03\x04 and more");
    EXPECT_THAT(messageOf(openAt(dir, options, "a.csv").status()), HasSubstr("a ZIP archive"));
}

TEST(Csv, OtherEncodingsAreRefusedWithTheLineAndTheWayOut) {
    DataDirectory dir;
    const std::string path = dir.text("a.csv", "s\nfine\ncaf\xe9\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                AllOf(HasSubstr("a.csv:3: not UTF-8 (byte 0xE9)"),
                      HasSubstr("iconv -f WINDOWS-1252 -t UTF-8 '" + path + "'")));
    dir.text("a.csv", std::string("\xff\xfes\0\n\0", 6));
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                AllOf(HasSubstr("a.csv:1: "), HasSubstr("iconv -f UTF-16")));
}

TEST(Csv, WordsForNullThatAreGivenHoldInEveryColumn) {
    DataDirectory dir;
    dir.text("a.csv", "i,s\n1,-\n-,NA\n,x\n3,\"-\"\n");
    files::ReadOptions options = csv();
    options.csvNullValues = {"-", "?"};
    const auto dataset = openAt(dir, options);
    EXPECT_TRUE(valuesOf(dataset, "i")->Equals(ints({1, -1, -1, 3}, -1)));
    EXPECT_TRUE(valuesOf(dataset, "s")->Equals(texts({"\x01", "NA", "x", "\x01"})));
    EXPECT_THAT((*dataset)->notes(), IsEmpty());
    options.csvNullValues = {""};
    dir.text("a.csv", "i,s\n1,\"\"\n,NA\n");
    EXPECT_TRUE(valuesOf(openAt(dir, options), "s")->Equals(texts({"\x01", "NA"})));
}

TEST(Csv, OneBadValueIsNamedWithFileLineColumnAndValue) {
    DataDirectory dir;
    dir.text("a.csv", "x\n" + numbers(100));
    dir.text("b.csv", "x\n1\noops\n" + numbers(50));
    EXPECT_THAT(
        messageOf(openAt(dir, csv()).status()),
        AllOf(HasSubstr("b.csv:3: column 'x': 'oops' is not of type int64, as the 151 other "
                        "values are; "),
              HasSubstr("dataset.csv"), HasSubstr("on_bad_row: drop"),
              HasSubstr("null_values: ['oops']"), HasSubstr("types: {x: string}")));
    dir.text("b.csv", "x\n1\noops\nNA\n" + numbers(50));
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()), HasSubstr("null_values: ['oops', 'NA']"));
    dir.text("b.csv", "x\n1\nit's\n" + numbers(50));
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()), Not(HasSubstr("null_values")));
    dir.text("b.csv", "x\n1\noops\n" + numbers(50));
    files::ReadOptions options = csv();
    options.csvTypes = {{"x", "string"}};
    EXPECT_EQ(typeOf(openAt(dir, options), "x"), "string");
    options = csv();
    options.csvNullValues = {"oops"};
    EXPECT_EQ(typeOf(openAt(dir, options), "x"), "int64");
    EXPECT_TRUE(valuesOf(openAt(dir, options), "x", 1)->IsNull(1));
}

/// The error of a file with `good` good values and `others`, or the type of its column.
std::string errorOf(int good, const std::string& others, const std::string& line = "7\n") {
    DataDirectory dir;
    std::string text = "x\n";
    for (int i = 0; i < good; ++i) {
        text += line;
    }
    dir.text("a.csv", text + others);
    const auto opened = openAt(dir, csv());
    return opened.ok() ? (*opened)->schema().find("x")->type.name()
                       : std::string(messageOf(opened.status()));
}

TEST(Csv, FewIsAtMostThreeOrOneInAHundredOfAtLeastTwenty) {
    EXPECT_EQ(errorOf(19, "oops\n"), "string");
    EXPECT_THAT(errorOf(20, "oops\n"), HasSubstr("a.csv:22: column 'x': 'oops'"));
    EXPECT_THAT(errorOf(20, "a\nb\nc\n"), HasSubstr("'a' is not of type int64"));
    EXPECT_THAT(errorOf(20, "a\nb\nc\n"), HasSubstr("there are 3 such values"));
    EXPECT_EQ(errorOf(20, "a\nb\nc\nd\n"), "string");
    EXPECT_EQ(errorOf(399, "a\nb\nc\nd\n"), "string");
    EXPECT_THAT(errorOf(400, "a\nb\nc\nd\n"), HasSubstr("'a' is not of type int64"));
}

TEST(Csv, WhatIsBadDependsOnWhatTheOthersAre) {
    EXPECT_THAT(errorOf(30, "2024-01-01\n"), HasSubstr("'2024-01-01' is not of type int64"));
    EXPECT_THAT(errorOf(30, "true\n"), HasSubstr("'true' is not of type int64"));
    EXPECT_THAT(errorOf(30, "0.5\nx\n"), HasSubstr("'x' is not of type double"));
    EXPECT_THAT(errorOf(30, "99999999999999999999\n"),
                HasSubstr("'99999999999999999999' is not of type int64"));
    EXPECT_THAT(errorOf(30, "9007199254740993\n", "0.5\n"),
                HasSubstr("'9007199254740993' is not of type double"));
    EXPECT_THAT(errorOf(30, "-1\n", "18446744073709551615\n"),
                HasSubstr("'-1' is not of type uint64"));
    EXPECT_THAT(errorOf(30, "18446744073709551615\n", "-1\n"),
                HasSubstr("'18446744073709551615' is not of type int64"));
    EXPECT_THAT(errorOf(30, "noon\n", "2024-01-01T00:00:00Z\n"),
                HasSubstr("'noon' is not of type timestamp"));
    EXPECT_THAT(errorOf(30, "2024-01-01\n12\n", "2024-01-01T00:00:00Z\n"),
                HasSubstr("'12' is not of type timestamp"));
    EXPECT_EQ(errorOf(30, "0.5\n"), "double");
    EXPECT_EQ(errorOf(30, "2024-01-01\n", "2024-01-01T00:00:00Z\n"), "timestamp");
    EXPECT_EQ(errorOf(30, "1\n", "x\n"), "string");
    EXPECT_EQ(errorOf(30, "x\n", "true\n"), "string");
    EXPECT_EQ(errorOf(30, "NA\n\"\"\n"), "int64");
}

TEST(Csv, BadRowsAreLeftOutAndCountedWhereTheUserSaysSo) {
    DataDirectory dir;
    std::string rows;
    for (int i = 0; i < 60; ++i) {
        rows += std::to_string(i) + ",8\n";
    }
    dir.text("a.csv", "x,y\n1,2\n3\noops,4\n5,6\n" + rows + "1,2,3\n");
    dir.text("b.csv", "x,y\n7,\"no\"\n" + rows);
    files::ReadOptions options = csv();
    options.csvDropsBadRows = true;
    options.csvSplitRows = 40;
    const auto dataset = openAt(dir, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->badRows(), 4);
    EXPECT_THAT((*dataset)->notes(),
                ElementsAre(AllOf(HasSubstr("a.csv:3: 1 field, but the header has 2 (1 row); "),
                                  HasSubstr("a.csv:4: column 'x': 'oops' is not of type int64 (1 "
                                            "row); "),
                                  HasSubstr("3 fields, but the header has 2 (1 row); and 1 more "
                                            "reason; "),
                                  HasSubstr("on_bad_row: drop leaves 4 rows out"))));
    EXPECT_EQ(typeOf(dataset, "x"), "int64");
    EXPECT_EQ(typeOf(dataset, "y"), "int64");
    EXPECT_EQ((*(*dataset)->facts(0))->rows, 62);
    EXPECT_EQ((*(*dataset)->facts(1))->rows, 60);
    EXPECT_TRUE(valuesOf(dataset, "y")->Slice(0, 3)->Equals(ints({2, 6, 8})));
    SplitReader reader(*dataset);
    const auto second = reader.readColumns({0, 1, 40, 22}, {"x"});
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_TRUE(second->at(0)->Slice(0, 2)->Equals(ints({38, 39})));
    // A dataset whose types come from a plan has the same rows.
    files::ReadOptions planned = options;
    planned.csvTypes = {{"x", "int64"}, {"y", "int64"}};
    stream::PlanFile file;
    file.path = dir.at("a.csv");
    file.relativePath = "a.csv";
    file.bytes = (*dataset)->files()[0].bytes;
    file.footerHash = (*(*dataset)->facts(0))->contentHash;
    const auto again = Dataset::ofPlan({file}, planned, std::make_shared<MetadataCache>());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*(*again)->facts(0))->rows, 62);
}

TEST(Csv, AnEmptyFileAmongOthersIsLeftOut) {
    DataDirectory dir;
    dir.text("a.csv", "");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()), HasSubstr("a.csv: the file is empty"));
    dir.text("b.csv", "x,y\n1,2\n");
    const auto dataset = openAt(dir, csv());
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->files().size(), 1U);
    EXPECT_THAT((*dataset)->notes(),
                ElementsAre(HasSubstr("a.csv: the file is empty, and is left out")));
}

TEST(Csv, ABadRowThatAStrayQuoteMadeSaysHowManyLinesItHas) {
    DataDirectory dir;
    dir.text("a.csv", "x,y\n1\n\"2,2\n3,3\n4,4\n5,\"5\n6,6\n");
    files::ReadOptions options = csv();
    options.csvDropsBadRows = true;
    const auto dataset = openAt(dir, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->badRows(), 2);
    EXPECT_THAT((*dataset)->notes(), ElementsAre(AllOf(HasSubstr("a.csv:3: "),
                                                       HasSubstr("4 lines are this one record"))));
}

TEST(Csv, SplitsAreCutBesideCommentsAndRowsThatAreLeftOut) {
    DataDirectory dir;
    std::string text = "x,s\n# before\nbad,a\n";
    for (int i = 0; i < 40; ++i) {
        text += std::to_string(i) + (i % 3 == 0 ? ",\"# no\ncomment\"\n" : ",t\n");
        text += i % 4 == 0 ? "# a comment, \"\n" : i % 5 == 0 ? "1,2,3\n" : i == 31 ? "no,b\n" : "";
    }
    dir.text("a.csv", text + "1\n# behind");
    files::ReadOptions options = csv();
    options.csvComment = '#';
    options.csvDropsBadRows = true;
    for (const std::int64_t rows : {1, 2, 3, 4, 7, 100}) {
        options.csvSplitRows = rows;
        const auto dataset = openAt(dir, options);
        ASSERT_EQ(typeOf(dataset, "x"), "int64") << rows;
        const auto facts = *(*dataset)->facts(0);
        EXPECT_EQ(facts->rows, 40);
        SplitReader reader(*dataset);
        SplitRange split{0, 0, 0, 0};
        for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
            split.rows = chunk.rows;
            const auto read = reader.readColumns(split, {"x", "s"});
            ASSERT_TRUE(read.ok()) << read.status();
            for (std::int64_t i = 0; i < chunk.rows; ++i) {
                const std::int64_t x = split.firstRow + i;
                EXPECT_EQ(static_cast<const arrow::Int64Array&>(*read->at(0)).Value(i), x);
                EXPECT_EQ(static_cast<const arrow::StringArray&>(*read->at(1)).GetString(i),
                          x % 3 == 0 ? "# no\ncomment" : "t");
            }
            split.firstRow += chunk.rows;
            ++split.chunk;
        }
        EXPECT_EQ(split.firstRow, 40);
    }
}

TEST(Csv, ValuesThatAreNotOfAGivenTypeAreBadRowsToo) {
    DataDirectory dir;
    dir.text("a.csv", "x,y\n1,a\n300,b\n2,c\n");
    files::ReadOptions options = csv();
    options.csvTypes = {{"x", "int8"}};
    options.csvDropsBadRows = true;
    const auto dataset = openAt(dir, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->badRows(), 1);
    EXPECT_THAT((*dataset)->notes().front(),
                HasSubstr("a.csv:3: column 'x': '300' is not of type int8"));
    EXPECT_TRUE(valuesOf(dataset, "y")->Equals(texts({"a", "c"})));
}

TEST(Csv, HowAFileIsReadIsPartOfItsHash) {
    DataDirectory dir;
    dir.text("a.csv", "k;x\n1;2\n2;-\n");
    const auto hashOf = [&](const files::ReadOptions& options) {
        return (*(*openAt(dir, options))->facts(0))->contentHash;
    };
    files::ReadOptions options = csv();
    std::vector<std::string> hashes = {hashOf(options)};
    options.csvNullValues = {"-"};
    hashes.push_back(hashOf(options));
    options.csvQuote = '\'';
    hashes.push_back(hashOf(options));
    options.csvComment = '#';
    hashes.push_back(hashOf(options));
    options.csvDropsBadRows = true;
    hashes.push_back(hashOf(options));
    std::sort(hashes.begin(), hashes.end());
    EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Csv, ADialectIsReadAsItsKeysSay) {
    DataDirectory dir;
    dir.text("a.csv",
             "made by hand\r\n\n# a \"note\na;b\n1,5;'x;y'\n# be;tween\n-2;''''\n,25;\"q\n");
    files::ReadOptions options = csv();
    options.csvDelimiter = ';';
    options.csvQuote = '\'';
    options.csvComment = '#';
    options.csvSkipRows = 2;
    options.csvHasDecimalComma = true;
    const auto dataset = openAt(dir, options);
    EXPECT_EQ(typeOf(dataset, "a"), "double");
    EXPECT_TRUE(valuesOf(dataset, "a")->Equals(reals({1.5, -2, 0.25})));
    EXPECT_TRUE(valuesOf(dataset, "b")->Equals(texts({"x;y", "'", "\"q"})));
    EXPECT_EQ((*(*dataset)->facts(0))->chunks.at(0).firstLine, 5);
    dir.text("a.csv", "a\tb\n\"x\t1\ny\"\t2\n");
    options = csv();
    options.csvDelimiter = '\t';
    options.csvQuote = 0;
    EXPECT_TRUE(valuesOf(openAt(dir, options), "a")->Equals(texts({"\"x", "y\""})));
    dir.text("a.csv", "a;b\n1.5;x\n2,5;y\n");
    options = csv();
    options.csvDelimiter = ';';
    options.csvHasDecimalComma = true;
    EXPECT_EQ(typeOf(openAt(dir, options), "a"),
              "string");  // the point is not the decimal mark here
}

TEST(Csv, SkippedLinesAndCommentsMayLieOverBlockBorders) {
    DataDirectory dir;
    std::string text;
    for (int i = 0; i < 3; ++i) {
        text += std::string(700'000, 's') + "\r\n";
    }
    text += "x\r\n1\r\n#" + std::string(2'500'000, 'c') + "\r\n2\r\n#end";
    dir.text("a.csv", text);
    files::ReadOptions options = csv();
    options.csvSkipRows = 3;
    options.csvComment = '#';
    EXPECT_TRUE(valuesOf(openAt(dir, options), "x")->Equals(ints({1, 2})));
    for (const std::int64_t lines : {std::int64_t{30}, std::int64_t{1} << 62}) {  // at once
        options.csvSkipRows = lines;
        EXPECT_THAT(messageOf(openAt(dir, options).status()), HasSubstr("the file is empty"));
    }
}

TEST(Csv, WholeNumbersOfTwoKindsInTwoFilesAreWidenedExactlyOrAreTexts) {
    DataDirectory dir;
    dir.text("a.csv", "id\n7\n9223372036854775807\n");
    dir.text("b.csv", "id\n18446744073709551615\n");
    const auto widened = openAt(dir, csv());
    EXPECT_EQ(typeOf(widened, "id"), "uint64");
    EXPECT_EQ((*valuesOf(widened, "id")->GetScalar(1))->ToString(), "9223372036854775807");
    EXPECT_EQ((*valuesOf(widened, "id", 1)->GetScalar(0))->ToString(), "18446744073709551615");
    dir.text("a.csv", "id\n7\n-1\n");
    EXPECT_TRUE(valuesOf(openAt(dir, csv()), "id")->Equals(texts({"7", "-1"})));
    EXPECT_TRUE(valuesOf(openAt(dir, csv()), "id", 1)->Equals(texts({"18446744073709551615"})));
}

TEST(Csv, TextsThatLookLikeOtherThingsInOneFileAreTextsInAll) {
    for (const char* first : {"007\n12\n", "0.50\n", "2024-01-31\n", "true\n", "NA\n5\n"}) {
        DataDirectory dir;
        dir.text("a.csv", strCat("k\n", first));
        dir.text("b.csv", "k\nB-12\n");
        dir.text("c.csv", "k\n\"\"\n");
        const auto dataset = openAt(dir, csv());
        ASSERT_EQ(typeOf(dataset, "k"), "string") << first;
        const ArrayPtr values = valuesOf(dataset, "k");
        std::string read;
        for (std::int64_t i = 0; i < values->length(); ++i) {
            read += static_cast<const arrow::StringArray&>(*values).GetString(i) + "\n";
        }
        EXPECT_EQ(read, first);
        EXPECT_TRUE(valuesOf(dataset, "k", 1)->Equals(texts({"B-12"})));
        EXPECT_TRUE(valuesOf(dataset, "k", 2)->Equals(texts({""})));
    }
    DataDirectory dir;
    dir.text("a.csv", "k\n1\n");
    dir.text("b.csv", "k\n2024-01-31\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "k"), "string");
}

TEST(Csv, AZeroWithASignIsAZeroOfEveryWholeType) {
    DataDirectory dir;
    dir.text("a.csv", "id,s\n-0,-0\n18446744073709551615,-00\n");
    files::ReadOptions options = csv();
    options.csvTypes = {{"s", "uint8"}};
    const auto dataset = openAt(dir, options);
    EXPECT_EQ(typeOf(dataset, "id"), "uint64");
    EXPECT_EQ((*valuesOf(dataset, "id")->GetScalar(0))->ToString(), "0");
    EXPECT_EQ((*valuesOf(dataset, "s")->GetScalar(1))->ToString(), "0");
    dir.text("a.csv", "id,s\n1,-1\n");
    options.csvTypes = {{"s", "uint64"}};
    SplitReader reader(*openAt(dir, options));
    EXPECT_THAT(messageOf(reader.readColumns({0, 0, 0, 1}, {"s"}).status()),
                HasSubstr("'-1' is not of type uint64"));
}

TEST(Csv, AResolvedSpecsTypesMayBeOfColumnsFromDirectoryNames) {
    DataDirectory dir;
    dir.text("day=2024-01-31/a.csv", "x\n1\n");
    files::ReadOptions options = csv();
    options.csvTypes = {{"x", "int64"}, {"day", "date"}};
    EXPECT_EQ(typeOf(openAt(dir, options), "day"), "date");
    options.csvDropsBadRows = true;
    EXPECT_EQ(typeOf(openAt(dir, options), "day"), "date");
    options.csvTypes["day"] = "string";
    EXPECT_THAT(messageOf(openAt(dir, options).status()),
                HasSubstr("dataset.csv.types.day: the column is from the names of directories, "
                          "where it is date"));
}

TEST(Csv, AMistakeInTheTypesNamesThePlaceWhereTheyStand) {
    DataDirectory dir;
    dir.text("a.csv", "x\n1\n");
    files::ReadOptions options = csv();
    options.csvTypes = {{"y", "int64"}};
    EXPECT_THAT(messageOf(openAt(dir, options).status()),
                HasSubstr("dataset.csv.types: no column 'y'"));
    spec::TableRef table("a.csv");
    table.csv.types = {{"y", "int64"}};
    EXPECT_THAT(
        messageOf(tableSchema(table, {dir.path(), std::make_shared<MetadataCache>()}).status()),
        HasSubstr("the table's csv.types: no column 'y'"));
}

TEST(Csv, FactsOfOtherOptionsAreNotTakenFromTheCache) {
    DataDirectory dir, cacheDir;
    dir.text("a.csv", "x,y\n1,-\n2,3\n");
    const auto typeNow = [&](const files::ReadOptions& options) {
        const auto opened = Dataset::open({"."}, dir.path(), options,
                                          std::make_shared<MetadataCache>(cacheDir.path()), 1);
        return (*opened)->schema().find("y")->type.name();
    };
    files::ReadOptions options = csv();
    EXPECT_EQ(typeNow(options), "string");
    options.csvNullValues = {"-"};
    EXPECT_EQ(typeNow(options), "int64");
    EXPECT_EQ(typeNow(options), "int64");
    EXPECT_EQ(typeNow(csv()), "string");
}

TEST(Csv, TabsAreTheDelimiterOfTsv) {
    EXPECT_EQ(readOptionsOf({"a/b.tsv"}, "").csvDelimiter, '\t');
    EXPECT_EQ(readOptionsOf({"a/b.tsv.gz"}, "").csvDelimiter, '\t');
    EXPECT_EQ(readOptionsOf({"a.tsv/b.csv"}, "").csvDelimiter, ',');
    DataDirectory dir;
    dir.text("t.tsv", "a,b\tc\n1\t2\n");
    const auto schema = tableSchema("t.tsv", {dir.path(), std::make_shared<MetadataCache>()});
    ASSERT_TRUE(schema.ok()) << schema.status();
    EXPECT_THAT(schema->names(), ElementsAre("a,b", "c"));
}

TEST(Csv, SeveralFilesAreOneSideTableReadAsItSays) {
    DataDirectory dir;
    dir.text("t-1.csv", "k;v\n1;1,5\n");
    dir.text("t-2.csv", "k;v\n2;?\n");
    dir.text("u.csv", "k;v\n3;4,5\n");
    spec::TableRef table(std::vector<std::string>{"u.csv", "t-*.csv"});
    table.csv.delimiter = ";";
    table.csv.decimalComma = true;
    table.csv.nullValues = {"?"};
    const auto cache = std::make_shared<MetadataCache>();
    const auto loaded = loadTable(table, {"k", "v"}, {dir.path(), cache});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE((*loaded)->column(0)->chunk(0)->Equals(ints({3, 1, 2})));
    EXPECT_TRUE((*loaded)->column(1)->chunk(0)->Equals(reals({4.5, 1.5, -1}, -1)));
    EXPECT_EQ(tableSize(table, {"k"}, {dir.path(), cache})->rows, 3);
    table.csv.nullValues = {};
    const auto schema = tableSchema(table, {dir.path(), cache});
    ASSERT_TRUE(schema.ok()) << schema.status();
    EXPECT_EQ(schema->find("v")->type.name(), "string");
}

}  // namespace
}  // namespace millrace::dataset
