#include "backend/pages/page_decoder.h"

#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <arrow/array/array_dict.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>

#include "backend/arrays/bit_unpack.h"
#include "backend/arrays/number_codes.h"
#include "backend/arrays/text_codes.h"
#include "tests/unit/dataset/data_files.h"
#include "tests/unit/pages/page_files.h"

namespace millrace::pages {
namespace {

std::vector<Writing> writings() {
    return {{},
            {false},
            {true, 300},
            {true, 300, 200},  // falls back to plain in the middle of the chunk
            {false, 100, 1 << 20, arrow::Compression::UNCOMPRESSED},
            {true, 1 << 20, 1 << 20, arrow::Compression::SNAPPY},
            {true, 300, 1 << 20, arrow::Compression::ZSTD, parquet::ParquetDataPageVersion::V2},
            {false, 900, 1 << 20, arrow::Compression::UNCOMPRESSED,
             parquet::ParquetDataPageVersion::V2},
            {true, 300, 200, arrow::Compression::ZSTD, parquet::ParquetDataPageVersion::V1, true},
            {false, 900, 1 << 20, arrow::Compression::UNCOMPRESSED,
             parquet::ParquetDataPageVersion::V2, true},
            {false, 300, 1 << 20, arrow::Compression::ZSTD, parquet::ParquetDataPageVersion::V1,
             true, true},
            {false, 900, 1 << 20, arrow::Compression::UNCOMPRESSED,
             parquet::ParquetDataPageVersion::V2, false, true}};
}

/// Some of `rows` rows in ascending order.
std::vector<std::int64_t> someOf(std::mt19937_64& random, std::int64_t rows, double share) {
    std::vector<std::int64_t> chosen;
    for (std::int64_t r = 0; r < rows; ++r) {
        if (chance(random, share)) {
            chosen.push_back(r);
        }
    }
    return chosen;
}

/// The requested rows of the array, selected by Arrow.
ArrayPtr wished(const ArrayPtr& all, const RowStretch& stretch, const RowSelection& selection) {
    const ArrayPtr part = all->Slice(stretch.begin, stretch.rows);
    const auto rows = selectRows(part, selection, arrow::default_memory_pool());
    EXPECT_TRUE(rows.ok()) << rows.status();
    return *rows;
}

// Reads all rows, ranges and single rows, with and without repeats.
void expectWishes(std::mt19937_64& random, const std::shared_ptr<arrow::Buffer>& file,
                  const ArrayPtr& all, const std::string& what) {
    const std::int64_t rows = all->length();
    for (const double share : {0.0, 0.02, 0.5, 0.97, 1.0}) {
        for (const bool mayStore : {false, true}) {
            const std::int64_t begin = static_cast<std::int64_t>(random() % 3) * rows / 7;
            const RowStretch stretch{begin, rows - begin - rows / 9, rows};
            const std::vector<std::int64_t> picks = someOf(random, stretch.rows, share);
            for (const auto* chosen : {&picks, static_cast<decltype(&picks)>(nullptr)}) {
                const RowSelection selection{chosen, mayStore, mayStore, mayStore};
                auto got = decoded(file, all->type(), stretch, selection);
                ASSERT_TRUE(got.ok()) << what << ": " << got.status();
                ASSERT_NE(*got, nullptr) << what;
                ASSERT_TRUE((*got)->ValidateFull().ok()) << what;
                got = expandStored(*got, arrow::default_memory_pool());
                ASSERT_TRUE(got.ok()) << got.status();
                EXPECT_TRUE((*got)->Equals(wished(all, stretch, selection)))
                    << what << ", a share of " << share << (mayStore ? ", stored once" : "");
            }
        }
    }
}

void expectEqual(const ArrayPtr& array, bool isRequired, const std::string& what) {
    for (const Writing& writing : writings()) {
        const auto file = write(array, writing, isRequired);
        const ArrayPtr wanted = byArrow(file);
        const auto got = decoded(file, wanted->type(), wanted->length());
        ASSERT_TRUE(got.ok()) << what << ": " << got.status();
        ASSERT_NE(*got, nullptr) << what;
        ASSERT_TRUE((*got)->ValidateFull().ok()) << what;
        EXPECT_TRUE((*got)->Equals(wanted)) << what;
        std::mt19937_64 random(8);
        expectWishes(random, file, wanted, what);
    }
}

TEST(PageDecoder, FlatColumnsEqualArrows) {
    std::mt19937_64 random(3);
    for (const Kind& kind :
         {Kind{}, Kind{.isRequired = true}, Kind{.nullShare = 0.3}, Kind{.nullShare = 1},
          Kind{.nullShare = 0.02, .repeats = 90}, Kind{.distinct = 1}, Kind{.distinct = 70'000},
          Kind{.nullShare = 0.5, .distinct = 2, .repeats = 8}}) {
        for (const int rows : {1, 7, 64, 65, 4'000, 20'011}) {
            const std::string what = strCat(kind.nullShare, " ", kind.distinct, " ", rows);
            expectEqual(flat<arrow::Int64Builder>(random, kind, rows), kind.isRequired, what);
            expectEqual(flat<arrow::Int32Builder>(random, kind, rows), kind.isRequired, what);
            expectEqual(flat<arrow::FloatBuilder>(random, kind, rows), kind.isRequired, what);
            expectEqual(flat<arrow::DoubleBuilder>(random, kind, rows), kind.isRequired, what);
        }
    }
}

// Differences that wrap around, of every width in bits.
template <class Builder>
ArrayPtr farApart(std::mt19937_64& random, int rows) {
    using T = typename Builder::value_type;
    constexpr int kBits = 8 * sizeof(T);
    Builder builder;
    for (int r = 0; r < rows; ++r) {
        const int bits = static_cast<int>(r / 128 % (kBits + 1));
        const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        EXPECT_TRUE(builder.Append(static_cast<T>(random() & mask)).ok());
    }
    EXPECT_TRUE(builder.Append(std::numeric_limits<T>::min()).ok());
    EXPECT_TRUE(builder.Append(std::numeric_limits<T>::max()).ok());
    EXPECT_TRUE(builder.Append(std::numeric_limits<T>::min()).ok());
    return *builder.Finish();
}

TEST(PageDecoder, DifferencesOfEveryWidthEqualArrows) {
    std::mt19937_64 random(21);
    for (const int rows : {0, 1, 30, 128, 129, 20'000}) {
        expectEqual(farApart<arrow::Int64Builder>(random, rows), true, strCat("int64 ", rows));
        expectEqual(farApart<arrow::Int32Builder>(random, rows), true, strCat("int32 ", rows));
    }
}

TEST(PageDecoder, PackedDifferencesAreNotLeftToArrow) {
    std::mt19937_64 random(22);
    const auto array = flat<arrow::Int64Builder>(random, {.nullShare = 0.1}, 5'000);
    const auto file = write(array, {.isDelta = true}, false);
    const auto footer = parquet::ReadMetaData(std::make_shared<arrow::io::BufferReader>(file));
    EXPECT_THAT(footer->RowGroup(0)->ColumnChunk(0)->encodings(),
                testing::Contains(parquet::Encoding::DELTA_BINARY_PACKED));
    const auto got = decoded(file, array->type(), 5'000);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_NE(*got, nullptr);
    EXPECT_TRUE((*got)->Equals(array));
}

// Every damaged page is refused or read, and never beyond its bytes (sanitizers check that).
void expectRefusedOrRead(std::mt19937_64& random, const ArrayPtr& array) {
    const Writing writing{false,
                          1 << 20,
                          1 << 20,
                          arrow::Compression::UNCOMPRESSED,
                          parquet::ParquetDataPageVersion::V1,
                          false,
                          true};
    const auto whole = write(array, writing, true);
    int refused = 0;
    for (int i = 0; i < 2'000; ++i) {
        const std::string bytes = whole->ToString();
        std::string damaged = bytes;
        damaged[4 + random() % (bytes.size() / 2)] = static_cast<char>(random());
        const auto got =
            decoded(arrow::Buffer::FromString(damaged), array->type(), array->length());
        refused += got.ok() ? 0 : 1;
    }
    EXPECT_GT(refused, 0);
}

TEST(PageDecoder, DamagedDifferencesAreRefusedOrRead) {
    std::mt19937_64 random(23);
    expectRefusedOrRead(random, farApart<arrow::Int64Builder>(random, 3'000));
}

TEST(PageDecoder, ListsEqualArrows) {
    std::mt19937_64 random(4);
    for (const Kind& kind :
         {Kind{}, Kind{.isRequired = true}, Kind{.repeats = 16}, Kind{.emptyShare = 0.2},
          Kind{.nullShare = 0.2, .emptyShare = 0.2}, Kind{.nullShare = 1}, Kind{.emptyShare = 1},
          Kind{.emptyShare = 0.1, .isRequired = true}, Kind{.distinct = 60'000, .repeats = 4}}) {
        for (const int rows : {1, 63, 1'500}) {
            expectEqual(lists(random, kind, rows), kind.isRequired,
                        strCat(kind.nullShare, " ", kind.emptyShare, " ", rows));
        }
    }
}

TEST(PageDecoder, EqualNeighboursAreStoredOnce) {
    std::mt19937_64 random(9);
    const ArrayPtr array =
        lists(random, {.nullShare = 0.1, .emptyShare = 0.1, .repeats = 16}, 1'600);
    for (const Writing& writing : writings()) {
        const auto file = write(array, writing, false);
        const auto got =
            decoded(file, byArrow(file)->type(), {0, 1'600, 1'600}, {.mayRepeat = true});
        ASSERT_TRUE(got.ok()) << got.status();
        ASSERT_EQ((*got)->type_id(), arrow::Type::DICTIONARY);
        const auto& stored = static_cast<const arrow::DictionaryArray&>(**got);
        // A hundred requests; neighbouring requests may have the same list.
        EXPECT_LE(stored.dictionary()->length(), 100);
        EXPECT_GE(stored.dictionary()->length(), 80);
    }
}

// Texts of various lengths with `distinct` different values.
ArrayPtr drawnTexts(std::mt19937_64& random, const Kind& kind, int rows) {
    arrow::StringBuilder builder;
    for (int r = 0; r < rows; ++r) {
        const auto number = static_cast<std::uint64_t>(drawn(random, kind));
        const std::string text(number % 40, static_cast<char>('a' + number % 26));
        const bool isNull = chance(random, kind.nullShare);
        EXPECT_TRUE((isNull ? builder.AppendNull()
                            : builder.Append(strCat(text, static_cast<std::int64_t>(number))))
                        .ok());
    }
    return *builder.Finish();
}

TEST(PageDecoder, TextsEqualArrowsCodedOrNot) {
    std::mt19937_64 random(12);
    for (const Kind& kind :
         {Kind{}, Kind{.isRequired = true}, Kind{.nullShare = 0.3}, Kind{.nullShare = 1},
          Kind{.distinct = 1}, Kind{.distinct = 70'000}, Kind{.nullShare = 0.5, .distinct = 2}}) {
        for (const int rows : {1, 64, 65, 4'000}) {
            expectEqual(drawnTexts(random, kind, rows), kind.isRequired,
                        strCat(kind.nullShare, " ", kind.distinct, " ", rows));
        }
    }
    expectEqual(test::texts({"", "", ""}), true, "empty texts");
}

TEST(PageDecoder, TextsBehindTheirLengthsAreNotLeftToArrow) {
    std::mt19937_64 random(24);
    const auto array = drawnTexts(random, {.nullShare = 0.1, .distinct = 70'000}, 5'000);
    const auto file = write(array, {.isDelta = true}, false);
    const auto footer = parquet::ReadMetaData(std::make_shared<arrow::io::BufferReader>(file));
    EXPECT_THAT(footer->RowGroup(0)->ColumnChunk(0)->encodings(),
                testing::Contains(parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY));
    const auto got = decoded(file, array->type(), 5'000);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_NE(*got, nullptr);
    EXPECT_TRUE((*got)->Equals(array));
    expectRefusedOrRead(random, drawnTexts(random, {.distinct = 70'000}, 300));
}

TEST(PageDecoder, EveryTextOfADictionaryIsStoredOnce) {
    std::mt19937_64 random(13);
    const auto array = drawnTexts(random, {.nullShare = 0.1, .distinct = 50}, 3'000);
    const auto file = write(array, {}, false);
    const auto codesOf = [&](const RowStretch& stretch, const RowSelection& selection) {
        const auto got = decoded(file, arrow::utf8(), stretch, selection);
        EXPECT_TRUE(got.ok()) << got.status();
        return arrays::TextCodes::of(**got);
    };
    EXPECT_FALSE(codesOf({0, 3'000, 3'000}, {}).has_value()) << "nobody asked";
    const auto coded = codesOf({0, 3'000, 3'000}, {.mayCode = true});
    ASSERT_TRUE(coded.has_value());
    EXPECT_EQ(coded->entries->length(), 51) << "with the null's";
    EXPECT_EQ(coded->codes->null_count(), 0);
    EXPECT_EQ(coded->nullRows(), array->null_count());
    // A dictionary with more texts than requested rows costs more than it saves.
    std::vector<std::int64_t> few(50);
    std::iota(few.begin(), few.end(), 100);
    EXPECT_FALSE(codesOf({0, 3'000, 3'000}, {&few, false, true}).has_value());
    few.push_back(2'000);
    EXPECT_TRUE(codesOf({0, 3'000, 3'000}, {&few, false, true}).has_value());
    EXPECT_FALSE(codesOf({9, 20, 3'000}, {.mayCode = true}).has_value());
}

TEST(PageDecoder, NumbersOfASmallDictionaryAreStoredOnce) {
    std::mt19937_64 random(15);
    for (const double nullShare : {0.0, 0.2}) {
        const auto array =
            flat<arrow::DoubleBuilder>(random, {.nullShare = nullShare, .distinct = 50}, 3'000);
        const auto file = write(array, {}, false);
        const auto got = [&](const RowStretch& stretch, const RowSelection& selection) {
            const auto made = decoded(file, arrow::float64(), stretch, selection);
            EXPECT_TRUE(made.ok()) << made.status();
            return *made;
        };
        EXPECT_FALSE(arrays::isNumberCodes(*got({0, 3'000, 3'000}, {.mayCode = true})));
        const ArrayPtr coded = got({0, 3'000, 3'000}, {.mayCodeNumbers = true});
        ASSERT_TRUE(arrays::isNumberCodes(*coded));
        EXPECT_TRUE(coded->ValidateFull().ok());
        EXPECT_EQ(coded->null_count(), 0);
        const auto& entries = *static_cast<const arrow::DictionaryArray&>(*coded).dictionary();
        EXPECT_EQ(entries.length(), nullShare > 0 ? 51 : 50);
        const auto plain = arrays::plainNumbers(coded, arrow::default_memory_pool());
        ASSERT_TRUE(plain.ok() && (*plain)->ValidateFull().ok());
        EXPECT_TRUE((*plain)->Equals(array));
        EXPECT_EQ((*plain)->null_count(), array->null_count());
        EXPECT_FALSE(arrays::isNumberCodes(*got({9, 200, 3'000}, {.mayCodeNumbers = true})));
    }
    const auto bools = flat<arrow::BooleanBuilder>(random, {}, 300);
    const auto whole =
        decoded(write(bools, {}, false), arrow::boolean(), {0, 300, 300}, {.mayCodeNumbers = true});
    EXPECT_TRUE(whole.ok() && (*whole)->Equals(bools));
}

TEST(PageDecoder, NumbersThatLeaveTheirDictionaryAreNumbers) {
    std::mt19937_64 random(16);
    const Kind kind{.nullShare = 0.1, .distinct = 70'000};
    for (const ArrayPtr& array : {flat<arrow::Int32Builder>(random, kind, 4'000),
                                  flat<arrow::DoubleBuilder>(random, kind, 4'000)}) {
        const auto file = write(array, {true, 300, 2'000}, false);
        const auto got = decoded(file, array->type(), {0, 4'000, 4'000}, {.mayCodeNumbers = true});
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_TRUE((*got)->ValidateFull().ok());
        EXPECT_TRUE((*got)->Equals(array));
    }
}

TEST(PageDecoder, PlainPagesBehindADictionaryBecomeEntries) {
    std::mt19937_64 random(14);
    const auto array = drawnTexts(random, {.nullShare = 0.1, .distinct = 70'000}, 4'000);
    const auto file = write(array, {true, 300, 2'000}, false);
    const auto got = decoded(file, arrow::utf8(), {0, 4'000, 4'000}, {.mayCode = true});
    ASSERT_TRUE(got.ok()) << got.status();
    const auto coded = arrays::TextCodes::of(**got);
    ASSERT_TRUE(coded.has_value());
    EXPECT_GT(coded->entries->length(), 3'000);
    const auto plain = arrays::plainTexts(*got, arrow::default_memory_pool());
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_TRUE((*plain)->ValidateFull().ok());
    EXPECT_TRUE((*plain)->Equals(array));
}

TEST(PageDecoder, WhatItDoesNotReadIsLeftToArrow) {
    std::mt19937_64 random(5);
    const auto isLeft = [](const ArrayPtr& array, const Writing& writing = {}) {
        const auto file = write(array, writing, false);
        const auto got = decoded(file, array->type(), array->length());
        return got.ok() && *got == nullptr;
    };
    EXPECT_TRUE(isLeft(lists(random, {.nullItemShare = 0.1}, 500)));
    arrow::FixedSizeBinaryBuilder fixed(arrow::fixed_size_binary(2));
    EXPECT_TRUE(fixed.Append("ab").ok());
    EXPECT_TRUE(isLeft(*fixed.Finish()));
    EXPECT_FALSE(isLeft(flat<arrow::Int64Builder>(random, {}, 500)));
    EXPECT_FALSE(isLeft(flat<arrow::Int16Builder>(random, {}, 500)));
    EXPECT_FALSE(isLeft(flat<arrow::BooleanBuilder>(random, {}, 500)));
    EXPECT_FALSE(isLeft(flat<arrow::Date32Builder>(random, {}, 500)));
    EXPECT_FALSE(isLeft(test::texts({"a", "b"})));
}

// Validity of UTF-8 is not tested here.
bool isValid(const arrow::Array& array) {
    const auto binaryOf = [](const arrow::Array& texts) {
        const auto data = texts.data()->Copy();
        data->type = data->type->id() == arrow::Type::STRING ? arrow::binary() : data->type;
        return arrow::MakeArray(data);
    };
    const auto coded = arrays::TextCodes::of(array);
    if (!coded) {
        return binaryOf(array)->ValidateFull().ok();
    }
    const std::int64_t entries = coded->entries->length();
    return binaryOf(*coded->entries)->ValidateFull().ok() &&
           std::all_of(coded->raw(), coded->raw() + coded->rows(),
                       [entries](std::int32_t code) { return code >= 0 && code < entries; });
}

TEST(PageDecoder, ADamagedChunkIsAnErrorOrOtherValuesButNeverACrash) {
    std::mt19937_64 random(6);
    int numErrors = 0;
    std::vector<std::string> words;
    for (int i = 0; i < 2'000; ++i) {
        words.push_back(std::to_string(random() % 50) + (i % 3 == 0 ? " and a longer tail" : ""));
    }
    for (const ArrayPtr& array :
         {lists(random, {.nullShare = 0.1, .emptyShare = 0.1}, 400),
          flat<arrow::Int64Builder>(random, {.nullShare = 0.1}, 4'000),
          flat<arrow::BooleanBuilder>(random, {.nullShare = 0.1}, 4'000), test::texts(words)}) {
        for (const Writing& writing : writings()) {
            const auto file = write(array, writing, false);
            for (int round = 0; round < 150; ++round) {
                auto bytes = *arrow::AllocateBuffer(file->size());
                std::memcpy(bytes->mutable_data(), file->data(),
                            static_cast<std::size_t>(file->size()));
                // Behind the magic, before the footer: pages and their headers.
                const std::uint64_t most = static_cast<std::uint64_t>(file->size()) * 3 / 4;
                bytes->mutable_data()[4 + random() % most] ^=
                    static_cast<std::uint8_t>(1U << (random() % 8));
                // Every other round returns texts as codes.
                const auto got = decoded(std::shared_ptr<arrow::Buffer>(std::move(bytes)),
                                         array->type(), {0, array->length(), array->length()},
                                         {nullptr, false, round % 2 == 1});
                numErrors += got.ok() ? 0 : 1;
                if (got.ok() && *got != nullptr) {
                    EXPECT_TRUE(isValid(**got));
                }
            }
        }
    }
    EXPECT_GT(numErrors, 100);
}

TEST(BitUnpack, EveryVariantGivesTheSameIntegers) {
    std::mt19937_64 random(7);
    for (int width = 0; width <= 32; ++width) {
        for (const std::int64_t count : {1, 7, 8, 31, 32, 33, 1'000}) {
            std::vector<std::uint8_t> bytes(static_cast<std::size_t>((count * width + 7) / 8));
            for (auto& byte : bytes) {
                byte = static_cast<std::uint8_t>(random());
            }
            const std::uint8_t* const end = bytes.data() + bytes.size();
            std::vector<std::uint32_t> wanted(static_cast<std::size_t>(count));
            for (std::int64_t i = 0; i < count * width; ++i) {
                const auto bit = static_cast<std::uint32_t>(
                    (bytes[static_cast<std::size_t>(i / 8)] >> (i % 8)) & 1);
                wanted[static_cast<std::size_t>(i / width)] |= bit << (i % width);
            }
            for (const auto variant :
                 {arrays::UnpackVariant::kAvx512Vbmi, arrays::UnpackVariant::kAvx2,
                  arrays::UnpackVariant::kScalar}) {
                if (arrays::canUnpack(variant)) {
                    std::vector<std::uint32_t> got(wanted.size(), 99);
                    arrays::unpackBits(variant, bytes.data(), end, width, count, got.data());
                    EXPECT_EQ(got, wanted) << width << " bits, " << count;
                }
            }
        }
    }
}

// A data page's header as Arrow writes it, with statistics (a struct that is passed over).
const std::vector<std::uint8_t> kHeader = {
    0x15, 0x00, 0x15, 0x80, 0x08, 0x15, 0xac, 0x02,                    // type 0, 512, 150 bytes
    0x2c, 0x15, 0xc8, 0x01, 0x15, 0x10, 0x15, 0x06, 0x15, 0x06,        // 100 values, dictionary
    0x1c, 0x36, 0x04, 0x18, 0x02, 0x61, 0x62, 0x00, 0x00, 0x00, 0xff,  // nulls 2, max "ab"
};

TEST(PageHeader, IsReadAndEndsWhereItEnds) {
    PageHeader header;
    const arrays::ByteSpan bytes{kHeader.data(), kHeader.data() + kHeader.size()};
    EXPECT_EQ(parsePageHeader(bytes, header), static_cast<std::int64_t>(kHeader.size()) - 1);
    EXPECT_EQ(header.type, PageHeader::kData);
    EXPECT_EQ(header.bytes, 512);
    EXPECT_EQ(header.compressedBytes, 150);
    EXPECT_EQ(header.numValues, 100);
    EXPECT_EQ(header.encoding, PageHeader::kRleDictionary);
    EXPECT_EQ(header.definitionEncoding, PageHeader::kRle);
}

TEST(PageHeader, ThatIsCutWantsMoreBytesAndGarbageIsNone) {
    PageHeader header;
    for (std::size_t n = 0; n + 1 < kHeader.size(); ++n) {
        EXPECT_EQ(parsePageHeader({kHeader.data(), kHeader.data() + n}, header), 0) << n;
    }
    std::mt19937_64 random(10);
    int numRefused = 0;
    for (int round = 0; round < 2'000; ++round) {
        std::vector<std::uint8_t> bytes = kHeader;
        for (int k = 0; k < 3; ++k) {
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        }
        const std::int64_t length =
            parsePageHeader({bytes.data(), bytes.data() + bytes.size()}, header);
        EXPECT_LE(length, static_cast<std::int64_t>(bytes.size()));
        EXPECT_TRUE(length <= 0 || (header.numValues >= 0 && header.bytes >= 0));
        numRefused += length < 0 ? 1 : 0;
    }
    EXPECT_GT(numRefused, 100);
}

TEST(HybridStream, ReadsAndSkipsAsTheWholeStreamHasIt) {
    std::mt19937_64 random(11);
    for (int width = 0; width <= 32; ++width) {
        // Runs of one value and packed groups in turn.
        std::vector<std::uint8_t> bytes;
        std::vector<std::uint32_t> wanted;
        const std::uint32_t mask = width == 32 ? ~0U : (1U << width) - 1;
        for (int run = 0; run < 12; ++run) {
            const auto groups = static_cast<std::uint8_t>(1 + random() % 6);
            if (run % 2 == 0) {
                const auto value = static_cast<std::uint32_t>(random()) & mask;
                bytes.push_back(static_cast<std::uint8_t>(groups << 1));
                for (int b = 0; b < (width + 7) / 8; ++b) {
                    bytes.push_back(static_cast<std::uint8_t>(value >> (8 * b)));
                }
                wanted.insert(wanted.end(), groups, value);
                continue;
            }
            bytes.push_back(static_cast<std::uint8_t>(groups << 1 | 1));
            const std::size_t begin = bytes.size();
            bytes.resize(begin + static_cast<std::size_t>(groups * width));
            for (int i = 0; i < groups * 8; ++i) {
                const auto value = static_cast<std::uint32_t>(random()) & mask;
                wanted.push_back(value);
                for (int b = 0; b < width; ++b) {
                    const auto bit = static_cast<std::size_t>(i * width + b);
                    bytes[begin + bit / 8] |=
                        static_cast<std::uint8_t>(((value >> b) & 1) << (bit % 8));
                }
            }
        }
        HybridStream stream({bytes.data(), bytes.data() + bytes.size()}, width);
        std::size_t at = 0;
        while (at < wanted.size()) {
            const std::size_t n = std::min<std::size_t>(random() % 23, wanted.size() - at);
            if (random() % 3 == 0) {
                ASSERT_TRUE(stream.skip(static_cast<std::int64_t>(n)));
            } else {
                std::vector<std::uint32_t> got(n);
                ASSERT_TRUE(stream.read(static_cast<std::int64_t>(n), got.data()));
                const std::vector<std::uint32_t> part(
                    wanted.begin() + static_cast<std::ptrdiff_t>(at),
                    wanted.begin() + static_cast<std::ptrdiff_t>(at + n));
                EXPECT_EQ(got, part) << width << " bits, from " << at;
            }
            at += n;
        }
        std::uint32_t beyond = 0;
        EXPECT_FALSE(stream.read(1, &beyond));
    }
}

TEST(HybridRuns, AStreamThatEndsTooEarlyIsDamaged) {
    const auto values = [](std::vector<std::uint8_t> bytes, int width, std::int64_t count) {
        std::int64_t seen = 0;
        const bool isFine = arrays::forEachRun(
            {bytes.data(), bytes.data() + bytes.size()}, width, count,
            [&](std::uint32_t, std::int64_t n) { return (seen += n) > 0; },
            [&](arrays::ByteSpan, std::int64_t n) { return (seen += n) > 0; });
        return isFine ? seen : -1;
    };
    EXPECT_EQ(values({8, 1}, 1, 4), 4);       // a run of four
    EXPECT_EQ(values({3, 0x88}, 1, 8), 8);    // a group of eight
    EXPECT_EQ(values({8}, 1, 4), -1);         // no value
    EXPECT_EQ(values({5, 0x88}, 1, 16), -1);  // the second group is missing
    EXPECT_EQ(values({8, 1}, 1, 5), -1);      // one too few
    EXPECT_EQ(values({0, 1}, 1, 1), -1);      // a run of none
    EXPECT_EQ(values({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1, 1), -1);
    EXPECT_EQ(values({}, 1, 0), 0);
}

TEST(PageDecoder, SeveralThreadsReadOneFile) {
    std::mt19937_64 random(12);
    const ArrayPtr numbers = flat<arrow::Int64Builder>(random, {.nullShare = 0.2}, 30'000);
    for (const Writing& writing : writings()) {
        const auto file = write(numbers, writing, false);
        std::vector<Result<ArrayPtr>> results(4, internalError("not read"));
        {
            std::vector<std::jthread> threads;
            for (Result<ArrayPtr>& result : results) {
                threads.emplace_back(
                    [&] { result = decoded(file, numbers->type(), numbers->length()); });
            }
        }
        for (const Result<ArrayPtr>& result : results) {
            ASSERT_TRUE(result.ok()) << result.status();
            ASSERT_NE(*result, nullptr);
            EXPECT_TRUE((*result)->Equals(numbers));
        }
    }
}

}  // namespace
}  // namespace millrace::pages
