#include "backend/frame/frame.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace millrace::frame {
namespace {

/// FrameConcat into its own memory.
Result<FrameBuffer> concatRows(const FrameLayout& layout, std::span<const RowRange> ranges,
                               const FrameId& id) {
    ASSIGN_OR_RETURN(FrameConcat concat, FrameConcat::make(layout, ranges));
    FrameBuffer buffer(concat.totalBytes());
    RETURN_IF_ERROR(concat.write(buffer.bytes(), id));
    return buffer;
}

/// One column of every kind; columns after the row ids: 2 dense .. 10 names, inverse at the end.
FrameLayout fullLayout() {
    std::vector<ColumnSpec> columns = {
        ColumnSpec::fixed(Role::kDense, DType::kFloat32, "dense", 3),
        ColumnSpec::fixed(Role::kId, DType::kInt64, "user"),
        ColumnSpec::list(Role::kList, DType::kInt64, "genres"),
        ColumnSpec::list(Role::kWeighted, DType::kInt64, "tags"),
        ColumnSpec::fixed(Role::kLabel, DType::kFloat32, "liked"),
        ColumnSpec::fixed(Role::kWeight, DType::kFloat32, "liked"),
        ColumnSpec::fixed(Role::kMask, DType::kUint8, "liked"),
        ColumnSpec::list(Role::kCarry, DType::kString, "title"),
        ColumnSpec::list(Role::kList, DType::kInt64, "history"),
        ColumnSpec::list(Role::kSequence, DType::kInt64, "watched"),
        ColumnSpec::list(Role::kSequence, DType::kFloat32, "seconds"),
    };
    columns[8].dedup = true;
    columns[9].group = columns[10].group = 1;
    return *FrameLayout::make(std::move(columns), std::string(32, 'a'));
}

template <class T>
void fill(std::span<T> values, std::mt19937_64& random) {
    for (T& v : values) {
        v = static_cast<T>(random() % 100);
    }
}

void fillOffsets(std::span<std::int64_t> offsets, std::mt19937_64& random) {
    const std::int64_t total = offsets.back();
    for (std::int64_t& o : offsets.subspan(1, offsets.size() - 2)) {
        o = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total + 1));
    }
    std::sort(offsets.begin() + 1, offsets.end());
}

FrameBuffer randomFrame(const FrameLayout& layout, std::mt19937_64& random, std::uint32_t rows) {
    const std::uint32_t requests = rows == 0 ? 0 : 1 + static_cast<std::uint32_t>(random() % rows);
    std::vector<std::uint64_t> sizes(layout.numColumns());
    for (std::uint64_t& size : sizes) {
        size = rows == 0 ? 0 : random() % 40;
    }
    sizes[12] = sizes[11];
    FrameWriter writer(layout);
    FrameBuffer buffer(*writer.declare(rows, sizes, requests));
    EXPECT_TRUE(writer.bind(buffer.bytes(), {1, 2, 3}).ok());
    for (std::size_t c = 0; c < layout.numColumns(); ++c) {
        switch (layout.columns()[c].dtype) {
            case DType::kUint32:
                fill(writer.values<std::uint32_t>(c), random);
                break;
            case DType::kFloat32:
                fill(writer.values<float>(c), random);
                break;
            case DType::kUint8:
            case DType::kString:
                fill(writer.values<std::uint8_t>(c), random);
                break;
            default:
                fill(writer.values<std::int64_t>(c), random);
        }
        fill(writer.weights(c), random);
        if (rows > 0 && !writer.offsets(c).empty() && c != 12) {
            fillOffsets(writer.offsets(c), random);
        }
    }
    const auto inverse =
        writer.values<std::uint32_t>(static_cast<std::size_t>(layout.inverseColumn()));
    for (std::uint32_t i = 0; i < rows; ++i) {
        inverse[i] = static_cast<std::uint32_t>(std::uint64_t{i} * requests / rows);
    }
    return buffer;
}

