#pragma once
// The content of the golden files of tests/golden/formats as values: the maker writes them, the
// tests expect them.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/frame/frame.h"
#include "backend/job/job_file.h"
#include "backend/scores/score_file.h"
#include "backend/stream/read_state.h"
#include "backend/stream/receipt.h"

namespace millrace::golden {

inline constexpr const char* kCheckpointName = "step-00000005.a2.safetensors";

inline std::string directory() {
    return MILLRACE_SOURCE_DIR "/tests/golden/formats";
}

inline scores::Scores evaluationScores() {
    return {400,
            1'000,
            "0123456789abcdef0123456789abcdef",
            {3, 500, 0xffff'ffff'ffff'0000},
            {{"liked", {0.25F, 0.5F, 0.75F}, {0, 1, 1}}, {"seen", {0, 1, 0.5F}, {1, 0, 1}}}};
}

inline stream::StreamState state() {
    stream::StreamState state;
    state.cursor = stream::Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
    state.cursor.epoch = 1;
    state.cursor.next = 40;
    state.cursor.segment = 9;
    state.cursor.offset = 3;
    state.cursor.rest = {{4, 100}, {7, 50}};
    state.orderHash = *stream::OrderHash::fromHex("0123456789abcdef0123456789abcdef");
    state.rowsDelivered = 10'240;
    state.sums.segments = 9;
    state.sums.rowsScanned = 90'000;
    state.sums.rowsPruned = 500;
    state.sums.rowsKept = 20'000;
    state.sums.steps = {{90'000, 60'000}, {60'000, 20'000}};
    state.sums.counts = {{"ids/genres", 41'000}, {"step/1/null", 900}, {"unknown/genres", 12}};
    return state;
}

inline stream::Receipt receipt() {
    stream::Plan plan;
    plan.files = {{"/data/a.parquet", "a.parquet", 4'096, std::string(32, 'c'), 90'000, {}}};
    plan.sideTables = {{"/data/films.csv", 512, std::string(32, 'd')}};
    return stream::Receipt::of(plan, state(), {"where", "filter"}, 10'240);
}

inline job::JobFile job() {
    job::JobFile job;
    job.run = "r-abc23";
    job.uid = "0123456789abcdef";
    job.attempt = 2;
    job.spec.name = "films";
    job.spec.batch.epochs = 3;
    job.specHash = std::string(32, 'e');
    job.streamHash = std::string(32, 'a');
    job.planHash = std::string(32, 'b');
    job.planText = R"({"files":[]})";
    job.resume = std::string("/runs/r-abc23/checkpoints/") + kCheckpointName;
    job.checkpointDirectory = "/runs/r-abc23/checkpoints";
    job.rankSocket = "/runs/r-abc23/a2/rank.sock";
    job.feedSocket = "/runs/r-abc23/a2/feed.sock";
    return job;
}

inline frame::FrameLayout layout() {
    return *frame::FrameLayout::make(
        {frame::ColumnSpec::fixed(frame::Role::kId, frame::DType::kInt64, "user"),
         frame::ColumnSpec::list(frame::Role::kList, frame::DType::kInt64, "genres"),
         frame::ColumnSpec::fixed(frame::Role::kLabel, frame::DType::kFloat32, "liked"),
         frame::ColumnSpec::fixed(frame::Role::kWeight, frame::DType::kFloat32, "liked"),
         frame::ColumnSpec::fixed(frame::Role::kMask, frame::DType::kUint8, "liked")},
        std::string(32, 'a'));
}

/// Four rows, sealed.
inline frame::FrameBuffer frameBytes() {
    const frame::FrameLayout layout = golden::layout();
    frame::FrameWriter writer(layout);
    const std::vector<std::uint64_t> values = {0, 0, 0, 6, 0, 0, 0};
    frame::FrameBuffer buffer(*writer.declare(4, values));
    EXPECT_TRUE(writer.bind(buffer.bytes(), {1, 9, 3}).ok());
    for (std::uint32_t row = 0; row < 4; ++row) {
        writer.values<std::uint32_t>(0)[row] = 0;
        writer.values<std::uint64_t>(1)[row] = 100 + row;
        writer.values<std::int64_t>(2)[row] = 7 * row;
        writer.values<float>(4)[row] = row % 2 == 0 ? 1.0F : 0.0F;
        writer.values<float>(5)[row] = 1.0F;
        writer.values<std::uint8_t>(6)[row] = 1;
    }
    for (std::size_t i = 0; i < 6; ++i) {
        writer.values<std::int64_t>(3)[i] = static_cast<std::int64_t>(i);
    }
    const std::int64_t offsets[] = {0, 2, 2, 5, 6};
    std::memcpy(writer.offsets(3).data(), offsets, sizeof offsets);
    frame::seal(buffer.bytes());
    return buffer;
}

inline const std::vector<float>& weights() {
    static const std::vector<float> kWeights = {0.5F, -1.25F, 3.0F, 0.0F};
    return kWeights;
}

inline Json checkpointMeta() {
    return {{"step", 5},
            {"attempt", 2},
            {"epoch", 1},
            {"next_micro_batch", 40},
            {"rows", 10'240},
            {"state", state().toText()},
            {"unacked", Json::array()},
            {"identity", {{"run", "r-abc23"}, {"stream_hash", std::string(32, 'a')}}}};
}

/// Writes a checkpoint with these values and one tensor.
inline Status writeCheckpoint(const std::string& path) {
    const std::size_t bytes = weights().size() * sizeof(float);
    return checkpoint::writeCheckpointFile(path, checkpointMeta(),
                                           {{"top.0.weight",
                                             checkpoint::DType::kFloat32,
                                             {2, 2},
                                             true,
                                             weights().data(),
                                             bytes}})
        .status();
}

}  // namespace millrace::golden
