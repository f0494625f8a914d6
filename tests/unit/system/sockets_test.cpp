#include <atomic>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/core/log.h"
#include "backend/filesystem/files.h"
#include "backend/system/unix_listener.h"
#include "backend/system/unix_socket.h"
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

// Connections that nobody accepts, until the listener's queue is full.
std::vector<UniqueFd> fillQueue(const std::string& path) {
    std::vector<UniqueFd> held;
    for (int i = 0; i < 10'000; ++i) {
        Result<UniqueFd> one = connectUnixNonBlocking(path);
        if (!one.ok()) {
            EXPECT_EQ(one.status().code(), absl::StatusCode::kUnavailable);
            break;
        }
        held.push_back(std::move(*one));
    }
    return held;
}

TEST(UnixSocket, AFullQueueIsUnavailableAfterTheLimitAndNotAWaitWithoutEnd) {
    const TempDir dir;
    const auto listener = listenUnix(dir / "s", 2);
    const std::vector<UniqueFd> held = fillQueue(dir / "s");
    ASSERT_FALSE(held.empty());
    const auto late = connectUnix(dir / "s", std::chrono::milliseconds(20));
    EXPECT_EQ(late.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(messageOf(late.status()).find("may be stopped"), std::string_view::npos);
}

TEST(UnixSocket, ASocketWithAFullQueueIsNotTakenOver) {
    const TempDir dir;
    const auto listener = listenUnix(dir / "s", 2);
    const std::vector<UniqueFd> held = fillQueue(dir / "s");
    EXPECT_EQ(listenUnix(dir / "s").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(UnixSocket, WhatOtherThreadsMakeMeanwhileHasItsOwnMode) {
    const TempDir dir;
    std::atomic<bool> isOver{false};
    std::thread binder([&] {
        for (int i = 0; i < 2'000; ++i) {
            EXPECT_TRUE(listenUnix(dir / "s").ok());
        }
        isOver = true;
    });
    int numWrong = 0;
    while (!isOver) {
        struct stat info{};
        if (::mkdir((dir / "d").c_str(), 0700) == 0 && ::stat((dir / "d").c_str(), &info) == 0) {
            numWrong += (info.st_mode & 0777) != 0700 ? 1 : 0;
        }
        ::rmdir((dir / "d").c_str());
    }
    binder.join();
    EXPECT_EQ(numWrong, 0);
}

TEST(UnixSocket, AnothersSocketIsNotSpokenTo) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "being another user needs root";
    }
    const TempDir dir;
    ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
    int ready[2], over[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(over), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(over[1]);
        const bool isOther = ::setgid(65534) == 0 && ::setuid(65534) == 0;
        const auto listener = listenUnix(dir / "s");
        char word = isOther && listener.ok() ? 'y' : 'n';
        [[maybe_unused]] ssize_t n = ::write(ready[1], &word, 1);
        n = ::read(over[0], &word, 1);
        ::_exit(0);
    }
    char word = 0;
    ASSERT_EQ(::read(ready[0], &word, 1), 1);
    EXPECT_EQ(word, 'y');
    EXPECT_TRUE(connectUnix(dir / "s").ok());
    const auto theirs = connectOwnUnix(dir / "s");
    EXPECT_EQ(theirs.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_NE(messageOf(theirs.status()).find("served by another user (uid 65534)"),
              std::string_view::npos)
        << theirs.status();
    ::close(over[1]);
    ::waitpid(child, nullptr, 0);
    for (const int fd : {ready[0], ready[1], over[0]}) {
        ::close(fd);
    }
}

TEST(UnixSocket, ADirectoryThatOthersMayWriteToIsNotSafeForASocket) {
    const TempDir dir;
    const auto listener = listenUnix(dir / "s");
    EXPECT_TRUE(connectOwnUnix(dir / "s").ok());
    ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
    EXPECT_EQ(connectOwnUnix(dir / "s").status().code(), absl::StatusCode::kPermissionDenied);
    ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
    EXPECT_TRUE(connectOwnUnix(dir / "s").ok()) << "sticky: nobody can replace it";
}

// Without descriptors accept() fails while poll() keeps reporting the waiting peer.
TEST(UnixListener, RestsWhileTheProcessIsOutOfDescriptors) {
    const TempDir dir;
    auto listener = UnixListener::open(dir / "s", "test");
    ASSERT_TRUE(listener.ok()) << listener.status();
    const auto client = connectUnix(dir / "s");
    ASSERT_TRUE(client.ok());
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    logInfo("test: descriptors run out", {});  // UBSan needs one for its first look at a class
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(client->get() + 1);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_FALSE(listener->accept().has_value());
    const auto now = std::chrono::steady_clock::now();
    EXPECT_EQ(listener->pollFd(now), -1);
    EXPECT_GT(pollTimeout(now, listener->wakeAt(now)), 0);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ::poll(nullptr, 0, pollTimeout(now, listener->wakeAt(now)));
    pollfd item{listener->pollFd(std::chrono::steady_clock::now()), POLLIN, 0};
    EXPECT_EQ(::poll(&item, 1, 0), 1) << "the peer still waits";
    EXPECT_TRUE(listener->accept().has_value());
    EXPECT_FALSE(listener->accept().has_value()) << "nobody else; and it does not block";
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
