// Codecs of a feed's link are chosen once, from what a worker measured and how fast it came.
#include "daemon/worker/data/link_codecs.h"

#include <gtest/gtest.h>

#include "daemon/worker/data/codec_messages.h"
#include "daemon/worker/data/codec_probe.h"

namespace millrace::data {
namespace {

using frame::Codec;
using frame::CodecChoice;

constexpr CodecChoice kNone{Codec::kNone, 0}, kZstd{Codec::kZstd, 1};

// One megabyte per column; zstd reduces it to a tenth in 10 ms.
frame::CodecMeasures measures(std::size_t columns) {
    return {columns,
            {{kNone, 1'000'000, 1'000'000, 1e5, 1e5}, {kZstd, 1'000'000, 100'000, 7e6, 3e6}}};
}

constexpr wire::Traffic kSlow{20'000'000, 1'000'000'000}, kFast{2'000'000'000, 1'000'000'000};

TEST(LinkCodecs, AreChosenOnceForTheLinkAsItWasSeen) {
    LinkCodecs slow(true), fast(true);
    for (LinkCodecs* codecs : {&slow, &fast}) {
        EXPECT_TRUE(codecs->wantsMeasures());
        EXPECT_FALSE(codecs->choose(kSlow)) << "before anything is measured";
        EXPECT_TRUE(codecs->measured(measures(2), 2));
        EXPECT_FALSE(codecs->wantsMeasures());
    }
    EXPECT_TRUE(slow.choose(kSlow));
    EXPECT_EQ(slow.plan(), (frame::CodecPlan{kZstd, kZstd}));
    EXPECT_EQ(slow.linkBytesPerSecond(), 20e6);
    EXPECT_EQ(slow.text(), "zstd:1 2");
    EXPECT_TRUE(fast.choose(kFast));
    EXPECT_EQ(fast.plan(), (frame::CodecPlan{kNone, kNone}));
    EXPECT_FALSE(slow.choose(kFast)) << "chosen already";
    EXPECT_EQ(slow.linkBytesPerSecond(), 20e6);
}

TEST(LinkCodecs, AreNotChosenBeforeTheLinkIsKnown) {
    LinkCodecs codecs(true);
    ASSERT_TRUE(codecs.measured(measures(1), 1));
    EXPECT_FALSE(codecs.choose({0, 2 * LinkCodecs::kLeastNs}));
    EXPECT_FALSE(codecs.choose({LinkCodecs::kLeastBytes - 1, LinkCodecs::kLeastNs - 1}));
    EXPECT_TRUE(codecs.choose({LinkCodecs::kLeastBytes, 1}));
}

TEST(LinkCodecs, WithoutANetworkNothingIsMeasured) {
    EXPECT_FALSE(LinkCodecs(false).wantsMeasures());
}

TEST(LinkCodecs, MeasuresOfAnotherLayoutAreRefused) {
    LinkCodecs codecs(true);
    EXPECT_FALSE(codecs.measured(measures(3), 2));
    frame::CodecMeasures lacking = measures(2);
    lacking[1].clear();
    EXPECT_FALSE(codecs.measured(lacking, 2));
    EXPECT_TRUE(codecs.wantsMeasures());
}

TEST(CodecMessages, ComeAsTheyWereSent) {
    v1::WorkerReport report;
    toMessage(measures(2), report);
    const auto read = measuresOf(report);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ((*read)[1][1].choice, kZstd);
    EXPECT_EQ((*read)[1][1].codedBytes, 100'000U);
    EXPECT_EQ((*read)[1][1].encodeNs, 7e6);

    v1::Codecs message;
    toMessage(frame::CodecPlan{kNone, kZstd}, message);
    EXPECT_EQ(codecsOf(message, 2).value(), (frame::CodecPlan{kNone, kZstd}));
    EXPECT_EQ(codecsOf(message, 3).status().code(), absl::StatusCode::kDataLoss);
    message.set_columns(0, "gzip");
    EXPECT_EQ(codecsOf(message, 2).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_TRUE(codecsOf(v1::Codecs(), 2)->empty());
}

TEST(CodecProbe, MeasuresTheFirstFramesOnceItIsWanted) {
    const auto layout = *frame::FrameLayout::make(
        {frame::ColumnSpec::fixed(frame::Role::kDense, frame::DType::kFloat32, "dense", 4)},
        std::string(32, 'b'));
    frame::FrameWriter writer(layout);
    std::vector<std::uint64_t> sizes(layout.numColumns(), 0);
    frame::FrameBuffer buffer(*writer.declare(64, sizes, 0));
    ASSERT_TRUE(writer.bind(buffer.bytes(), {}).ok());
    const auto view = frame::FrameView::open(buffer.bytes(), frame::CheckLevel::kDirectory);
    ASSERT_TRUE(view.ok()) << view.status();
    CodecProbe probe(layout);
    const auto add = [&](int frames) {
        for (int f = 0; f < frames; ++f) {
            probe.add(*view);
        }
    };
    add(10);
    EXPECT_FALSE(probe.take()) << "nobody wants them";
    probe.wanted();
    add(3);
    EXPECT_FALSE(probe.take());
    add(1);
    const auto measures = probe.take();
    ASSERT_TRUE(measures);
    EXPECT_EQ(measures->size(), layout.numColumns());
    EXPECT_GT((*measures)[0].size(), 1U);
    EXPECT_GT((*measures)[0][0].bytes, 0U);
    EXPECT_FALSE(probe.take()) << "taken once";
}

}  // namespace
}  // namespace millrace::data