/// The bytes of one row in one column, as text: what concatenation must not change.
std::string rowText(const FrameView& view, std::size_t c, std::uint32_t row) {
    const ColumnEntry& e = view.entry(c);
    if (e.role == Role::kInverse) {
        return "";
    }
    const std::uint32_t item = view.itemOf(c, row);
    const auto* data = reinterpret_cast<const char*>(view.bytes().data() + e.data.offset);
    const std::size_t size = sizeOf(e.dtype);
    if (e.encoding == Encoding::kFixed) {
        return std::string(data + item * size * e.width, size * e.width);
    }
    const std::int64_t from = view.offsets(c)[item], to = view.offsets(c)[item + 1];
    std::string text(data + static_cast<std::size_t>(from) * size,
                     static_cast<std::size_t>(to - from) * size);
    if (e.role == Role::kWeighted) {
        text.append(reinterpret_cast<const char*>(view.weights(c).data() + from),
                    static_cast<std::size_t>(to - from) * sizeof(float));
    }
    return text;
}

TEST(Frame, HasWhatWasWrittenAtAlignedPlaces) {
    std::mt19937_64 random(1);
    const FrameLayout layout = fullLayout();
    const FrameBuffer buffer = randomFrame(layout, random, 9);
    const Result<FrameView> view = FrameView::open(buffer.bytes());
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->rows(), 9U);
    EXPECT_EQ(view->id(), (FrameId{1, 2, 3}));
    EXPECT_EQ(view->numColumns(), 14U);
    EXPECT_EQ(view->find(Role::kWeight, "liked"), 7);
    EXPECT_EQ(view->find(Role::kMask, "liked"), 8);
    EXPECT_EQ(view->find(Role::kId, "liked"), -1);
    EXPECT_EQ(view->name(4), "genres");
    EXPECT_EQ(view->values<float>(2).size(), 27U);
    EXPECT_EQ(view->offsets(11).data(), view->offsets(12).data()) << "one group, one buffer";
    for (std::size_t c = 0; c < view->numColumns(); ++c) {
        EXPECT_EQ(view->entry(c).data.offset % (isPacked(view->entry(c).role) ? 8 : 64), 0U);
        EXPECT_EQ(view->entry(c).offsets.offset % 64, 0U);
    }
    EXPECT_EQ(buffer.size() % 64, 0U);
}

TEST(Frame, IdsAndListsLieDirectlyBehindOneAnother) {
    std::vector<ColumnSpec> columns = {
        ColumnSpec::list(Role::kWeighted, DType::kInt64, "tags"),
        ColumnSpec::fixed(Role::kLabel, DType::kFloat32, "liked"),
        ColumnSpec::fixed(Role::kId, DType::kInt64, "user"),
        ColumnSpec::list(Role::kList, DType::kInt64, "genres"),
        ColumnSpec::list(Role::kWeighted, DType::kInt64, "words"),
    };
    const FrameLayout layout = *FrameLayout::make(std::move(columns), "");
    FrameWriter writer(layout);
    const std::uint64_t sizes[] = {0, 0, 3, 0, 0, 0, 7};
    FrameBuffer buffer(*writer.declare(3, sizes));
    ASSERT_TRUE(writer.bind(buffer.bytes(), {}).ok());
    const Result<FrameView> view = FrameView::open(buffer.bytes(), CheckLevel::kDirectory);
    ASSERT_TRUE(view.ok()) << view.status();
    const std::uint64_t at = view->entry(2).data.offset;
    EXPECT_EQ(at % 64, 0U);
    EXPECT_EQ(view->entry(4).data.offset, at + 3 * 8) << "behind three tags";
    EXPECT_EQ(view->entry(5).data.offset, at + 6 * 8) << "behind three users";
    EXPECT_EQ(view->entry(6).data.offset, at + 6 * 8) << "there are no genres";
    EXPECT_EQ(view->entry(2).weights.offset, at + alignUp(13 * 8));
    EXPECT_EQ(view->entry(6).weights.offset, view->entry(2).weights.offset + 3 * 4);
    EXPECT_EQ(buffer.size(), view->entry(2).weights.offset + 64);
}

TEST(Frame, EmptyFramesAreFrames) {
    std::mt19937_64 random(1);
    const FrameBuffer buffer = randomFrame(fullLayout(), random, 0);
    const Result<FrameView> view = FrameView::open(buffer.bytes());
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->offsets(4).size(), 1U);
}

