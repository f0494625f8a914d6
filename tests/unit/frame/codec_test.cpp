// Coded frames decode to the same bytes, damage is an error, and the chooser follows the link.
#include "backend/frame/codec.h"

#include <random>

#include <gtest/gtest.h>

namespace millrace::frame {
namespace {

FrameLayout layout() {
    std::vector<ColumnSpec> columns = {
        ColumnSpec::fixed(Role::kDense, DType::kFloat32, "dense", 4),
        ColumnSpec::fixed(Role::kId, DType::kInt64, "user"),
        ColumnSpec::list(Role::kList, DType::kInt64, "history"),
        ColumnSpec::list(Role::kWeighted, DType::kInt64, "tags"),
        ColumnSpec::list(Role::kSequence, DType::kInt64, "watched"),
        ColumnSpec::list(Role::kSequence, DType::kFloat32, "seconds"),
        ColumnSpec::list(Role::kCarry, DType::kString, "title"),
    };
    columns[2].dedup = true;
    columns[4].group = columns[5].group = 1;
    return *FrameLayout::make(std::move(columns), std::string(32, 'b'));
}

// Rows with small ids, which compress, and dense noise, which does not.
FrameBuffer frameOf(const FrameLayout& layout, std::uint32_t rows, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::uint32_t requests = (rows + 3) / 4;
    std::vector<std::uint64_t> sizes(layout.numColumns(), 0);
    for (std::size_t c = 0; c < sizes.size(); ++c) {
        const std::uint32_t items = layout.columns()[c].dedup ? requests : rows;
        sizes[c] = layout.columns()[c].encoding == Encoding::kLists ? items * 3 : 0;
    }
    FrameWriter writer(layout);
    FrameBuffer buffer(*writer.declare(rows, sizes, requests));
    EXPECT_TRUE(writer.bind(buffer.bytes(), {1, 2, 3}).ok());
    for (std::size_t c = 0; c < layout.numColumns(); ++c) {
        const ColumnSpec& column = layout.columns()[c];
        if (column.role == Role::kInverse) {
            for (std::uint32_t r = 0; r < rows; ++r) {
                writer.values<std::uint32_t>(c)[r] = r / 4;
            }
            continue;
        }
        const std::size_t bytes =
            sizeOf(column.dtype) *
            (column.encoding == Encoding::kLists ? sizes[c] : std::size_t{rows} * column.width);
        for (std::size_t b = 0; b < bytes; ++b) {
            const bool isNoise = column.role == Role::kDense || b % 8 == 0;
            writer.bytesOf(c)[b] = static_cast<std::byte>(isNoise ? random() : 0);
        }
        std::span<std::int64_t> offsets = writer.offsets(c);
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            offsets[i] = static_cast<std::int64_t>(3 * i);
        }
        for (float& weight : writer.weights(c)) {
            weight = 0.5F;
        }
    }
    return buffer;
}

CodecPlan planOf(const FrameLayout& layout, const std::string& text) {
    return CodecPlan(layout.numColumns(), *CodecChoice::parse(text));
}

TEST(CodedFrame, DecodesToTheSameBytesWithEveryCodec) {
    const FrameLayout columns = layout();
    for (const std::uint32_t rows : {0U, 1U, 900U}) {
        const FrameBuffer buffer = frameOf(columns, rows, rows);
        const auto view = FrameView::open(buffer.bytes());
        ASSERT_TRUE(view.ok()) << view.status();
        for (const std::string text : {"none", "lz4", "zstd:-5", "zstd:3"}) {
            FrameEncoder encoder(planOf(columns, text));
            std::vector<std::byte> coded;
            ASSERT_TRUE(encoder.encode(*view, coded).ok());
            const auto bytes = FrameDecoder::frameBytes(coded, 1 << 30);
            ASSERT_TRUE(bytes.ok()) << bytes.status();
            FrameBuffer memory(*bytes);
            std::memset(memory.bytes().data(), 0x5a, memory.size());
            FrameDecoder decoder;
            const Status status = decoder.decode(coded, memory.bytes());
            ASSERT_TRUE(status.ok()) << status;
            EXPECT_EQ(std::memcmp(memory.bytes().data(), buffer.bytes().data(), buffer.size()), 0)
                << text << ", " << rows << " rows";
            if (rows == 900 && text != "none") {
                EXPECT_LT(coded.size() * 10, buffer.size() * 9) << text;
            }
        }
    }
}

TEST(CodedFrame, OneThatIsNotCodedLiesAsItIsBehindItsHead) {
    const FrameLayout shape = layout();
    const FrameBuffer frame = frameOf(shape, 100, 3);
    std::vector<std::byte> coded(FrameEncoder::kPlainHead + frame.bytes().size());
    std::copy(frame.bytes().begin(), frame.bytes().end(), coded.begin() + FrameEncoder::kPlainHead);
    FrameBuffer read(frame.bytes().size());
    FrameEncoder::wrap(coded, false);
    EXPECT_EQ(*FrameDecoder::sharedBytes(coded, 1 << 20), frame.bytes().size());
    EXPECT_FALSE(FrameDecoder::frameBytes(coded, 1 << 20).ok()) << "there is no checksum";
    ASSERT_TRUE(FrameDecoder().decodeShared(coded, read.bytes()).ok());
    EXPECT_TRUE(std::equal(read.bytes().begin(), read.bytes().end(), frame.bytes().begin()));
    FrameEncoder::wrap(coded, true);
    EXPECT_EQ(*FrameDecoder::frameBytes(coded, 1 << 20), frame.bytes().size());
    ASSERT_TRUE(FrameDecoder().decode(coded, read.bytes()).ok());
    coded[1000] ^= std::byte{1};
    EXPECT_FALSE(FrameDecoder::frameBytes(coded, 1 << 20).ok());
    coded.pop_back();
    EXPECT_FALSE(FrameDecoder::sharedBytes(coded, 1 << 20).ok()) << "cut off";
}

TEST(CodedFrame, DamageIsAnErrorAndNeverAFrame) {
    const FrameLayout columns = layout();
    const FrameBuffer buffer = frameOf(columns, 60, 5);
    FrameEncoder encoder(planOf(columns, "lz4"));
    std::vector<std::byte> coded;
    ASSERT_TRUE(encoder.encode(*FrameView::open(buffer.bytes()), coded).ok());
    FrameBuffer memory(buffer.size());
    FrameDecoder decoder;
    for (std::size_t at = 0; at < coded.size(); at += 7) {
        std::vector<std::byte> damaged = coded;
        damaged[at] ^= std::byte{1};
        EXPECT_EQ(decoder.decode(damaged, memory.bytes()).code(), absl::StatusCode::kDataLoss)
            << at;
        damaged.resize(at);
        EXPECT_EQ(decoder.decode(damaged, memory.bytes()).code(), absl::StatusCode::kDataLoss)
            << at;
    }
    EXPECT_TRUE(decoder.decode(coded, memory.bytes()).ok());
    EXPECT_EQ(FrameDecoder::frameBytes(coded, 64).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(decoder.decode(coded, memory.bytes().first(64)).code(),
              absl::StatusCode::kInvalidArgument);
}

TEST(CodedFrame, ChoicesAreReadAsTheyAreWritten) {
    for (const std::string text : {"none", "lz4", "zstd:-7", "zstd:19"}) {
        EXPECT_EQ(CodecChoice::parse(text)->text(), text);
    }
    for (const std::string text : {"", "zst", "zstd", "zstd:", "zstd:x", "zstd:1x", "zstd:99"}) {
        EXPECT_FALSE(CodecChoice::parse(text).ok()) << text;
    }
}

TEST(CodedFrame, IsReadInPlaceOnlyIfNoColumnIsCoded) {
    const FrameLayout columns = layout();
    const FrameBuffer frame = frameOf(columns, 100, 3);
    std::vector<std::byte> plain(FrameEncoder::kPlainHead + frame.size());
    std::ranges::copy(frame.bytes(), plain.begin() + FrameEncoder::kPlainHead);
    FrameEncoder::wrap(plain, true);
    const auto inPlace = FrameDecoder::plainFrame(plain);
    ASSERT_TRUE(inPlace);
    EXPECT_EQ(inPlace->data(), plain.data() + FrameEncoder::kPlainHead);
    EXPECT_TRUE(std::ranges::equal(*inPlace, frame.bytes()));
    std::vector<std::byte> coded;
    ASSERT_TRUE(FrameEncoder({}).encode(*FrameView::open(frame.bytes()), coded).ok());
    EXPECT_FALSE(FrameDecoder::plainFrame(coded));
    EXPECT_FALSE(FrameDecoder::plainFrame(std::span(plain).first(40)));
}

TEST(CodecChooser, FollowsTheLink) {
    const CodecMeasure measures[] = {{{Codec::kNone, 0}, 1'000, 1'000, 10, 10},
                                     {{Codec::kLz4, 0}, 1'000, 600, 200, 100},
                                     {{Codec::kZstd, 3}, 1'000, 500, 3'000, 500}};
    const auto atGigabytes = [&measures](double speed) {
        return cheapestOf(measures, speed).text();
    };
    EXPECT_EQ(atGigabytes(10), "none");      // 120, 360, 3,550 ns
    EXPECT_EQ(atGigabytes(0.5), "lz4");      // 2,020, 1,500, 4,500 ns
    EXPECT_EQ(atGigabytes(0.01), "zstd:3");  // 100,020, 60,300, 53,500 ns
}

TEST(CodecChooser, CountsWhatCodecsMakeOfAFrame) {
    const FrameLayout columns = layout();
    CodecChooser chooser(columns);
    for (const std::uint64_t seed : {1, 2}) {
        const FrameBuffer buffer = frameOf(columns, 4'000, seed);
        ASSERT_TRUE(chooser.add(*FrameView::open(buffer.bytes())).ok());
    }
    const auto dense = static_cast<std::size_t>(columns.find(Role::kDense, "dense"));
    const auto user = static_cast<std::size_t>(columns.find(Role::kId, "user"));
    for (const CodecMeasure& measure : chooser.measures()[dense]) {
        EXPECT_EQ(measure.bytes, 2 * 4'000 * 4 * sizeof(float));
        EXPECT_LE(measure.codedBytes, measure.bytes);  // noise is stored as it is
    }
    // At a byte a second nothing counts but size.
    const CodecPlan slow = cheapestOf(chooser.measures(), 1);
    EXPECT_NE(slow[user].codec, Codec::kNone);
    EXPECT_EQ(slow.size(), columns.numColumns());
}

}  // namespace
}  // namespace millrace::frame
