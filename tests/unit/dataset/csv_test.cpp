// CSV as people write it: which types follow, what is refused with file and line, what is null.
#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/io/compressed.h>
#include <arrow/scalar.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::reals;
using test::texts;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ArrayPtr = std::shared_ptr<arrow::Array>;

ReadOptions csv() {
    ReadOptions options;
    options.format = "csv";
    return options;
}

using Opened = Result<std::shared_ptr<const Dataset>>;

Opened openAt(const DataDirectory& dir, const ReadOptions& options, const std::string& path = ".") {
    return Dataset::open({path}, dir.path(), options, std::make_shared<FactsCache>(), 2);
}

std::string typeOf(const Opened& dataset, const std::string& column) {
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? (*dataset)->schema().find(column)->type.name() : "";
}

/// A column of the first file's first split.
ArrayPtr valuesOf(const Opened& dataset, const std::string& column, std::uint32_t file = 0) {
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    if (!dataset.ok()) {
        return ints({});
    }
    SplitReader reader(*dataset);
    const auto facts = (*dataset)->facts(file);
    const auto read = reader.readColumns({file, 0, 0, (*facts)->chunks.at(0).rows}, {column});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->at(0) : ints({});
}

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
    const auto n = codec->Compress(static_cast<std::int64_t>(text.size()),
                                   reinterpret_cast<const std::uint8_t*>(text.data()),
                                   static_cast<std::int64_t>(out.size()),
                                   reinterpret_cast<std::uint8_t*>(out.data()));
    out.resize(static_cast<std::size_t>(*n));
    return out;
}

TEST(Csv, OneBadValueAmongNumbersIsNamedWithFileAndLine) {
    DataDirectory dir;
    dir.text("a.csv", "x\n" + numbers(100));
    dir.text("b.csv", "x\n1\noops\n" + numbers(50));
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                AllOf(HasSubstr("b.csv:3: column 'x': 'oops' is not a number"),
                      HasSubstr("on_bad_row: drop"), HasSubstr("types: {x: string}")));
    ReadOptions options = csv();
    options.csvTypes = {{"x", "string"}};
    EXPECT_EQ(typeOf(openAt(dir, options), "x"), "string");
    options = csv();
    options.csvNullValues = {"oops"};
    EXPECT_EQ(typeOf(openAt(dir, options), "x"), "int64");
    EXPECT_TRUE(valuesOf(openAt(dir, options, "b.csv"), "x")->IsNull(1));
}

TEST(Csv, BadRowsAreLeftOutAndCountedWhereTheUserSaysSo) {
    DataDirectory dir;
    dir.text("a.csv", "x,y\n" + std::string("1,2\n3\noops,4\n5,6\n") + [] {
        std::string rows;
        for (int i = 0; i < 60; ++i) {
            rows += "7,8\n";
        }
        return rows;
    }());
    ReadOptions options = csv();
    options.csvDropsBadRows = true;
    const auto dataset = openAt(dir, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT((*dataset)->notes(),
                ElementsAre(AllOf(HasSubstr("a.csv:3: 1 field, but the header has 2"),
                                  HasSubstr("2 such rows are left out"))));
    EXPECT_EQ((*(*dataset)->facts(0))->rows, 62);
    const ArrayPtr y = valuesOf(dataset, "y");
    EXPECT_TRUE(y->Slice(0, 3)->Equals(ints({2, 6, 8})));
}

TEST(Csv, WordsForNothingAreNullButInTexts) {
    DataDirectory dir;
    dir.text("a.csv", "i,d,t,s\n1,0.5,2024-01-01,NA\nNA,NaN,null,x\nNone,N/A,NULL,\n\"\",\"\",,\"\"\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "i"), "int64");
    EXPECT_EQ(typeOf(dataset, "d"), "double");
    EXPECT_EQ(typeOf(dataset, "t"), "date");
    EXPECT_TRUE(valuesOf(dataset, "i")->Equals(ints({1, -1, -1, -1}, -1)));
    EXPECT_TRUE(valuesOf(dataset, "s")->Equals(texts({"NA", "x", "\x01", ""})));
    EXPECT_THAT((*dataset)->notes(), ElementsAre(HasSubstr("a.csv:2: column 's' is text, and 'NA'")));
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
    dir.text("a.csv", "k,id\n1,9007199254740993\n");
    dir.text("b.csv", "k,id\n1,1.5\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                AllOf(HasSubstr("a.csv:2: column 'id': 9007199254740993"), HasSubstr("b.csv:2")));
    dir.text("a.csv", "k,id\n1,-5\n");
    dir.text("b.csv", "k,id\n1,9223372036854775808\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()), HasSubstr("b.csv:2: column 'id'"));
    dir.text("b.csv", "k,id\n1,9007199254740992\n2,0.5\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "id"), "double");
}

TEST(Csv, TimesHaveZonesAndFractions) {
    DataDirectory dir;
    dir.text("a.csv",
             "t\n2024-01-01T00:00:00Z\n2024-01-01 02:30:00.5+02:30\n2023-12-31T19:00-0500\n"
             "2024-01-01\n2024-01-01T00:00:00.123456789Z\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "t"), "timestamp");
    const ArrayPtr values = valuesOf(dataset, "t");
    const auto& times = static_cast<const arrow::Int64Array&>(*values);
    const std::int64_t midnight = 1'704'067'200'000'000;
    EXPECT_EQ(times.Value(0), midnight);
    EXPECT_EQ(times.Value(1), midnight + 500'000);
    EXPECT_EQ(times.Value(2), midnight);
    EXPECT_EQ(times.Value(3), midnight);
    EXPECT_EQ(times.Value(4), midnight + 123'456);
    dir.text("a.csv", "t\n2024-02-30\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "t"), "string");
}

TEST(Csv, ADialectIsReadAsItsKeysSay) {
    DataDirectory dir;
    dir.text("a.csv", "made by hand\n\n# a note\na;b\n1,5;'x;y'\n# between\n-2;''''\n");
    ReadOptions options = csv();
    options.csvDelimiter = ';';
    options.csvQuote = '\'';
    options.csvComment = '#';
    options.csvSkipRows = 2;
    options.csvHasDecimalComma = true;
    const auto dataset = openAt(dir, options);
    EXPECT_EQ(typeOf(dataset, "a"), "double");
    EXPECT_TRUE(valuesOf(dataset, "a")->Equals(reals({1.5, -2})));
    EXPECT_TRUE(valuesOf(dataset, "b")->Equals(texts({"x;y", "'"})));
}

TEST(Csv, CompressedFilesAreToldByTheirBytes) {
    DataDirectory dir;
    std::string text = "x,y\n";
    for (int i = 0; i < 10'000; ++i) {
        text += std::to_string(i) + ",t\n";
    }
    ReadOptions options = csv();
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

TEST(Csv, TabsAreTheDelimiterOfTsv) {
    EXPECT_EQ(readOptionsOf({"a/b.tsv"}, "").csvDelimiter, '\t');
    EXPECT_EQ(readOptionsOf({"a/b.tsv.gz"}, "").csvDelimiter, '\t');
    EXPECT_EQ(readOptionsOf({"a.tsv/b.csv"}, "").csvDelimiter, ',');
    spec::DatasetSpec spec;
    spec.path = {"b.tsv"};
    EXPECT_EQ(readOptionsOf(spec).csvDelimiter, '\t');
    spec.csv.delimiter = "|";
    EXPECT_EQ(readOptionsOf(spec).csvDelimiter, '|');
}

}  // namespace
}  // namespace millrace::dataset
