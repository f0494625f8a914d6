#include "backend/certificate/certificate.h"

#include <gtest/gtest.h>

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

// What does not fit a certificate (a name has 64 characters) is said, not made.
TEST(Certificate, ANameThatNoCertificateHoldsIsAnError) {
    const auto made = makeCertificate(std::string(200, 'x'));
    ASSERT_FALSE(made.ok());
    EXPECT_TRUE(messageOf(made.status()).starts_with("certificate: "));
}

}  // namespace
}  // namespace millrace::certificate
