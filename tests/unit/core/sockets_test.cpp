#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/core/files.h"
#include "backend/core/unix_socket.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using tests::TempDir;

UniqueFd acceptOne(const UniqueFd& listener) {
    return UniqueFd(::accept(listener.get(), nullptr, nullptr));
}

TEST(UnixSocket, WorksInADirectoryDeeperThanASocketName) {
    const TempDir dir;
    const std::string deep = dir / (std::string(60, 'a') + "/" + std::string(60, 'b'));
    ASSERT_TRUE(makeDirectories(deep).ok());
    const auto listener = listenUnix(deep + "/s.sock");
    ASSERT_TRUE(listener.ok()) << listener.status();
    const auto client = connectUnix(deep + "/s.sock");
    ASSERT_TRUE(client.ok()) << client.status();
    const UniqueFd server = acceptOne(*listener);
    EXPECT_EQ(peerUid(server.get()).value(), ::geteuid());
}

TEST(UnixSocket, IsForItsUserOnly) {
    const TempDir dir;
    const auto listener = listenUnix(dir / "s");
    struct stat info{};
    ASSERT_EQ(::stat((dir / "s").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST(UnixSocket, ALiveSocketIsNotTakenOver) {
    const TempDir dir;
    const auto first = listenUnix(dir / "s");
    EXPECT_EQ(listenUnix(dir / "s").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(UnixSocket, ADeadSocketIsReplaced) {
    const TempDir dir;
    {
        const auto first = listenUnix(dir / "s");
    }
    EXPECT_TRUE(listenUnix(dir / "s").ok());
}

TEST(UnixSocket, NobodyThereIsUnavailableAndNoPathIsNotFound) {
    const TempDir dir;
    {
        const auto first = listenUnix(dir / "s");
    }
    EXPECT_EQ(connectUnix(dir / "s").status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(connectUnix(dir / "t").status().code(), absl::StatusCode::kNotFound);
}

TEST(UnixSocket, PassesDescriptors) {
    const TempDir dir;
    const auto listener = listenUnix(dir / "s");
    const auto client = connectUnix(dir / "s");
    const UniqueFd server = acceptOne(*listener);
    ASSERT_TRUE(writeFileAtomic(dir / "file", "through a socket").ok());
    const UniqueFd file(::open((dir / "file").c_str(), O_RDONLY));
    ASSERT_TRUE(sendWithFds(client->get(), "x", {file.get()}).ok());
    std::vector<UniqueFd> passed;
    EXPECT_EQ(receiveWithFds(server.get(), 100, passed).value(), "x");
    ASSERT_EQ(passed.size(), 1U);
    char text[32] = {};
    EXPECT_EQ(::read(passed[0].get(), text, sizeof text), 16);
    EXPECT_STREQ(text, "through a socket");
}

}  // namespace
}  // namespace millrace
