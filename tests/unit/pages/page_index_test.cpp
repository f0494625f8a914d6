// Reading pages through a page index, and page indexes with wrong content.
#include <arrow/array/array_base.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/pages/row_selection.h"
#include "backend/text/text.h"
#include "tests/unit/dataset/data_files.h"
#include "tests/unit/pages/page_files.h"

namespace millrace::pages {
namespace {

constexpr std::int64_t kRows = 6000;
const Writing kIndexed{.hasDictionary = false, .pageBytes = 2000, .hasIndex = true};

// Counts the bytes that are read at each position.
class CountingFile final : public arrow::io::RandomAccessFile {
 public:
    explicit CountingFile(std::shared_ptr<arrow::Buffer> bytes) : file_(std::move(bytes)) {}
    arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t bytes, void* out) override {
        numRead += bytes;
        return file_.ReadAt(at, bytes, out);
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at,
                                                         std::int64_t bytes) override {
        return file_.ReadAt(at, bytes);
    }
    arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
        return file_.Read(bytes, out);
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
        return file_.Read(bytes);
    }
    arrow::Result<std::int64_t> GetSize() override { return file_.GetSize(); }
    arrow::Result<std::int64_t> Tell() const override { return file_.Tell(); }
    arrow::Status Seek(std::int64_t at) override { return file_.Seek(at); }
    arrow::Status Close() override { return file_.Close(); }
    bool closed() const override { return file_.closed(); }

    std::int64_t numRead = 0;

 private:
    arrow::io::BufferReader file_;
};

