// Files that the first version of each format wrote are read, and today's programs still write that
// version. A change of one byte of a format needs a new version (docs/formats/compatibility.md).
#include <filesystem>

#include <gmock/gmock.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/filesystem/files.h"
#include "backend/frame/codec.h"
#include "backend/runs/run_store.h"
#include "backend/text/text.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/formats/golden_values.h"

namespace millrace::golden {
namespace {

std::string fileText(const std::string& name) {
    const Result<std::string> text = readFile(directory() + "/" + name);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
}

std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Aligned as frames must be.
frame::FrameBuffer alignedCopy(const std::string& bytes) {
    frame::FrameBuffer buffer(bytes.size());
    std::memcpy(buffer.bytes().data(), bytes.data(), bytes.size());
    return buffer;
}

TEST(Golden, AJobIsReadAndWrittenAsItWas) {
    const std::string text = fileText("job.json");
    const Result<job::JobFile> read = job::JobFile::fromText(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->run, "r-abc23");
    EXPECT_EQ(read->attempt, 2);
    EXPECT_EQ(read->spec.batch.epochs, 3);
    EXPECT_EQ(read->planText, job().planText);
    EXPECT_EQ(job().toText(), text);
}

TEST(Golden, ACursorIsReadAndWrittenAsItWas) {
    const std::string text = fileText("cursor.json");
    const Result<stream::StreamState> read = stream::readState(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->cursor, state().cursor);
    EXPECT_EQ(read->orderHash, state().orderHash);
    EXPECT_EQ(read->sums.counts, state().sums.counts);
    EXPECT_EQ(read->toText(), text);
    EXPECT_EQ(state().toText(), text);
}

TEST(Golden, AReceiptIsWrittenAsItWas) {
    EXPECT_EQ(dumpJson(receipt().toJson()), fileText("receipt.json"));
}

TEST(Golden, ACheckpointIsReadAndWrittenAsItWas) {
    const std::string text = fileText(kCheckpointName);
    const auto content =
        checkpoint::readContent(checkpoint::FileBytes::ofMemory(text, kCheckpointName));
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(content->meta, checkpointMeta());
    EXPECT_EQ(content->facts.state, state().toText());
    ASSERT_EQ(content->tensors.size(), 1U);
    const checkpoint::StoredTensor& tensor = content->tensors[0];
    EXPECT_EQ(tensor.name, "top.0.weight");
    EXPECT_TRUE(tensor.isWeight);
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(std::memcmp(text.data() + tensor.begin, weights().data(), tensor.bytes), 0);
    const tests::TempDir directory;
    ASSERT_TRUE(writeCheckpoint(directory / "one").ok());
    EXPECT_EQ(*readFile(directory / "one"), text);
}

TEST(Golden, AFrameIsReadAndWrittenAsItWas) {
    const frame::FrameBuffer buffer = alignedCopy(fileText("frame.bin"));
    const auto view = frame::FrameView::open(buffer.bytes());
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->id(), (frame::FrameId{1, 9, 3}));
    const int user = view->find(frame::Role::kId, "user");
    ASSERT_GE(user, 0);
    EXPECT_EQ(view->values<std::int64_t>(static_cast<std::size_t>(user))[3], 21);
    const frame::FrameBuffer written = frameBytes();
    EXPECT_EQ(textOf(written.bytes()), textOf(buffer.bytes()));
}

TEST(Golden, ACodedFrameIsRead) {
    const std::string coded = fileText("coded_frame.bin");
    const auto bytes = std::as_bytes(std::span(coded));
    const auto size = frame::FrameDecoder::frameBytes(bytes, 1 << 20);
    ASSERT_TRUE(size.ok()) << size.status();
    frame::FrameBuffer buffer(*size);
    frame::FrameDecoder decoder;
    ASSERT_TRUE(decoder.decode(bytes, buffer.bytes()).ok());
    EXPECT_EQ(textOf(buffer.bytes()), fileText("frame.bin"));
}

TEST(Golden, AStoreIsOpenedWithAllThatIsInIt) {
    const tests::TempDir directory;
    const std::string path = directory / "runs.sqlite";
    std::filesystem::copy_file(golden::directory() + "/store.sqlite", path);
    const FakeClock clock;
    const auto store = runs::RunStore::open(path, clock);
    ASSERT_TRUE(store.ok()) << store.status();
    const Result<std::string> id = (*store)->findId("films");
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_EQ((*store)->get(*id)->owner, "ada");
    EXPECT_EQ((*store)->metrics(*id, "loss")->points.size(), 2u);
}

// The zstd library decides the bytes of its frames, so the test compares only their content.
TEST(Golden, ScoresAreRead) {
    const Result<scores::Scores> read = scores::readScores(directory() + "/scores-400.a1.zst");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, evaluationScores());
}

// Today's readers ignore fields that later versions will add, so that each format's version needs
// one increment only.
TEST(Golden, RoomThatIsHeldIsRefusedByNobody) {
    Json job = Json::parse(fileText("job.json"));
    job["credentials"] = "/run/keys/store";
    job["codecs"] = {{"genres", "lz4"}};
    EXPECT_TRUE(job::JobFile::fromText(dumpJson(job)).ok());

    Json state = Json::parse(fileText("cursor.json"));
    state["generation"] = 2;
    EXPECT_TRUE(stream::readState(dumpJson(state)).ok());

    frame::FrameBuffer buffer = frameBytes();
    constexpr std::size_t kCostAt = 80;
    const std::uint64_t cost = 123'456;
    std::memcpy(buffer.bytes().data() + kCostAt, &cost, sizeof cost);
    frame::seal(buffer.bytes());
    EXPECT_TRUE(frame::FrameView::open(buffer.bytes()).ok());
}

TEST(Golden, AVersionThatNobodyKnowsYetIsRefusedEverywhere) {
    Json job = Json::parse(fileText("job.json"));
    job["version"] = 2;
    EXPECT_FALSE(job::JobFile::fromText(dumpJson(job)).ok());

    Json state = Json::parse(fileText("cursor.json"));
    state["version"] = 3;
    EXPECT_FALSE(stream::readState(dumpJson(state)).ok());
    state["version"] = 2;
    state["cursor"]["version"] = 3;
    EXPECT_FALSE(stream::readState(dumpJson(state)).ok());

    frame::FrameBuffer buffer = alignedCopy(fileText("frame.bin"));
    for (const int other : {1, 3}) {
        buffer.bytes()[4] = static_cast<std::byte>(other);
        EXPECT_FALSE(frame::FrameView::open(buffer.bytes()).ok());
    }

    std::string newer = fileText(kCheckpointName);
    newer[newer.find("checkpoint-2") + 11] = '3';
    const Status status =
        checkpoint::readContent(checkpoint::FileBytes::ofMemory(newer, "newer")).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(messageOf(status)), ::testing::HasSubstr("format version 3"));
}

}  // namespace
}  // namespace millrace::golden
