#include "backend/system/local_peer_gate.h"

#include <atomic>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/system/unix_socket.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using test::eventually;

class LocalPeerGateTest : public ::testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(makePrivateDirectory(folder_).ok());
        auto gate = LocalPeerGate::open(
            path_,
            [this](int fd) {
                ::close(fd);
                ++numTaken_;
            },
            milliseconds(5));
        ASSERT_TRUE(gate.ok()) << gate.status();
        gate_ = std::move(*gate);
    }
    /// Connects as a client does; waits until the gate has passed the connection on.
    bool comesIn() {
        const int before = numTaken_;
        return connectOwnUnix(path_).ok() && eventually([&] { return numTaken_ > before; });
    }

    const tests::TempDir dir_;
    const std::string folder_ = dir_ / "millrace", path_ = folder_ + "/millraced.sock";
    std::atomic<int> numTaken_{0};
    std::unique_ptr<LocalPeerGate> gate_;
};

TEST_F(LocalPeerGateTest, LetsItsUserIn) {
    EXPECT_TRUE(comesIn());
    gate_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
}

// systemd-logind does this at the user's last logout.
TEST_F(LocalPeerGateTest, MakesItsSocketAgainWhenTheRuntimeDirectoryWasRemoved) {
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(eventually([&] { return comesIn(); }));
    struct stat info{};
    ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(LocalPeerGateTest, MakesNoSocketInADirectoryThatOthersMayWriteTo) {
    // Another user may replace a directory under /tmp that was removed.
    ASSERT_TRUE(makeDirectories(dir_ / "open", 0700).ok());
    ASSERT_EQ(::chmod((dir_ / "open").c_str(), 0777), 0);
    ASSERT_TRUE(eventually([&] {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
        std::filesystem::rename(dir_ / "open", folder_, error);
        return !error;
    }));
    EXPECT_FALSE(eventually([&] { return std::filesystem::exists(path_); }, milliseconds(60)));
    ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
    EXPECT_TRUE(eventually([&] { return comesIn(); }));
}

TEST_F(LocalPeerGateTest, GoesOnTryingWhileTheSocketCannotBeMade) {
    // A file has the name of the removed directory.
    ASSERT_TRUE(writeFileAtomic(dir_ / "aside", "").ok());
    ASSERT_TRUE(eventually([&] {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
        std::filesystem::rename(dir_ / "aside", folder_, error);
        return !error;
    }));
    EXPECT_FALSE(connectOwnUnix(path_).ok());
    ASSERT_TRUE(std::filesystem::remove(folder_));
    EXPECT_TRUE(eventually([&] { return comesIn(); }));
}

}  // namespace
}  // namespace millrace
