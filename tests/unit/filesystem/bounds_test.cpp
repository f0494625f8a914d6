// Limits of a process for its input and environment: depth and size of JSON, exit codes,
// directories of other users.
#include <cerrno>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/core/exit_codes.h"
#include "backend/filesystem/directories.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/text/json_bounds.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using tests::TempDir;

std::string nested(int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
}

TEST(JsonBounds, ATextNestedTooDeepIsRefusedBeforeItIsBuilt) {
    EXPECT_TRUE(parseJson(nested(64), "text").ok());
    const Status deep = parseJson(nested(1'000'000), "text").status();
    EXPECT_EQ(deep.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(messageOf(deep).find("text: brackets are nested too deep; at most 64"),
              std::string_view::npos)
        << deep;
    EXPECT_FALSE(parseBounded(nested(4), "text", {100, 3}).ok());
}

TEST(JsonBounds, ATextOverTheLimitIsRefusedWithBothNumbers) {
    const Status large = parseBounded("[1, 2, 3]", "text", {8}).status();
    EXPECT_EQ(messageOf(large), "text: has 9 bytes; at most 8 are taken");
    EXPECT_TRUE(parseBounded("[1, 2, 3]", "text", {9}).ok());
}

TEST(JsonBounds, BracketsInsideOfStringsDoNotCount) {
    const std::string text = "[\"" + std::string(200, '[') + "\\\"" + std::string(200, '{') + "\"]";
    EXPECT_TRUE(parseBounded(text, "text", {1000, 2}).ok());
}

TEST(ExitCodes, EachKindOfErrorHasItsCodeAndAFullDiskIsNotInput) {
    EXPECT_EQ(workerExitOf(okStatus()), kExitDone);
    EXPECT_EQ(workerExitOf(cancelled("stopped")), kExitStopped);
    EXPECT_EQ(workerExitOf(invalidArgument("x")), kExitInput);
    EXPECT_EQ(workerExitOf(notFound("x")), kExitInput);
    EXPECT_EQ(workerExitOf(dataLoss("x")), kExitInput);
    EXPECT_EQ(workerExitOf(failedPrecondition("x")), kExitInput);
    EXPECT_EQ(workerExitOf(permissionDenied("x")), kExitInput);
    EXPECT_EQ(workerExitOf(resourceExhausted("x")), kExitResources);
    EXPECT_EQ(workerExitOf(errnoStatus(ENOSPC, "x")), kExitResources);
    EXPECT_EQ(workerExitOf(errnoStatus(EDQUOT, "x")), kExitResources);
    EXPECT_EQ(workerExitOf(errnoStatus(EFBIG, "x")), kExitResources);
    EXPECT_EQ(workerExitOf(errnoStatus(ENOMEM, "x")), kExitResources);
    EXPECT_EQ(workerExitOf(errnoStatus(EMFILE, "x")), kExitResources);
    EXPECT_EQ(workerExitOf(errnoStatus(EIO, "x")), kExitOther);
    EXPECT_EQ(workerExitOf(unavailable("x")), kExitOther);
    EXPECT_EQ(workerExitOf(internalError("x")), kExitOther);
    for (const int code :
         {kExitDone, kExitUsage, kExitStopped, kExitInput, kExitOther, kExitResources, kExitShim}) {
        EXPECT_FALSE(meaningOf(code).empty()) << code;
    }
    EXPECT_TRUE(meaningOf(77).empty());
}

TEST(ExitCodes, AnExceptionOfAWorkerEndsInASentence) {
    EXPECT_EQ(endInWords("p", [] { return 3; }), 3);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(endInWords("millrace-x", []() -> int { throw std::runtime_error("too many links"); }),
              kExitOther);
    EXPECT_EQ(endInWords("millrace-x", []() -> int { throw std::bad_alloc(); }), kExitResources);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "millrace-x: too many links\nmillrace-x: out of memory (std::bad_alloc)\n");
}

class EnvironmentTest : public ::testing::Test {
 protected:
    EnvironmentTest() {
        for (const char* name : kNames) {
            const char* value = std::getenv(name);
            before_.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
            ::unsetenv(name);
        }
    }
    ~EnvironmentTest() override {
        for (std::size_t i = 0; i < before_.size(); ++i) {
            if (before_[i]) {
                ::setenv(kNames[i], before_[i]->c_str(), 1);
            } else {
                ::unsetenv(kNames[i]);
            }
        }
    }

 private:
    static constexpr const char* kNames[] = {"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"};
    std::vector<std::optional<std::string>> before_;
};

TEST_F(EnvironmentTest, WithoutAHomeNothingIsKeptInASharedPlace) {
    const Result<std::string> state = stateDirectory();
    EXPECT_EQ(state.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(messageOf(state.status()).find("HOME"), std::string_view::npos);
    EXPECT_EQ(cacheDirectory("facts"), "");
    ::setenv("XDG_STATE_HOME", "/somewhere", 1);
    EXPECT_EQ(*stateDirectory(), "/somewhere/millrace");
}

TEST_F(EnvironmentTest, ACacheThatOthersMayWriteToIsNotUsed) {
    const TempDir home;
    ::setenv("HOME", home.path().c_str(), 1);
    const std::string cache = home / ".cache/millrace";
    EXPECT_EQ(cacheDirectory("facts"), cache + "/facts");
    ASSERT_EQ(::chmod(cache.c_str(), 0755), 0);
    EXPECT_EQ(cacheDirectory("facts"), cache + "/facts") << "others may read it";
    ASSERT_EQ(::chmod(cache.c_str(), 0777), 0);
    EXPECT_EQ(cacheDirectory("facts"), "");
}

TEST(Directories, AnothersDirectoryIsRefused) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "giving a directory away needs root";
    }
    const TempDir dir;
    ASSERT_TRUE(makeDirectories(dir / "theirs", 0700).ok());
    ASSERT_EQ(::chown((dir / "theirs").c_str(), 65534, 65534), 0);
    EXPECT_EQ(makeOwnDirectory(dir / "theirs").code(), absl::StatusCode::kPermissionDenied);
}

TEST(Directories, ADirectoryIsSyncedOrItsTroubleIsTold) {
    const TempDir dir;
    EXPECT_TRUE(syncDirectory(dir.path()).ok());
    EXPECT_TRUE(syncParent(dir / "file").ok());
    EXPECT_EQ(syncDirectory(dir / "none").code(), absl::StatusCode::kNotFound);
}

TEST(Directories, NetworkFileSystemsAreKnownByTheirNumbers) {
    EXPECT_EQ(networkFileSystemName(0x6969), "nfs");
    EXPECT_EQ(networkFileSystemName(static_cast<std::int32_t>(0xFF534D42)), "cifs");
    EXPECT_EQ(networkFileSystemName(0xEF53), "") << "ext4";
    EXPECT_EQ(networkFileSystemName(0x01021994), "") << "tmpfs";
    EXPECT_EQ(networkFileSystemOf("/proc"), "");
}

}  // namespace
}  // namespace millrace
