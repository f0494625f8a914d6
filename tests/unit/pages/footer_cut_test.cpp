// Footers without unrequested columns: the rest equals what Arrow reads from the whole footer.
#include "backend/pages/footer_cut.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/files/footer_bytes.h"
#include "backend/pages/parquet_columns.h"
#include "backend/pages/parquet_footers.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::pages {
namespace {

using test::DataDirectory;

constexpr int kWideRows = 40;

/// Nine kinds of columns in turn: flat columns, texts, structs within structs, lists, maps.
std::shared_ptr<arrow::DataType> typeOf(int column) {
    const auto pair =
        arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
    const std::vector<std::shared_ptr<arrow::DataType>> types = {
        arrow::int64(),
        arrow::float32(),
        arrow::utf8(),
        arrow::timestamp(arrow::TimeUnit::MICRO, "Europe/Berlin"),
        arrow::decimal128(12, 3),
        arrow::list(arrow::utf8()),
        arrow::struct_({arrow::field("inner", pair), arrow::field("c", arrow::float64())}),
        arrow::map(arrow::utf8(), arrow::int32()),
        arrow::boolean()};
    return types[static_cast<std::size_t>(column) % types.size()];
}

std::shared_ptr<arrow::Table> wideTable(int columns) {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (int c = 0; c < columns; ++c) {
        fields.push_back(arrow::field(strCat("f", c), typeOf(c)));
        arrays.push_back(*arrow::MakeArrayOfNull(fields.back()->type(), kWideRows));
    }
    // Values, so that chunks have statistics and pages.
    for (int c = 0; c < columns; c += 9) {
        std::vector<std::int64_t> numbers(kWideRows);
        std::vector<std::string> texts(kWideRows);
        for (int r = 0; r < kWideRows; ++r) {
            numbers[static_cast<std::size_t>(r)] = c * 100 + r;
            texts[static_cast<std::size_t>(r)] = strCat("text ", c, " ", r % 7);
        }
        arrays[static_cast<std::size_t>(c)] = test::ints(numbers);
        if (c + 2 < columns) {
            arrays[static_cast<std::size_t>(c) + 2] = test::texts(texts);
        }
    }
    return arrow::Table::Make(arrow::schema(fields), arrays);
}

std::shared_ptr<arrow::Buffer> fileOf(
    const arrow::Table& table, const std::shared_ptr<parquet::WriterProperties>& properties) {
    auto sink = *arrow::io::BufferOutputStream::Create();
    EXPECT_TRUE(parquet::arrow::WriteTable(
                    table, arrow::default_memory_pool(), sink, 16, properties,
                    parquet::ArrowWriterProperties::Builder().store_schema()->build())
                    .ok());
    return *sink->Finish();
}

std::shared_ptr<parquet::WriterProperties> usual() {
    return parquet::WriterProperties::Builder().enable_write_page_index()->build();
}

/// Thrift's bytes alone.
std::string footerOf(const arrow::Buffer& file) {
    const std::string_view bytes(file);
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + bytes.size() - 8, 4);
    return std::string(bytes.substr(bytes.size() - 8 - length, length));
}

std::shared_ptr<parquet::FileMetaData> parsed(const std::string& footer) {
    return parquet::FileMetaData::Make(footer.data(), static_cast<std::int64_t>(footer.size()));
}

