#include "backend/filesystem/files.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "backend/filesystem/paths.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using tests::TempDir;

TEST(Files, WhatIsWrittenIsReadBack) {
    const TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "a", "one").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "a", "two").ok());
    EXPECT_EQ(readFile(dir / "a").value(), "two");
}

TEST(Files, AMissingFileIsNotFoundByName) {
    const auto result = readFile("/no/such/file");
    EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
    EXPECT_NE(messageOf(result.status()).find("/no/such/file"), std::string_view::npos);
}

TEST(Files, AFileOverTheLimitIsRefused) {
    const TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "a", std::string(1000, 'x')).ok());
    EXPECT_EQ(readFile(dir / "a", 999).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(AtomicFile, AnUncommittedFileLeavesTheOldOneAndNoRemains) {
    const TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "a", "old").ok());
    {
        auto file = AtomicFile::open(dir / "a");
        ASSERT_TRUE(file.ok());
        ASSERT_TRUE(file->write("new").ok());
    }
    EXPECT_EQ(readFile(dir / "a").value(), "old");
    const auto entries = std::filesystem::directory_iterator(dir.path());
    EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(AtomicFile, APipeStaysAPipeAndALinkALink) {
    tests::TempDir dir;
    ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
    const Status pipe = writeFileAtomic(dir / "pipe", "secret");
    EXPECT_TRUE(absl::IsInvalidArgument(pipe));
    EXPECT_EQ(messageOf(pipe), dir / "pipe" + ": is not a regular file and is not replaced by one");
    EXPECT_TRUE(std::filesystem::is_fifo(dir / "pipe"));
    ASSERT_TRUE(writeFileAtomic(dir / "file", "old").ok());
    std::filesystem::create_symlink("file", dir / "link");
    ASSERT_TRUE(writeFileAtomic(dir / "link", "new").ok());
    EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
    EXPECT_EQ(*readFile(dir / "file"), "new");
}

TEST(AtomicFile, AWriteThatFailsKeepsTheOldFile) {
    const TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "a", "old").ok());
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const Status status = writeFileAtomic(dir / "a", std::string(1 << 20, 'x'));
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(readFile(dir / "a").value(), "old");
}

TEST(Files, APrivateDirectoryOpenToOthersIsRefused) {
    const TempDir dir;
    EXPECT_TRUE(makePrivateDirectory(dir / "p/q").ok());
    ASSERT_EQ(::chmod((dir / "p/q").c_str(), 0755), 0);
    const Status status = makePrivateDirectory(dir / "p/q");
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_NE(messageOf(status).find("chmod 700"), std::string_view::npos);
}

TEST(Files, RelativePathsAreRelativeToTheBase) {
    EXPECT_EQ(absolutePath("a/../b.csv", "/data"), "/data/b.csv");
    EXPECT_EQ(absolutePath("/x/./y", "/data"), "/x/y");
}

TEST(Paths, AnSshAddressNamesUserHostPortAndSocket) {
    const Address whole = Address::parse("ssh://alice@gpu1:2222/run/d.sock").value();
    EXPECT_TRUE(whole.isSsh);
    EXPECT_FALSE(whole.isUnix());
    EXPECT_FALSE(whole.isLoopback());
    EXPECT_EQ(whole.user, "alice");
    EXPECT_EQ(whole.host, "gpu1");
    EXPECT_EQ(strCat("port ", whole.port), "port 2222");
    EXPECT_EQ(whole.unixPath, "/run/d.sock");
    for (const char* text : {"ssh://gpu1", "ssh://a@gpu1", "ssh://gpu1:22",
                             "ssh://[fe80::1%25eth0]:22", "ssh://alice@gpu1:2222/run/d.sock"}) {
        EXPECT_EQ(Address::parse(text)->text(), text);
    }
    EXPECT_EQ(Address::parse("ssh://gpu1/")->text(), "ssh://gpu1");
}

TEST(Paths, AnSshAddressThatSshCouldTakeForSomethingElseIsRefused) {
    for (const char* text :
         {"ssh://", "ssh://@h", "ssh://-oProxyCommand=x", "ssh://-l@h", "ssh://a b", "ssh://h:0",
          "ssh://h:x", "ssh://h:70000", "ssh://$(x)", "ssh://a;b"}) {
        EXPECT_FALSE(Address::parse(text).ok()) << text;
    }
    EXPECT_NE(Address::parse("ssh://me:secret@h").status().message().find("takes no password"),
              std::string::npos);
}

