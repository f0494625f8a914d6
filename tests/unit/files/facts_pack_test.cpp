// Facts of files, written to disk and read back; damaged facts are ignored.
#include "backend/files/facts_pack.h"

#include <fstream>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::files {
namespace {

using test::DataDirectory;

constexpr const char* kParquet = "/data/a.parquet\n1\nparquet/4";
constexpr const char* kCsv = "/data/b.csv\n1\ncsv/4";

FileMetadata parquetFacts() {
    FileMetadata facts;
    facts.schema.fields = {
        {"user", {expr::TypeKind::kInt64, false, 0, false}},
        {"", {expr::TypeKind::kString, true, 0, true}},
        {"embedding \n\"x\"", {expr::TypeKind::kFloat, true, 16, true}},
    };
    facts.schema.refused = {{"context", "is a map: write its entries instead", false},
                            {"item", "is a struct: name its fields", true}};
    facts.rows = 1'000'000'007;
    facts.contentHash = "0123456789abcdef";
    facts.etag = "\"e\"";
    facts.chunks = {{7, 4, 900, 0, {1, 2, 3}}, {1'000'000'000, 904, 1, 0, {4, 5, INT64_MAX}}};
    return facts;
}

FileMetadata csvFacts() {
    FileMetadata facts;
    facts.schema.fields = {{"n", {expr::TypeKind::kDouble, false, 0, true}}};
    facts.rows = 3;
    facts.chunks = {{3, 2, 20, 2, {20}}};
    facts.csv.resize(1);
    facts.csv[0].counts[static_cast<std::size_t>(CsvForm::kInt)] = 3;
    facts.csv[0].firsts = {{CsvForm::kInt, 2, "17"}};
    facts.badRows = 1;
    facts.bad = {{"x", 1, {CsvForm::kText, 4, "x,y"}}};
    facts.isCompressed = true;
    return facts;
}

class FactsPackTest : public ::testing::Test {
 protected:
    FactsPackTest() {
        addToPack(dir_.path(), pack_, {},
                  {{kParquet, std::make_shared<const FileMetadata>(parquetFacts())},
                   {kCsv, std::make_shared<const FileMetadata>(csvFacts())}});
    }

    void write(const std::string& text) {
        std::ofstream(pack_, std::ios::binary | std::ios::trunc) << text;
    }

    DataDirectory dir_;
    const std::string pack_ = dir_.at("facts.pack");
};

TEST_F(FactsPackTest, FactsSurvive) {
    const FactsByKey pack = readPack(pack_);
    ASSERT_EQ(pack.size(), 2);
    EXPECT_EQ(*pack.at(kParquet), parquetFacts());
    EXPECT_EQ(*pack.at(kCsv), csvFacts());
}

TEST_F(FactsPackTest, ALaterEntryOfAFileTakesTheEarlierOnesPlace) {
    FileMetadata later = parquetFacts();
    later.rows = 1;
    const std::string key = "/data/a.parquet\n2\nparquet/4";
    addToPack(dir_.path(), pack_, readPack(pack_),
              {{key, std::make_shared<const FileMetadata>(later)}});
    const FactsByKey pack = readPack(pack_);
    EXPECT_EQ(pack.size(), 2);
    EXPECT_EQ(pack.at(key)->rows, 1);
    EXPECT_EQ(pack.count(kParquet), 0);
}

TEST_F(FactsPackTest, ATornOrDamagedPackIsNone) {
    const std::string whole = *readFile(pack_);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write(whole.substr(0, size));
        ASSERT_TRUE(readPack(pack_).empty()) << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
        write(damaged);
        ASSERT_TRUE(readPack(pack_).empty()) << at;
    }
    write(whole);
    EXPECT_EQ(readPack(pack_).size(), 2);
    EXPECT_TRUE(readPack(dir_.at("none.pack")).empty());
}

}  // namespace
}  // namespace millrace::files
