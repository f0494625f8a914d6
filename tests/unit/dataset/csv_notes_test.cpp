// CSV values that are null or numbers without the user's word, and what is said of columns that are
// text because of a few values.
#include <absl/strings/str_join.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>

#include "backend/csv/csv_values.h"
#include "backend/spec/data_format.h"
#include "tests/unit/dataset/csv_datasets.h"

namespace millrace::dataset {
namespace {

using test::csv;
using test::DataDirectory;
using test::ints;
using test::openAt;
using test::Opened;
using test::reals;
using test::typeOf;
using test::valuesOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// `count` lines of `value`.
std::string lines(int count, const std::string& value) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += value + "\n";
    }
    return text;
}

TEST(CsvNotes, ValuesOfALaterFileThatAreNotOfTheGivenTypeAreNoted) {
    DataDirectory dir;
    dir.text("a.csv", "x,y\n1,1\n2,2\n");
    dir.text("b.csv", "x,y\n3,0.5\nsoon,3\n");
    dir.text("c.csv", "x,y\n4,4\nlate,5\n");
    files::ReadOptions options = csv();
    options.csvTypes = {{"x", "int32"}, {"y", "double"}};
    const auto dataset = openAt(dir, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT(
        (*dataset)->notes(),
        ElementsAre(AllOf(HasSubstr("b.csv:3: column 'x': 'soon' is not of type int32, which the "
                                    "spec gives (2 such values): a run that reads the column "
                                    "fails there"))));
    options.csvDropsBadRows = true;
    EXPECT_THAT((*openAt(dir, options))->notes(),
                ElementsAre(HasSubstr("drop leaves 2 such rows out")));
}

TEST(CsvNotes, WholeNumbersWithAPointAreIntegersIfTheSpecSaysSo) {
    DataDirectory dir;
    dir.text("a.csv", "x\n243.0\n\"\"\n7.00\n");
    files::ReadOptions options = csv();
    options.csvTypes = {{"x", "int64"}};
    const auto dataset = openAt(dir, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT((*dataset)->notes(), IsEmpty());
    std::int64_t value = 0;
    EXPECT_TRUE(csv::csvInteger(" 243.0", value));
    EXPECT_EQ(value, 243);
    EXPECT_TRUE(csv::csvInteger("-7.00", value));
    EXPECT_EQ(value, -7);
    for (const char* other : {"243.5", "243.", ".0", "1.0e3", "2.0.0"}) {
        EXPECT_FALSE(csv::csvInteger(other, value)) << other;
    }
}

TEST(CsvNotes, ManyDifferentTextsAmongNumbersAreNotReadAsNull) {
    std::string numbers;
    for (int i = 0; i < 60; ++i) {
        numbers += std::to_string(i) + "\n";
    }
    const auto noteOf = [&numbers](const std::string& texts) {
        DataDirectory dir;
        dir.text("a.csv", "x\n" + numbers + texts);
        const auto dataset = openAt(dir, csv());
        return dataset.ok() ? absl::StrJoin((*dataset)->notes(), "\n")
                            : std::string(messageOf(dataset.status()));
    };
    EXPECT_THAT(noteOf("?\n?\n"), HasSubstr("{null_values: ['?']} reads it as null"));
    EXPECT_THAT(noteOf("?\n-\nx\n?\n?\n"),
                HasSubstr("{null_values: ['?', '-', 'x']} reads them as null"));
    EXPECT_THAT(noteOf("1/2\n3/2\n5/2\n7/2\n"),
                AllOf(HasSubstr("is text because of '1/2'"), Not(HasSubstr("null_values"))));
}

TEST(CsvNotes, WhatPandasReadsAsMissingIsNull) {
    for (const std::string_view word : spec::kCsvNulls) {
        const std::string w(word);
        DataDirectory dir;
        dir.text("a.csv", "i,d,b,t,u\n1,0.5,true,2024-01-01,18446744073709551615\n" + w + "," + w +
                              "," + w + "," + w + "," + w + "\n");
        const auto dataset = openAt(dir, csv());
        EXPECT_EQ(typeOf(dataset, "i"), "int64") << w;
        EXPECT_EQ(typeOf(dataset, "d"), "double") << w;
        EXPECT_EQ(typeOf(dataset, "b"), "bool") << w;
        EXPECT_EQ(typeOf(dataset, "t"), "date") << w;
        EXPECT_EQ(typeOf(dataset, "u"), "uint64") << w;
        EXPECT_TRUE(valuesOf(dataset, "i")->Equals(ints({1, -1}, -1))) << w;
        for (const char* column : {"d", "b", "t", "u"}) {
            EXPECT_TRUE(valuesOf(dataset, column)->IsNull(1)) << w;
        }
        EXPECT_THAT((*dataset)->notes(), IsEmpty()) << w;
    }
}

TEST(CsvNotes, CodesThatLoseTheirZerosAreNamed) {
    DataDirectory dir;
    dir.text("a.csv", "zip code,month,rate\n10115,01,0.5\n01067,12,0.25\n00119,02,0.75\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "zip code"), "int64");
    EXPECT_THAT((*dataset)->notes(),
                ElementsAre(AllOf(HasSubstr("a.csv:3: column 'zip code': '01067' is read as a "
                                            "number, without its leading zero (2 such values)"),
                                  HasSubstr("--csv 'types.zip code=string'"))));
    files::ReadOptions asText = csv();
    asText.csvTypes["zip code"] = "string";
    EXPECT_THAT((*openAt(dir, asText))->notes(), IsEmpty());
}

TEST(CsvNotes, NumbersMayHaveAPlus) {
    DataDirectory dir;
    dir.text("a.csv",
             "i,d,s,t\n+5,+1.5,++5,+2024-01-01\n-5,+.5,+-5,2024-01-01\n 6 ,+1e3,+,2024-01-01\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "i"), "int64");
    EXPECT_EQ(typeOf(dataset, "d"), "double");
    EXPECT_EQ(typeOf(dataset, "s"), "string");
    EXPECT_EQ(typeOf(dataset, "t"), "string");
    EXPECT_TRUE(valuesOf(dataset, "i")->Equals(ints({5, -5, 6})));
    EXPECT_TRUE(valuesOf(dataset, "d")->Equals(reals({1.5, 0.5, 1000})));
}

TEST(CsvNotes, AnOptionToCopyIsAWordOfTheShell) {
    DataDirectory dir;
    dir.text("a.csv", "User ID,it's\n" + lines(9, "7,7"));
    dir.text("b.csv", "User ID,it's\n" + lines(9, "guest-7,x"));
    const std::vector<std::string> notes = (*openAt(dir, csv()))->notes();
    EXPECT_THAT(notes, ::testing::Contains(HasSubstr("(--csv 'types.User ID=string')")));
    EXPECT_THAT(notes, ::testing::Contains(HasSubstr("(--csv 'types.it'\\''s=string')")));
}

TEST(CsvNotes, AColumnOfNumbersThatSomeValuesMakeTextIsNamed) {
    DataDirectory dir;
    dir.text("a.csv", "x\n" + lines(40, "0.5") + lines(8, "unknown") + lines(2, "NA"));
    EXPECT_THAT((*openAt(dir, csv()))->notes().at(0),
                AllOf(HasSubstr("a.csv:42: column 'x' is text because of 'unknown': 8 of 48 values "
                                "are not of type double; dataset.csv: "),
                      HasSubstr("{null_values: ['unknown', 'NA']} reads it as null"),
                      HasSubstr("{types: {x: string}} says that it is meant")));
    files::ReadOptions options = csv();
    options.csvNullValues = {"unknown", "NA"};
    EXPECT_EQ(typeOf(openAt(dir, options), "x"), "double");
    options = csv();
    options.csvTypes = {{"x", "string"}};
    dir.text("a.csv", "x\n" + lines(40, "0.5") + lines(8, "unknown"));
    EXPECT_THAT((*openAt(dir, options))->notes(), IsEmpty());
    dir.text("a.csv", "x\n" + lines(20, "0.5") + lines(21, "word"));
    EXPECT_THAT((*openAt(dir, csv()))->notes(), IsEmpty());
}

TEST(CsvNotes, AColumnWhoseTypeDiffersBetweenFilesNamesBoth) {
    DataDirectory dir;
    dir.text("a.csv", "k,id\n0.5,1\n1,2\n");
    dir.text("b.csv", "k,id\n1,u1\n2,u2\n");
    const auto dataset = openAt(dir, csv());
    EXPECT_EQ(typeOf(dataset, "id"), "string");
    EXPECT_THAT((*dataset)->notes(),
                ElementsAre(AllOf(HasSubstr("b.csv:2: column 'id' is text because of 'u1', but "
                                            "int64 in "),
                                  HasSubstr("a.csv; dataset.csv.types: {id: string}"))));
}

TEST(CsvNotes, NumbersWithACommaForThePointAreNamed) {
    DataDirectory dir;
    dir.text("a.csv", "k;price\n1;8550,00\n2;7,5\n");
    files::ReadOptions options = csv();
    options.csvDelimiter = ';';
    EXPECT_THAT((*openAt(dir, options))->notes(),
                ElementsAre(AllOf(HasSubstr("column 'price' is text, but '8550,00' looks like a "
                                            "number; dataset.csv.decimal_comma: true"))));
    options.csvHasDecimalComma = true;
    EXPECT_TRUE(valuesOf(openAt(dir, options), "price")->Equals(reals({8550, 7.5})));
    dir.text("a.csv", "k,price\n1,\"8550,00\"\n");
    EXPECT_THAT((*openAt(dir, csv()))->notes(), IsEmpty());
}

TEST(CsvNotes, FilesOfOtherFormatsAreNamedByTheirFirstBytes) {
    const std::pair<std::string, const char*> starts[] = {
        {"BZh91AY&SY\x01\x02", "a bzip2 file; decompress it with bunzip2"},
        {std::string("\xfd"
                     "7zXZ\0\0\4",
                     8),
         "an xz file; decompress it with unxz"},
        {"\x04\x22\x4d\x18\x60", "an lz4 file; decompress it with unlz4"},
        {"PK\x03\x04 and more", "a ZIP archive; unzip it"},
        {"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it with 7z x"},
        {"[\n {\"user_id\": 95", "a list in JSON, which is not read; convert it to Parquet with "},
        {"{\"user_id\": 95, ", "JSON, which is not read; convert it to Parquet with duckdb -c"},
        {"\n[ {\"user_id\": 95}", "a list in JSON, which is not read"},
        {"{\"x\":{\"0\":1.5,\"1\":2", "JSON by columns, which is not read; convert it to "},
        {"{\"x\":{\"id\":1.5}}", "JSON, which is not read; convert it to Parquet with duckdb"},
        {"PK\x03\x04" + std::string(26, 'x') + "docProps/app.xml", "an Excel workbook; convert"},
        {std::string("SQLite format 3\0", 16), "a SQLite database; write its table in Python"},
        {"ORC\n\x07\x12\x05", "an ORC file; convert it in Python with pandas.read_orc("},
        {"\x80\x04\x95 and more", "a Python pickle; load it"},
        {"PAR1\x15\x04", "a Parquet file; dataset.format: parquet"}};
    for (const auto& [start, what] : starts) {
        DataDirectory dir;
        dir.text("a.csv", start + std::string(40, 'x') + "\n");
        EXPECT_THAT(messageOf(openAt(dir, csv()).status()), HasSubstr(what));
        dir.text("a.packed", start + std::string(40, 'x') + "\n");
        files::ReadOptions options;
        if (std::string_view(what).find("Parquet") == std::string_view::npos) {
            EXPECT_THAT(messageOf(openAt(dir, options, "a.packed").status()),
                        HasSubstr("not a Parquet file: it is " + std::string(what)));
        }
    }
    DataDirectory dir;
    dir.text("a.csv", "BZh,PAR1\n1,2\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "BZh"), "int64");
    dir.text("a.csv", "ORC,PAR1\n1,2\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "ORC"), "int64");
}

TEST(CsvNotes, AHeaderThatIsARowOrHasBlanksForDelimitersIsNoted) {
    DataDirectory dir;
    dir.text("a.csv", "0.125,a,1\n-0.132,a,0\n");
    EXPECT_THAT((*openAt(dir, csv()))->notes(),
                ElementsAre(HasSubstr("a column's name is '0.125'; if the first line is a row, "
                                      "dataset.csv.header: false (--csv header=false) reads it as "
                                      "one")));
    dir.text("a.csv", "x k y\n0.125 a 1\n");
    EXPECT_THAT((*openAt(dir, csv()))->notes(),
                ElementsAre(HasSubstr("the header is one field, 'x k y'; dataset.csv.delimiter: "
                                      "\" \" (--delimiter \" \") makes columns of it")));
    dir.text("a.csv", "country,2019,2020\nit,1,2\n");
    EXPECT_THAT((*openAt(dir, csv()))->notes(), IsEmpty());
}

TEST(CsvNotes, FilesWhoseNamesTellNoFormatAreToldHowToBeRead) {
    DataDirectory dir;
    dir.text("a.data", "a,b,clicked\n1,2,3\n4,5,6\n");
    dir.text("packed", "\x1f\x8b and so on and so on");
    dir.text("a.parquet", "a,b,clicked\n1,2,3\n4,5,6\n");
    files::ReadOptions options;
    EXPECT_THAT(messageOf(openAt(dir, options, "a.data").status()),
                HasSubstr("not a Parquet file: it does not end with PAR1, and its name does not "
                          "tell its format; dataset.format: csv (--format csv) reads it as CSV"));
    EXPECT_THAT(messageOf(openAt(dir, options, "packed").status()),
                AllOf(HasSubstr("it is a gzip file"), HasSubstr("--format csv")));
    EXPECT_THAT(messageOf(openAt(dir, options, "a.parquet").status()),
                Not(HasSubstr("--format csv")));
}

TEST(CsvNotes, PackedJsonIsNeverAdvisedAsCsv) {
    DataDirectory dir;
    const std::string json = "{\"user\": 1, \"clicked\": 0}\n";
    const auto codec = *arrow::util::Codec::Create(arrow::Compression::GZIP);
    std::string packed(200, '\0');
    packed.resize(static_cast<std::size_t>(*codec->Compress(
        static_cast<std::int64_t>(json.size()), reinterpret_cast<const std::uint8_t*>(json.data()),
        static_cast<std::int64_t>(packed.size()), reinterpret_cast<std::uint8_t*>(packed.data()))));
    dir.text("a.jsonl.gz", packed);
    dir.text("a.csv.gz", packed);
    EXPECT_THAT(messageOf(openAt(dir, {}, "a.jsonl.gz").status()),
                AllOf(HasSubstr("it is JSON, which is not read"), Not(HasSubstr("--format csv"))));
    EXPECT_THAT(messageOf(openAt(dir, csv(), "a.csv.gz").status()),
                HasSubstr("it is JSON, which is not read"));
}

TEST(CsvNotes, AFieldMoreThanTheHeaderInAllRowsIsTheNameOfTheRow) {
    DataDirectory dir;
    dir.text("a.csv", "name,year\n\"1\",Amy,1975\n\"2\",Bob,1976\n");
    const Opened opened = openAt(dir, csv());
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_THAT((*opened)->schema().names(), ElementsAre("row_names", "name", "year"));
    EXPECT_TRUE(valuesOf(opened, "row_names")->Equals(ints({1, 2})));
    EXPECT_TRUE(valuesOf(opened, "year")->Equals(ints({1975, 1976})));
    EXPECT_THAT((*opened)->notes(),
                ElementsAre(HasSubstr("'row_names' is each row's first field")));
    dir.text("a.csv", "name,year\n1,Amy,1975\nBob,1976\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                HasSubstr("a.csv:2: 3 fields, but the header has 2"));
    dir.text("a.csv", "name,year\nAmy,1975,\nBob,1976,\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                HasSubstr("3 fields, but the header has 2"));
    dir.text("a.csv", "Prices of 2026\nname,year\nAmy,1975\n");
    EXPECT_THAT(messageOf(openAt(dir, csv()).status()),
                HasSubstr("2 fields, but the header has 1; dataset.csv.skip_rows: 1 (--csv "
                          "skip_rows=1) takes the next line as the header"));
}

TEST(CsvNotes, ColumnsThatDifferBetweenTheFilesAreNoted) {
    DataDirectory dir;
    dir.text("a.csv", "k,old\n1,2\n");
    dir.text("b.csv", "k,young\n1,2\n");
    EXPECT_THAT(
        (*openAt(dir, csv()))->notes(),
        ElementsAre(AllOf(HasSubstr("left out, as the files differ: column 'old' is not in"),
                          HasSubstr(": column 'young' is not in"))));
}

TEST(CsvNotes, EndingsAreReadInAnyCase) {
    for (const char* name : {"a.CSV", "a.Csv.GZ", "a.TSV", "a.TXT"}) {
        EXPECT_EQ(formatOfPath(name), "csv") << name;
    }
    EXPECT_EQ(formatOfPath("a.PARQUET"), "parquet");
    EXPECT_EQ(formatOfPath("a.Arrow"), "arrow");
    EXPECT_EQ(spec::delimiterOfName("a.TSV.gz"), '\t');
    DataDirectory dir;
    dir.text("part.CSV", "x\n1\n");
    EXPECT_EQ(typeOf(openAt(dir, csv()), "x"), "int64");
}

}  // namespace
}  // namespace millrace::dataset