TEST(Address, IsReadInAllItsForms) {
    EXPECT_EQ(Address::parse("unix:/run/x.sock").value().unixPath, "/run/x.sock");
    EXPECT_EQ(Address::parse("/run/x.sock").value().unixPath, "/run/x.sock");
    const Address tcp = Address::parse("node7:7070").value();
    EXPECT_EQ(tcp.host, "node7");
    EXPECT_EQ(tcp.port, 7070);
    EXPECT_FALSE(tcp.isLoopback());
    EXPECT_EQ(Address::parse("[::1]:5").value().text(), "[::1]:5");
    EXPECT_TRUE(Address::parse("[::1]:5").value().isLoopback());
}

TEST(Address, EverySpellingOfAHostIsReadInOneWay) {
    struct Spelling {
        const char* text;
        const char* host;
        int port;
        const char* address;  ///< with the port that it has, or 0
    };
    for (const Spelling& one : {Spelling{"node7", "node7", 0, "node7:0"},
                                {"node7:7400", "node7", 7400, "node7:7400"},
                                {"10.0.0.7", "10.0.0.7", 0, "10.0.0.7:0"},
                                {"10.0.0.7:7400", "10.0.0.7", 7400, "10.0.0.7:7400"},
                                {"fd00::1", "fd00::1", 0, "[fd00::1]:0"},
                                {"[fd00::1]", "fd00::1", 0, "[fd00::1]:0"},
                                {"[fd00::1]:7400", "fd00::1", 7400, "[fd00::1]:7400"},
                                {"::", "::", 0, "[::]:0"}}) {
        const auto read = Address::parseHost(one.text);
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(read->host, one.host) << one.text;
        EXPECT_EQ(read->port, one.port) << one.text;
        EXPECT_EQ(read->text(), one.address) << one.text;
    }
    for (const char* text : {"", ":7400", "node7:", "node7:x", "node7:70000", "[fd00::1",
                             "fd00::1]", "[fd00::1]7400", "[fd00::1]:", "[node7]", "[]"}) {
        EXPECT_FALSE(Address::parseHost(text).ok()) << text;
    }
    for (const char* text : {"head-1:99999", "head-1:7x", "[fd00::1]:99999"}) {
        const std::string port = std::string(text).substr(std::string(text).rfind(':') + 1);
        for (const Status& refused :
             {Address::parseHost(text).status(), Address::parse(text).status()}) {
            EXPECT_EQ(messageOf(refused), strCat("'", text, "': the port '", port,
                                                 "' is not a number from 0 to 65535"));
        }
    }
    EXPECT_NE(messageOf(Address::parseHost("[fd00::1").status()).find("names no host"),
              std::string::npos);
    EXPECT_EQ(Address::parse("ssh://me@[fd00::1]:22")->text(), "ssh://me@[fd00::1]:22");
}

TEST(Address, NonsenseIsRefusedWithTheRightForm) {
    for (const char* text :
         {"", "host", "host:", "host:99999", ":5", "unix:", "fd00::1", "fd00::1:5"}) {
        EXPECT_FALSE(Address::parse(text).ok()) << text;
    }
    EXPECT_NE(messageOf(Address::parse("host").status()).find("HOST:PORT"), std::string_view::npos);
}

TEST(AtomicFile, TwoWritersOfOnePathDoNotShareTheFileAside) {
    const TempDir dir;
    auto first = AtomicFile::open(dir / "f"), second = AtomicFile::open(dir / "f");
    ASSERT_TRUE(first.ok() && second.ok());
    ASSERT_TRUE(first->write("the first one's bytes").ok());
    ASSERT_TRUE(second->write("second").ok());
    EXPECT_TRUE(first->commit().ok());
    EXPECT_EQ(*readFile(dir / "f"), "the first one's bytes");
    EXPECT_TRUE(second->commit().ok());
    EXPECT_EQ(*readFile(dir / "f"), "second");
}

}  // namespace
}  // namespace millrace
