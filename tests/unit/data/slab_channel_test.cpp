// Slabs that are passed to a feed: announced before they are used, known by session, refused
// otherwise.
#include "daemon/worker/data/slab_channel.h"

#include <cstring>
#include <optional>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "backend/core/thread.h"
#include "backend/system/local_peer_gate.h"
#include "tests/support/temp_dir.h"

namespace millrace::data {
namespace {

constexpr char kSession[] = "0123456789abcdef";

class SlabChannel : public ::testing::Test {
 protected:
    void SetUp() override {
        auto gate = LocalPeerGate::open(slabSocket(path_), [this](int fd) { taken(UniqueFd(fd)); });
        ASSERT_TRUE(gate.ok()) << gate.status();
        gate_ = std::move(*gate);
    }
    void taken(UniqueFd fd) {
        if (SlabReader::sessionOf(fd.get()) == kSession) {
            reader_.emplace(std::move(fd));
            EXPECT_TRUE(reader_->accept().ok());
        }
    }
    tests::TempDir directory_;
    const std::string path_ = directory_ / "data.sock";
    std::optional<SlabReader> reader_;
    std::unique_ptr<LocalPeerGate> gate_;
};

TEST_F(SlabChannel, ASlabThatWasShownIsFound) {
    const auto sender = SlabSender::connect(path_, kSession);
    ASSERT_TRUE(sender.ok()) << sender.status();
    const auto show = [&](std::uint32_t id, std::uint64_t bytes) {
        segment::FrameSlab slab(*SharedMemory::make("test", bytes), id);
        std::memset(slab.memory().bytes().data(), static_cast<int>(id), bytes);
        EXPECT_TRUE((*sender)->show(slab).ok());
    };
    show(3, 4096);
    show(4, 8192);
    for (const std::uint32_t id : {4U, 3U, 4U}) {
        const auto found = reader_->find(id);
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_EQ((*found)->size(), id == 3 ? 4096U : 8192U);
        EXPECT_EQ((*found)->memory().bytes()[1000], std::byte(id));
    }
    EXPECT_EQ(reader_->find(5).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SlabChannel, AnotherSessionIsToldThatItIsNotKnown) {
    const auto sender = SlabSender::connect(path_, "another session!");
    EXPECT_EQ(sender.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_FALSE(reader_);
}

TEST_F(SlabChannel, WithoutAFeedThereIsNoChannel) {
    gate_.reset();
    EXPECT_FALSE(SlabSender::connect(path_, kSession).ok());
}

}  // namespace
}  // namespace millrace::data
