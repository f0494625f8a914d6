#include "backend/certificate/certificate.h"

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::certificate {
namespace {

TEST(Certificate, HasACertificateAndItsKeyAsText) {
    const auto made = makeCertificate("millrace-data");
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(made->certificatePem.starts_with("-----BEGIN CERTIFICATE-----"));
    EXPECT_TRUE(made->keyPem.starts_with("-----BEGIN PRIVATE KEY-----"));
}

TEST(Certificate, NoTwoAreTheSame) {
    EXPECT_NE(makeCertificate("a")->certificatePem, makeCertificate("a")->certificatePem);
    EXPECT_NE(makeCertificate("a")->keyPem, makeCertificate("a")->keyPem);
}

// A name that does not fit a certificate (64 characters) is an error.
TEST(Certificate, ANameThatNoCertificateHoldsIsAnError) {
    const auto made = makeCertificate(std::string(200, 'x'));
    ASSERT_FALSE(made.ok());
    EXPECT_TRUE(messageOf(made.status()).starts_with("certificate: "));
}

TEST(Certificate, FilesThatDoNotBelongTogetherAreNamed) {
    const tests::TempDir folder;
    const PairFiles files{folder / "own.pem", folder / "own.key", folder / "ca.pem"};
    const auto own = makeCertificate("own"), other = makeCertificate("other");
    const auto write = [](const std::string& path, const std::string& text) {
        ASSERT_TRUE(writeFileAtomic(path, text, 0600).ok());
    };
    write(files.certificate, own->certificatePem);
    write(files.key, own->keyPem);
    write(files.authority, other->certificatePem);
    const auto read = readPair(files);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->own, *own);
    EXPECT_EQ(read->authorityPem, other->certificatePem);
    write(files.key, other->keyPem);
    EXPECT_EQ(messageOf(readPair(files).status()),
              files.key + ": is not the key of the certificate " + files.certificate +
                  "; give the two that were made together");
    write(files.key, "junk");
    EXPECT_TRUE(messageOf(readPair(files).status())
                    .starts_with(files.key + ": is not a readable private key"));
    write(files.authority, own->keyPem);
    EXPECT_TRUE(messageOf(readPair(files).status())
                    .starts_with(files.authority + ": is not a certificate"));
}

TEST(Certificate, AKeyThatOthersMayReadIsRefused) {
    const tests::TempDir folder;
    const PairFiles files{folder / "own.pem", folder / "own.key", folder / "own.pem"};
    const auto own = makeCertificate("own");
    ASSERT_TRUE(writeFileAtomic(files.certificate, own->certificatePem, 0644).ok());
    for (const int mode : {0644, 0640, 0604}) {
        ASSERT_TRUE(writeFileAtomic(files.key, own->keyPem, mode).ok());
        const Status refused = readPair(files).status();
        EXPECT_TRUE(absl::IsPermissionDenied(refused)) << mode << refused;
        EXPECT_TRUE(messageOf(refused).find("chmod 600 " + files.key) != std::string::npos);
    }
    ASSERT_TRUE(writeFileAtomic(files.key, own->keyPem, 0600).ok());
    EXPECT_TRUE(readPair(files).ok());
}

}  // namespace
}  // namespace millrace::certificate
