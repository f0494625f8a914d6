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
using testing::HasSubstr;
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

TEST(Csv, WordsForNothingAreNullButInTexts) {
    DataDirectory dir;
    dir.text("a.csv", "i,d,t,s\n1,0.5,2024-01-01,NA\nNA,NaN,null,x\nNone,N/A,NULL,\n\"\",\"\",,\"\"\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "i"), "int64");
    EXPECT_EQ(typeOf(dataset, "d"), "double");
    EXPECT_EQ(typeOf(dataset, "t"), "date");
    EXPECT_TRUE(valuesOf(dataset, "i")->Equals(ints({1, -1, -1, -1}, -1)));
    EXPECT_TRUE(valuesOf(dataset, "s")->Equals(texts({"NA", "x", "\x01", ""})));
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
    const auto widened = openAt(dir, csv());
    EXPECT_EQ(typeOf(widened, "id"), "double");
    SplitReader reader(*widened);
    EXPECT_THAT(messageOf(reader.readColumns({0, 0, 0, 2}, {"id"}).status()),
                HasSubstr("a.csv:3: column 'id': '9007199254740993' is not of type double"));
    dir.text("a.csv", "k,id\n1,-5\n");
    dir.text("b.csv", "k,id\n1,9223372036854775808\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()), HasSubstr("column 'id' is uint64, but int64"));
    dir.text("b.csv", "k,id\n1,9007199254740992\n2,0.5\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "id"), "double");
}

TEST(Csv, ARangeOfASplitIsRead) {
    DataDirectory dir;
    dir.text("a.csv", "x\n" + numbers(100));
    ReadOptions options = csv();
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

}  // namespace
}  // namespace millrace::dataset