ArrayPtr listColumn() {
    std::mt19937_64 random(11);
    return lists(random, {.nullShare = 0.1, .emptyShare = 0.1, .distinct = 60'000}, kRows);
}

TEST(PageIndex, SaysWhereThePagesOfAV1ListColumnLie) {
    const auto file = write(listColumn(), kIndexed, false);
    const std::vector<PagePlace> places = placesOf(file);
    ASSERT_GT(places.size(), 50U);
    EXPECT_EQ(places.front().begin, 0);
    EXPECT_EQ(places.back().end, kRows);
    EXPECT_TRUE(placesOf(write(listColumn(), {}, false)).empty()) << "a file without an index";
}

TEST(PageIndex, OnlyPagesWithWishedRowsAreRead) {
    const ArrayPtr all = listColumn();
    const auto bytes = write(all, kIndexed, false);
    const std::vector<PagePlace> places = placesOf(bytes);
    const std::vector<std::int64_t> few{17, 18, kRows / 2, kRows - 3};
    for (const bool isSplit : {false, true}) {
        // Four rows of the row group; the rows of a split from its middle.
        const RowStretch stretch =
            isSplit ? RowStretch{kRows / 2, 200, kRows} : RowStretch{0, kRows, kRows};
        const RowSelection selection{isSplit ? nullptr : &few};
        std::int64_t read[2];
        for (const bool hasPlaces : {false, true}) {
            const auto file = std::make_shared<CountingFile>(bytes);
            const auto got = decoded(file, all->type(), stretch, selection,
                                     hasPlaces ? places : std::vector<PagePlace>());
            ASSERT_TRUE(got.ok()) << got.status();
            const auto wanted = selectRows(all->Slice(stretch.begin, stretch.rows), selection,
                                           arrow::default_memory_pool());
            EXPECT_TRUE((*got)->Equals(*wanted));
            read[hasPlaces ? 1 : 0] = file->numRead;
        }
        EXPECT_LT(read[1], read[0] / 3);
    }
}

TEST(PageIndex, LeadsTheReaderOfAFile) {
    test::DataDirectory directory;
    const ArrayPtr all = listColumn();
    const std::vector<std::int64_t> few{3, 4, kRows - 5};
    std::vector<std::int64_t> read;
    for (const std::int64_t pageRows : {0, 50}) {
        const std::string name = strCat("pages-", pageRows, ".parquet");
        const auto dataset =
            dataset::Dataset::open({directory.parquet(name, {{"l", all}}, kRows, pageRows)}, "/",
                                   {}, std::make_shared<dataset::MetadataCache>());
        ASSERT_TRUE(dataset.ok()) << dataset.status();
        dataset::SplitReader reader(*dataset);
        const auto rows = reader.readRows({0, 0, 0, kRows}, {"l"}, {&few});
        ASSERT_TRUE(rows.ok()) << rows.status();
        const auto wanted = selectRows(all, {&few}, arrow::default_memory_pool());
        EXPECT_EQ(rows->at(0)->ToString(), (*wanted)->ToString());
        read.push_back(reader.bytesRead());
    }
    EXPECT_LT(read[1], read[0] / 3);
}

TEST(PageIndex, AnIndexWithAFlippedBitGivesTheSameRowsAllTheSame) {
    std::mt19937_64 random(21);
    const ArrayPtr all = listColumn();
    const auto bytes = write(all, kIndexed, false);
    const auto footer = parquet::ReadMetaData(std::make_shared<arrow::io::BufferReader>(bytes));
    const auto index = footer->RowGroup(0)->ColumnChunk(0)->GetOffsetIndexLocation();
    ASSERT_TRUE(index.has_value());
    for (int round = 0; round < 300; ++round) {
        auto damaged = *arrow::AllocateBuffer(bytes->size());
        std::memcpy(damaged->mutable_data(), bytes->data(),
                    static_cast<std::size_t>(bytes->size()));
        const std::uint64_t at = random() % static_cast<std::uint64_t>(index->length);
        damaged->mutable_data()[static_cast<std::uint64_t>(index->offset) + at] ^=
            static_cast<std::uint8_t>(1U << (random() % 8));
        const auto first = static_cast<std::int64_t>(random() % (kRows - 100));
        const std::vector<std::int64_t> few{first, first + 1, first + 90};
        const RowSelection selection{&few};
        const auto got = decoded(std::shared_ptr<arrow::Buffer>(std::move(damaged)), all->type(),
                                 {0, kRows, kRows}, selection);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_TRUE((*got)->Equals(*selectRows(all, selection, arrow::default_memory_pool())))
            << "byte " << at;
    }
}

TEST(PageIndex, PlacesThatDoNotFitThePagesAreAsIfThereWereNone) {
    const ArrayPtr all = listColumn();
    for (const bool hasDictionary : {false, true}) {
        Writing writing = kIndexed;
        writing.hasDictionary = hasDictionary;
        const auto bytes = write(all, writing, false);
        const std::vector<PagePlace> right = placesOf(bytes);
        const std::vector<std::int64_t> few{kRows / 2, kRows / 2 + 1};
        const RowSelection selection{&few};
        const auto wanted = selectRows(all, selection, arrow::default_memory_pool());
        std::size_t page = 0;
        while (right[page].end <= few[0]) {
            ++page;
        }
        const auto expectRight = [&](const std::vector<PagePlace>& places,
                                     const std::string& what) {
            const auto got = decoded(std::make_shared<arrow::io::BufferReader>(bytes), all->type(),
                                     {0, kRows, kRows}, selection, places);
            ASSERT_TRUE(got.ok()) << what << ": " << got.status();
            EXPECT_TRUE((*got)->Equals(*wanted)) << what;
        };
        expectRight(right, "right");
        for (const int shift : {-7, 1, 3}) {
            std::vector<PagePlace> places = right;
            places[page].offset += shift;
            expectRight(places, strCat("begins ", shift, " bytes later"));
            places = right;
            places[page].bytes += shift;
            expectRight(places, strCat(shift, " bytes longer"));
            places = right;
            places[page].end += shift;
            places[page + 1].begin += shift;
            expectRight(places, strCat("ends ", shift, " rows later"));
        }
        std::vector<PagePlace> places = right;
        places[page].offset = right[page + 1].offset;
        expectRight(places, "another page");
        places[page].offset = right.back().offset + right.back().bytes;
        expectRight(places, "behind the chunk");
        places[page].offset = 0;
        expectRight(places, "before the chunk");
    }
}

}  // namespace
}  // namespace millrace::pages