void expectSame(const parquet::FileMetaData& whole, const parquet::FileMetaData& cut,
                const std::vector<std::string>& names) {
    ASSERT_EQ(cut.num_row_groups(), whole.num_row_groups());
    EXPECT_EQ(cut.num_rows(), whole.num_rows());
    EXPECT_EQ(cut.created_by(), whole.created_by());
    EXPECT_EQ(cut.version(), whole.version());
    const auto before = columnsOf(*whole.schema()), after = columnsOf(*cut.schema());
    for (const std::string& name : names) {
        const auto all = before.find(name), kept = after.find(name);
        ASSERT_EQ(all == before.end(), kept == after.end()) << name;
        if (all == before.end()) {
            continue;
        }
        EXPECT_EQ(kept->second.depth, all->second.depth) << name;
        EXPECT_EQ(kept->second.isPrimitive, all->second.isPrimitive) << name;
        EXPECT_EQ(kept->second.isNullable, all->second.isNullable) << name;
        ASSERT_EQ(kept->second.leaves.size(), all->second.leaves.size()) << name;
        for (std::size_t l = 0; l < all->second.leaves.size(); ++l) {
            const int a = all->second.leaves[l], b = kept->second.leaves[l];
            EXPECT_TRUE(cut.schema()->Column(b)->Equals(*whole.schema()->Column(a))) << name;
            EXPECT_EQ(static_cast<int>(cut.schema()->Column(b)->column_order().get_order()),
                      static_cast<int>(whole.schema()->Column(a)->column_order().get_order()));
            for (int g = 0; g < whole.num_row_groups(); ++g) {
                EXPECT_EQ(cut.RowGroup(g)->num_rows(), whole.RowGroup(g)->num_rows());
                EXPECT_EQ(cut.RowGroup(g)->total_byte_size(), whole.RowGroup(g)->total_byte_size());
                const auto x = whole.RowGroup(g)->ColumnChunk(a),
                           y = cut.RowGroup(g)->ColumnChunk(b);
                EXPECT_TRUE(y->Equals(*x)) << name;
                EXPECT_EQ(y->data_page_offset(), x->data_page_offset()) << name;
                EXPECT_EQ(y->is_stats_set(), x->is_stats_set()) << name;
                ASSERT_EQ(y->GetOffsetIndexLocation().has_value(),
                          x->GetOffsetIndexLocation().has_value());
                if (x->GetOffsetIndexLocation().has_value()) {
                    EXPECT_EQ(y->GetOffsetIndexLocation()->offset,
                              x->GetOffsetIndexLocation()->offset);
                }
            }
        }
    }
}

std::vector<std::string> everyName(int columns) {
    std::vector<std::string> names;
    for (int c = 0; c < columns; ++c) {
        names.push_back(strCat("f", c));
        if (c % 9 == 6) {
            names.push_back(strCat("f", c, ".inner.a"));
            names.push_back(strCat("f", c, ".inner.b"));
            names.push_back(strCat("f", c, ".c"));
        }
    }
    return names;
}

TEST(FooterCut, WhatIsKeptEqualsTheWhole) {
    const std::string footer = footerOf(*fileOf(*wideTable(200), usual()));
    const auto whole = parsed(footer);
    const std::vector<std::string> all = everyName(200);
    std::mt19937_64 random(5);
    int numCut = 0;
    for (int round = 0; round < 60; ++round) {
        std::vector<std::string> names;
        const std::uint64_t one = 2 + random() % 20;
        std::ranges::copy_if(all, std::back_inserter(names),
                             [&](const std::string&) { return random() % one == 0; });
        names.emplace_back("absent");
        const auto cut = cutFooter(footer, withStructs(names));
        if (cut.has_value()) {
            ++numCut;
            EXPECT_LT(cut->size(), footer.size());
            expectSame(*whole, *parsed(*cut), names);
        }
    }
    EXPECT_GT(numCut, 40);
}

TEST(FooterCut, ColumnsOfOneNameAndOfDottedNamesStayTogether) {
    arrow::FieldVector fields{
        arrow::field("user.age", arrow::int64()),
        arrow::field("user", arrow::struct_({arrow::field("age", arrow::int64())})),
        arrow::field("twice", arrow::int64()), arrow::field("twice", arrow::float64())};
    arrow::ArrayVector arrays;
    for (int c = 0; c < 200; ++c) {
        fields.push_back(arrow::field(strCat("g", c), arrow::int64()));
    }
    for (const auto& field : fields) {
        arrays.push_back(*arrow::MakeArrayOfNull(field->type(), kWideRows));
    }
    const std::string footer =
        footerOf(*fileOf(*arrow::Table::Make(arrow::schema(fields), arrays), usual()));
    const std::vector<std::string> names{"user.age", "twice"};
    const auto cut = cutFooter(footer, withStructs(names));
    ASSERT_TRUE(cut.has_value());
    expectSame(*parsed(footer), *parsed(*cut), names);
}

TEST(FooterCut, WhatWouldSaveLittleIsNotCut) {
    const std::string narrow = footerOf(*fileOf(*wideTable(18), usual()));
    EXPECT_FALSE(cutFooter(narrow, {"f0"}).has_value());
    const std::string wide = footerOf(*fileOf(*wideTable(200), usual()));
    const std::vector<std::string> all = everyName(200);
    EXPECT_FALSE(cutFooter(wide, withStructs(all)).has_value());
    EXPECT_FALSE(cutFooter(wide, {"absent"}).has_value());
}