TEST(Frame, EqualContentHasEqualBytes) {
    const FrameLayout layout = fullLayout();
    std::mt19937_64 one(8), two(8);
    const FrameBuffer a = randomFrame(layout, one, 50), b = randomFrame(layout, two, 50);
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.bytes().data(), b.bytes().data(), a.size()), 0);
}

TEST(Frame, ASealSeesEveryFlippedBit) {
    std::mt19937_64 random(2);
    FrameBuffer buffer = randomFrame(fullLayout(), random, 5);
    seal(buffer.bytes());
    ASSERT_TRUE(FrameView::open(buffer.bytes()).ok());
    for (int i = 0; i < 500; ++i) {
        const std::size_t at = random() % buffer.size();
        const auto bit = static_cast<std::byte>(1U << (random() % 8));
        buffer.bytes()[at] ^= bit;
        const bool isSealFlag = at >= 28 && at < 32;
        EXPECT_TRUE(isSealFlag || !FrameView::open(buffer.bytes()).ok()) << at;
        buffer.bytes()[at] ^= bit;
    }
    EXPECT_TRUE(FrameView::open(buffer.bytes()).ok());
}

TEST(Frame, LayoutsThatCannotBeAreRefusedByName) {
    const auto refused = [](std::vector<ColumnSpec> columns, std::string_view what) {
        const Result<FrameLayout> layout = FrameLayout::make(std::move(columns), "");
        ASSERT_FALSE(layout.ok()) << what;
        EXPECT_NE(messageOf(layout.status()).find(what), std::string::npos) << layout.status();
    };
    const ColumnSpec id = ColumnSpec::fixed(Role::kId, DType::kInt64, "u");
    refused({id, id}, "'u' appears twice");
    refused({ColumnSpec::fixed(Role::kDense, DType::kFloat32, "d", 0)}, "width");
    refused({ColumnSpec::fixed(Role::kCarry, DType::kString, "s")}, "'s'");
    refused({ColumnSpec::fixed(Role::kRowFile, DType::kUint32, "f")}, "row ids");
    refused({ColumnSpec::fixed(Role::kId, DType::kInt64, std::string(2000, 'x'))}, "longer");
    EXPECT_FALSE(FrameLayout::make({}, "nothex").ok());
}

TEST(Frame, SizesThatDoNotFitAreRefused) {
    const FrameLayout layout = fullLayout();
    FrameWriter writer(layout);
    std::vector<std::uint64_t> sizes(layout.numColumns(), 5);
    EXPECT_FALSE(writer.declare(3, {}).ok());
    EXPECT_FALSE(writer.declare(kMaxRows + 1, sizes).ok());
    sizes[12] = 6;
    const auto unequal = writer.declare(3, sizes, 2);
    ASSERT_FALSE(unequal.ok());
    EXPECT_NE(messageOf(unequal.status()).find("'seconds'"), std::string::npos);
    sizes[12] = 5;
    const std::uint64_t bytes = *writer.declare(3, sizes, 2);
    FrameBuffer small(bytes - 64);
    EXPECT_FALSE(writer.bind(small.bytes(), {}).ok());
    FrameBuffer buffer(bytes + 64);
    EXPECT_FALSE(writer.bind(buffer.bytes().subspan(8), {}).ok()) << "not aligned";
}

