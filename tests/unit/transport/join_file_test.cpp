#include "daemon/transport/join_file.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "backend/core/ids.h"
#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::transport {
namespace {

class JoinFileTest : public ::testing::Test {
 protected:
    static JoinFile file() {
        JoinFile file;
        file.address = "worker-7:4711";
        file.token = randomBytes(JoinFile::kTokenBytes);
        file.relayToken = randomBytes(JoinFile::kTokenBytes);
        file.attempt = 3;
        file.certificate = certificate::makeCertificate(kCertificateName).value();
        return file;
    }
    std::string path() const { return directory_ / "data.join"; }
    tests::TempDir directory_;
};

TEST_F(JoinFileTest, IsReadAsItWasWrittenAndIsItsOwnersAlone) {
    const JoinFile written = file();
    ASSERT_TRUE(written.write(path()).ok());
    struct stat info{};
    ASSERT_EQ(::stat(path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    const auto read = JoinFile::read(path());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->address, written.address);
    EXPECT_EQ(read->token, written.token);
    EXPECT_EQ(read->relayToken, written.relayToken);
    EXPECT_EQ(read->ofDataWorker().toText().find("relay"), std::string::npos);
    EXPECT_EQ(read->attempt, 3);
    EXPECT_EQ(read->certificate.certificatePem, written.certificate.certificatePem);
    EXPECT_EQ(read->certificate.keyPem, "") << "the listener's alone";
    ASSERT_TRUE(written.writeForListener(path()).ok());
    EXPECT_EQ(JoinFile::read(path())->certificate, written.certificate);
    EXPECT_FALSE(read->isUnix());
}

TEST_F(JoinFileTest, OneThatOthersCanReadIsRefused) {
    ASSERT_TRUE(file().write(path()).ok());
    for (const unsigned mode : {0644U, 0604U, 0620U}) {
        ASSERT_EQ(::chmod(path().c_str(), mode), 0);
        EXPECT_EQ(JoinFile::read(path()).status().code(), absl::StatusCode::kPermissionDenied);
    }
}

TEST_F(JoinFileTest, ASecretOfRootIsReadThroughAGroupOfOurs) {
    constexpr uid_t kUser = 1000, kOther = 2000;
    constexpr gid_t kGroup = 3000;
    const auto isTaken = [](uid_t owner, gid_t group, unsigned mode) {
        struct stat info{};
        info.st_uid = owner;
        info.st_gid = group;
        info.st_mode = S_IFREG | mode;
        return isPrivate(info, kUser, {100, kGroup});
    };
    EXPECT_TRUE(isTaken(0, kGroup, 0440));
    EXPECT_TRUE(isTaken(0, kGroup, 0640));
    EXPECT_TRUE(isTaken(kUser, kOther, 0600));
    EXPECT_TRUE(isTaken(0, kOther, 0400));
    EXPECT_FALSE(isTaken(0, kOther, 0440)) << "a group of others";
    EXPECT_FALSE(isTaken(0, kGroup, 0444));
    EXPECT_FALSE(isTaken(0, kGroup, 0460)) << "the group may write it";
    EXPECT_FALSE(isTaken(kUser, kGroup, 0640)) << "not root's";
    EXPECT_FALSE(isTaken(kOther, kGroup, 0440));
}

TEST_F(JoinFileTest, ADamagedOneSaysWhatItShouldHave) {
    for (const std::string text :
         {"", "{}", R"({"version": 2, "address": "a:1", "token": "00"})",
          R"({"version": 1, "address": "a:1", "token": "0011"})",
          R"({"version": 1, "address": "a:1", "token": "zz"})", R"({"version": 1, "token": 7})"}) {
        ASSERT_TRUE(writeFileAtomic(path(), text, 0600).ok());
        const auto read = JoinFile::read(path());
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_TRUE(messageOf(read.status()).starts_with(path())) << read.status();
    }
    EXPECT_EQ(JoinFile::read(directory_ / "none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JoinFileTest, ADamagedCertificateIsNoticedBeforeGrpcHasIt) {
    const std::string whole = file().certificate.certificatePem;
    for (const std::string& damaged : {std::string(), whole.substr(0, whole.size() / 2),
                                       std::string(whole).replace(40, 4, "!!!!")}) {
        JoinFile file = JoinFileTest::file();
        file.certificate.certificatePem = damaged;
        ASSERT_TRUE(file.write(path()).ok());
        const Status status = JoinFile::read(path()).status();
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << damaged;
        EXPECT_TRUE(messageOf(status).starts_with(path() + ": its certificate is damaged"));
        file.address = "unix:/some.sock";  // which shows none
        ASSERT_TRUE(file.write(path()).ok());
        EXPECT_TRUE(JoinFile::read(path()).ok());
    }
}

TEST_F(JoinFileTest, TokensAreTheSameOnlyAsAWhole) {
    EXPECT_TRUE(isSameToken("abcd", "abcd"));
    EXPECT_FALSE(isSameToken("abcd", "abce"));
    EXPECT_FALSE(isSameToken("abcd", "abc"));
    EXPECT_FALSE(isSameToken("", "abc"));
    EXPECT_FALSE(isSameToken("", "")) << "a door without a token lets nobody in";
}

}  // namespace
}  // namespace millrace::transport