TEST(FooterCut, DamagedBytesAreNotCutOrCanBeParsed) {
    const std::string footer = footerOf(*fileOf(*wideTable(90), usual()));
    const ColumnNames names{"f0", "f20", "f60"};
    ASSERT_TRUE(cutFooter(footer, names).has_value());
    for (std::size_t end = 0; end < footer.size(); end += 7) {
        EXPECT_FALSE(cutFooter(std::string_view(footer).substr(0, end), names).has_value()) << end;
    }
    std::mt19937_64 random(9);
    for (int round = 0; round < 4000; ++round) {
        std::string damaged = footer;
        damaged[random() % damaged.size()] = static_cast<char>(random());
        const auto cut = cutFooter(damaged, names);
        EXPECT_LE(cut.value_or("").size(), footer.size() + 16);
    }
}

/// Reads every file's columns, with readers that were told which columns follow and with others.
TEST(FooterCut, ReadersOfCutFootersReadTheSame) {
    const DataDirectory directory;
    const auto table = wideTable(120);
    std::vector<test::Column> columns;
    for (int c = 0; c < table->num_columns(); ++c) {
        columns.push_back({table->field(c)->name(), table->column(c)->chunk(0)});
    }
    directory.parquet("a.parquet", columns, 16);
    const std::string path = directory.parquet("b.parquet", columns, 16, 8);
    const auto open = [&] {
        return dataset::Dataset::open({directory.at("*.parquet")}, "", {"parquet"},
                                      std::make_shared<dataset::MetadataCache>(""));
    };
    // The page decoder reads numbers and texts; Arrow's reader reads decimals, times and lists of
    // texts, and needs their schema; one column was not announced.
    const std::vector<std::string> asked{"f0", "f3", "f5", "f9", "f11", "f13", "f6.inner.b", "f8"};
    const auto plain = open(), told = open();
    ASSERT_TRUE(plain.ok() && told.ok()) << plain.status() << told.status();
    (*told)->expectColumns(asked);
    for (const bool withOther : {false, true}) {
        std::vector<std::string> names = asked;
        if (withOther) {
            names.emplace_back("f100");
        }
        for (std::uint32_t file = 0; file < 2; ++file) {
            dataset::SplitReader a(*plain), b(*told);
            for (std::int64_t group = 0; group < 2; ++group) {
                const dataset::SplitRange split{file, group, group * 16, 16};
                const auto first = b.readColumns(split, {"f0"});
                ASSERT_TRUE(first.ok()) << first.status();
                const auto x = a.readColumns(split, names), y = b.readColumns(split, names);
                ASSERT_TRUE(x.ok() && y.ok()) << x.status() << y.status();
                for (std::size_t c = 0; c < names.size(); ++c) {
                    EXPECT_TRUE((*x)[c]->Equals(*(*y)[c])) << names[c];
                }
                EXPECT_EQ((*first)[0]->length(), 16);
                EXPECT_EQ((*first)[0]->null_count(), 0);
            }
        }
    }
}

TEST(FooterCut, FootersCoverWhatIsAskedOfThem) {
    const DataDirectory directory;
    const auto table = wideTable(120);
    std::vector<test::Column> columns;
    for (int c = 0; c < table->num_columns(); ++c) {
        columns.push_back({table->field(c)->name(), table->column(c)->chunk(0)});
    }
    directory.parquet("a.parquet", columns);
    const auto opened = dataset::Dataset::open({directory.at("a.parquet")}, "", {"parquet"},
                                               std::make_shared<dataset::MetadataCache>(""));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const dataset::Dataset& data = **opened;
    const files::DataFile file = *data.checkedFile(0);
    const files::FileSource source = *files::FileSource::open(file);
    const std::string hash = (*data.facts(0))->contentHash;
    ParquetFooters footers;
    const auto columnsIn = [&](const std::vector<std::string>& names) {
        const auto footer = footers.get(file, source, hash, names);
        EXPECT_TRUE(footer.ok() && footer->covers(names)) << footer.status();
        return footer->metadata->num_columns();
    };
    const int all = columnsIn({"f0"});
    EXPECT_GT(all, 120) << "nothing is expected yet: the footer is whole";
    ParquetFooters told;
    footers.expect({"f0"});
    EXPECT_EQ(columnsIn({"f0"}), all) << "the whole one covers what is asked";
    told.expect({"f0"});
    told.expect({"f1"});
    EXPECT_EQ(told.get(file, source, hash, {"f0"})->metadata->num_columns(), 2);
    EXPECT_EQ(told.get(file, source, hash, {"f2"})->metadata->num_columns(), all);
    EXPECT_EQ(told.whole(file, source, hash)->metadata->num_columns(), all);
    EXPECT_EQ(told.get(file, source, "0123", {"f0"}).status().ok(), true) << "it is kept";
}

}  // namespace
}  // namespace millrace::pages