TEST(FrameConcat, KeepsEveryRowOfRandomRanges) {
    std::mt19937_64 random(3);
    const FrameLayout layout = fullLayout();
    for (int round = 0; round < 200; ++round) {
        std::vector<FrameBuffer> buffers;
        std::vector<FrameView> views;
        for (int i = 0; i < 4; ++i) {
            buffers.push_back(
                randomFrame(layout, random, static_cast<std::uint32_t>(random() % 20)));
        }
        for (const FrameBuffer& buffer : buffers) {
            views.push_back(*FrameView::open(buffer.bytes()));
        }
        std::vector<RowRange> ranges;
        std::vector<std::pair<const FrameView*, std::uint32_t>> rows;
        for (int i = 0; i < 5; ++i) {
            const FrameView& view = views[random() % views.size()];
            const auto from = static_cast<std::uint32_t>(random() % (view.rows() + 1));
            const auto to = from + static_cast<std::uint32_t>(random() % (view.rows() - from + 1));
            ranges.push_back({&view, from, to});
            for (std::uint32_t row = from; row < to; ++row) {
                rows.emplace_back(&view, row);
            }
        }
        const Result<FrameBuffer> joined = concatRows(layout, ranges, {4, 5, 6});
        ASSERT_TRUE(joined.ok()) << joined.status();
        const Result<FrameView> view = FrameView::open(joined->bytes());
        ASSERT_TRUE(view.ok()) << view.status();
        ASSERT_EQ(view->rows(), rows.size());
        for (std::uint32_t row = 0; row < rows.size(); ++row) {
            for (std::size_t c = 0; c < view->numColumns(); ++c) {
                ASSERT_EQ(rowText(*view, c, row), rowText(*rows[row].first, c, rows[row].second))
                    << "column " << c << " row " << row;
            }
        }
    }
}

TEST(FrameConcat, RefusesOtherLayoutsAndRanges) {
    std::mt19937_64 random(3);
    const FrameLayout layout = fullLayout();
    const FrameBuffer buffer = randomFrame(layout, random, 5);
    const FrameView view = *FrameView::open(buffer.bytes());
    const std::vector<RowRange> beyond = {{&view, 2, 6}};
    EXPECT_FALSE(concatRows(layout, beyond, {}).ok());
    const std::vector<RowRange> fine = {{&view, 2, 5}};
    EXPECT_TRUE(concatRows(layout, fine, {}).ok());
    const FrameLayout other =
        *FrameLayout::make({ColumnSpec::fixed(Role::kId, DType::kInt64, "u")}, "");
    EXPECT_FALSE(concatRows(other, fine, {}).ok());
}

/// Reads everything that a checked frame offers, so that the sanitizer would see a read out of
/// bounds.
std::uint64_t readAll(const FrameView& view) {
    std::uint64_t sum = 0;
    for (std::size_t c = 0; c < view.numColumns(); ++c) {
        sum += view.name(c).size();
        for (std::uint32_t row = 0; row < view.rows(); ++row) {
            for (const char byte : rowText(view, c, row)) {
                sum += static_cast<unsigned char>(byte);
            }
        }
    }
    return sum;
}

TEST(FrameDamage, FlippedBitsNeverReadOutOfBounds) {
    std::mt19937_64 random(4);
    const FrameLayout layout = fullLayout();
    const FrameBuffer whole = randomFrame(layout, random, 7);
    FrameBuffer buffer(whole.size());
    std::uint64_t accepted = 0;
    for (int i = 0; i < 30'000; ++i) {
        std::memcpy(buffer.bytes().data(), whole.bytes().data(), whole.size());
        const std::size_t reach = i % 2 == 0 ? whole.size() : 128 + 14 * 128;
        for (std::uint64_t k = random() % 4 + 1; k > 0; --k) {
            buffer.bytes()[random() % reach] ^= static_cast<std::byte>(1U << (random() % 8));
        }
        const Result<FrameView> view = FrameView::open(buffer.bytes());
        if (view.ok()) {
            ++accepted;
            EXPECT_GE(readAll(*view), 0U);
            const std::vector<RowRange> all = {{&*view, 0, view->rows()}};
            static_cast<void>(concatRows(layout, all, {}));
        }
    }
    EXPECT_GT(accepted, 100U) << "damage in the values alone is not a damage to the frame";
}

TEST(FrameDamage, CutOffFramesAreRefused) {
    std::mt19937_64 random(4);
    const FrameBuffer whole = randomFrame(fullLayout(), random, 7);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        FrameBuffer cut(size);
        std::memcpy(cut.bytes().data(), whole.bytes().data(), size);
        EXPECT_FALSE(FrameView::open(cut.bytes()).ok()) << size;
    }
    EXPECT_FALSE(FrameView::open(whole.bytes().subspan(4)).ok()) << "misaligned";
}

}  // namespace
}  // namespace millrace::frame
